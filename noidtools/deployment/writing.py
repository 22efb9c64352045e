"""Writes the files of a set-up: each whole or not at all, with its owner and mode; what is replaced is kept."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

from ..errors import StoreError, UsageError
from .files import File, account_command, files_of
from .settings import USUAL_PREFIX, SetUp, below, group_id, user_ids

# What was done with a file.
WRITTEN, REPLACED, UNCHANGED = "wrote", "replaced", "unchanged"
# The end of the name under which a file is kept that was replaced.
KEPT = ".old"


def write(setup: SetUp) -> list[tuple[str, str]]:
    """Write all files; returns what was done with each, and its path.  Raises UsageError and StoreError."""
    if not setup.root and os.geteuid() != 0:
        raise UsageError("--write writes to /etc and sets owners, which only root may: use sudo, or look at it with "
                         "--print")
    program = f"{setup.prefix}/bin/noid"
    if not os.path.exists(below(setup.root, program)):
        raise UsageError(f"there is no program {below(setup.root, program)}: install noidtools in a place like "
                         f"{USUAL_PREFIX}, and give the command there or with --prefix")
    if setup.tls is not None and not setup.acme and not setup.tls.exists(setup.root):
        raise UsageError(f"there is no certificate {setup.tls.certificate} with its key {setup.tls.key}")
    if not setup.root and user_ids(setup.owner) is None:
        _add_account(setup)
    before = os.umask(0o022)  # for the folders above, which others must be able to enter
    try:
        return [(_write(setup, file), file.path) for file in files_of(setup)]
    finally:
        os.umask(before)


def _add_account(setup: SetUp) -> None:
    words = shlex.split(account_command(setup))
    if shutil.which(words[0]) is None:
        words = ["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", setup.minters, setup.owner]
    try:
        subprocess.run(words, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", b"") or str(error).encode()
        raise StoreError(f"the account {setup.owner} could not be made: {reason.decode(errors='replace').strip()}") \
            from None


def _write(setup: SetUp, file: File) -> str:
    path = below(setup.root, file.path)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if file.link:
            return _write_link(path, file.link)
        if file.text is None:
            return _make_folder(path, file)
        return _write_file(path, file, file.text)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from None


def _write_link(path: str, target: str) -> str:
    if os.path.islink(path) and os.readlink(path) == target:
        return UNCHANGED
    there = os.path.lexists(path)
    if there:
        _keep(path)
    new = f"{path}.new"
    if os.path.lexists(new):
        os.unlink(new)  # left by a process that was killed
    os.symlink(target, new)
    os.replace(new, path)
    return REPLACED if there else WRITTEN


def _make_folder(path: str, file: File) -> str:
    if os.path.isdir(path):
        if not file.keep:
            os.chmod(path, file.mode)
        return UNCHANGED
    os.mkdir(path, 0o700)
    _give(path, file)
    return WRITTEN


def _write_file(path: str, file: File, text: str) -> str:
    there = os.path.exists(path)
    if there and (file.keep or _content(path) == text.encode()):
        _give(path, file)
        return UNCHANGED
    new = f"{path}.new"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "wb") as out:
        out.write(text.encode())
        out.flush()
        os.fsync(descriptor)
    _give(new, file)
    if there:
        _keep(path)
    os.replace(new, path)
    return REPLACED if there else WRITTEN


def _keep(path: str) -> None:
    """Keep a file that is to be replaced beside it, unless one of the kept ones is the same; those stay as they are."""
    number = 1
    while os.path.lexists(kept := path + KEPT + (f".{number}" if number > 1 else "")):
        if _is_same(path, kept):
            return
        number += 1
    os.link(path, kept, follow_symlinks=False)


def _is_same(one: str, other: str) -> bool:
    if os.path.islink(one) or os.path.islink(other):
        return os.path.islink(one) and os.path.islink(other) and os.readlink(one) == os.readlink(other)
    return _content(one) == _content(other)


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _give(path: str, file: File) -> None:
    """Set owner and mode.  Only root can give files away; in an image the accounts may not be there yet."""
    if os.geteuid() == 0:
        user, group = user_ids(file.owner), group_id(file.group)
        if user is not None and group is not None:
            os.chown(path, user[0], group)
    os.chmod(path, file.mode)
