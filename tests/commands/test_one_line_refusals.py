"""Every refusal of every command is one line, whatever its words contain."""

from __future__ import annotations

import pytest

from noidtools.commands import all_commands
from noidtools.errors import NoidError
from support.minter import Noid

# Of a usage, what stands for a word of the user's choice begins with a capital.
FORMS = [(command.name, form.usage, command.shell_only or form.shell_only)
         for command in all_commands() for form in command.forms if command.name not in ("serve", "resolve-loop")]
EVIL = [b"x\ny", b"a\r\nid: forged", b"13030/f0000\n", b"\x1b[31m\xff", "x\u2028y\x85".encode(), b"--x\ny"]


def words_of(usage: str, evil: bytes) -> list[bytes]:
    words = [word.split("|")[0] for word in usage.translate(str.maketrans("", "", "[]…")).split()]
    return [evil if word[:1].isupper() else word.encode() for word in words]


@pytest.mark.parametrize("template", [("f.sdddd", "long", "13030", "a", "b"), ()], ids=["noid", "anything"])
def test_a_refusal_is_one_line_whatever_the_words(tmp_path, template):
    noid = Noid.created(tmp_path / "m", *template)
    refused = set()
    for name, usage, shell_only in FORMS:
        for evil in EVIL:
            words = words_of(usage, evil)
            if words[-1:] == [b":"] or shell_only:
                continue  # the elements come from the input
            try:
                list(noid.answer(name, *words).records)
            except NoidError as error:
                refused.add(name)
                assert error.message.isprintable(), (name, words, error.message)
    noid.close()
    assert len(refused) > 20


def test_a_refusal_at_the_shell_is_one_line_whatever_the_words(tmp_path):
    """The commands that are given at the shell only; their words are also names of files."""
    noid = Noid.created(tmp_path / "m", "f.sdddd", "long", "13030", "a", "b")
    refused = set()
    for name, usage, shell_only in FORMS:
        for evil in EVIL:
            if shell_only and not (evil.startswith(b"--") and name == "setup"):
                done = noid.run(name, *words_of(usage, evil))
                assert b"fault" not in done.stderr, (name, usage, evil, done)
                if done.stderr:
                    refused.add(name)
                    assert done.stderr.count(b"\n") == 1 and b"\r" not in done.stderr, (name, usage, evil, done)
    noid.close()
    assert len(refused) > 8
