"""The command that sets up a web server, a service and folders, or checks what was set up."""

from __future__ import annotations

import os

from ..errors import UsageError
from .answers import Answer
from .command import Command, Form, Option, as_text
from .records import Fields, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..deployment.files import File
    from ..deployment.previous import Previous
    from ..deployment.settings import SetUp
    from .answers import Record
    from .call import Call


def _setup(call: Call) -> Answer:
    """Print or write the set-up.  Few processes need the package, so that it is imported here."""
    if call.flag("print") and call.flag("write"):
        raise UsageError("--print looks and --write writes: say one of them")
    from ..deployment.previous import Previous

    setup = _chosen(call)
    previous = Previous(setup)
    if not call.flag("write"):
        return Answer(Text(_listing(setup, previous)), spaced=True)
    from ..deployment.writing import write

    done: list[Record] = [Fields((what, os.fsencode(path))) for what, path in write(setup)]
    return Answer(*done, *(Fields(("next", step.encode())) for step in _steps(setup, previous)), spaced=True)


def _chosen(call: Call) -> SetUp:
    from ..deployment.settings import SetUp

    server, *key = [as_text(word, "the file of the key") for word in call.words]
    certificate = call.option("tls")
    if (certificate is None) == bool(key):
        raise UsageError("--tls needs two files: the certificate and behind it the key")
    return SetUp(
        server, minters=_value(call, "minters"), host=_value(call, "host"), way=_value(call, "way"),
        tls=(certificate, key[0]) if certificate is not None else None, acme=call.flag("acme"),
        user=_value(call, "user"), minter=_value(call, "minter"), prefix=_value(call, "prefix"),
        root=_value(call, "root"),
    )


def _value(call: Call, name: str) -> str:
    """The value of an option, empty if it is absent; raises UsageError if it is given and empty.

    Such a value is mostly a variable of the shell that is not set: `--root "$IMAGE"` would then mean this machine.
    """
    given = call.option(name)
    if given == "":
        raise UsageError(f"--{name} is empty: give it a value, or leave it out")
    return given or ""


def _steps(setup: SetUp, previous: Previous) -> list[str]:
    from ..deployment.files import account_command, steps_of
    from ..deployment.settings import user_ids

    before = previous.steps(setup)
    if user_ids(setup.owner) is None:
        # A folder that is made before there is the account belongs to root.
        owner = [] if previous.owned else [f"chown {setup.owner}: {setup.minters}"]
        before = [account_command(setup), *before, *owner]
    check = f"{setup.prefix}/bin/noid setup check"
    return ["htpasswd -B /etc/noid/users NAME", *steps_of(setup, before=before, restart=previous.changed),
            "the same noid setup once more, for https" if setup.needs_certificate else check]


def _listing(setup: SetUp, previous: Previous) -> str:
    from ..deployment.files import files_of

    steps = "".join(f"{step}\n" for step in _steps(setup, previous))
    return "".join(_described(file) for file in files_of(setup)) + f"==== then\n{steps}"


def _described(file: File) -> str:
    if file.link:
        return f"==== {file.path} -> {file.link}\n"
    kind = "folder, " if file.text is None else ""
    kept = ", left as it is if it is there" if file.keep else ""
    return f"==== {file.path} ({kind}{file.owner}:{file.group} {file.mode:o}{kept})\n{file.text or ''}"


def _check(call: Call) -> Answer:
    from ..deployment.checks import ERROR, check

    findings = check(minters=_value(call, "minters"), user=_value(call, "user"), url=_value(call, "url"))
    records = [Fields((level, text.encode("utf-8", "surrogateescape"))) for level, text in findings]
    return Answer(*records, spaced=True, failed=any(level == ERROR for level, _ in findings))


COMMANDS = (
    Command(
        "setup", "set up minters and names on nginx or Apache, and check it",
        Form("nginx|apache --minters Dir --host Host [--way fastcgi|proxy|wsgi|cgi+map] [--tls Cert Key] [--acme] "
             "[--user User] [--minter Name] [--prefix Dir] [--root Dir] [--print] [--write]", _setup),
        Form("check [--minters Dir] [--user User] [--url Url]", _check),
        options=(
            Option("--minters Dir", "the folder of minters: that in Dir/NAME is at …/nd/noidu_NAME"),
            Option("--host Host", "the host name under which readers reach the server"),
            Option("--way fastcgi|proxy|wsgi|cgi+map", "how the web server reaches the program; fastcgi unless given; "
                   "proxy is for nginx, wsgi and cgi+map are for Apache"),
            Option("--tls Cert", "the certificate for https, and behind it the file of its key"),
            Option("--acme", "https with a certificate from Let's Encrypt, by certbot: give the command again when "
                   "there is one"),
            Option("--user User", "the account of the service, noid unless given; it owns the minters, and is made if "
                   "it does not exist"),
            Option("--minter Name", "for cgi+map: the minter whose names are resolved, if there are several"),
            Option("--prefix Dir", "the folder in which the program is installed, if it is not that of this command"),
            Option("--root Dir", "write below this folder, as for the image of another machine"),
            Option("--print", "print all files, folders and commands; this is the default"),
            Option("--write", "write them, as root"),
            Option("--url Url", "where the resolver is, if the configuration does not tell"),
        ),
        shell_only=True, see="deploy.md",
        about="""\
Makes one configuration of minters, resolver, health, login for writing, https and rate limits (but for cgi+map,
where Apache has none), the units of systemd, and the folders with their owners and modes. With --write files are
written, and what they replace is kept beside them, with .old at the end of its name, or .old.2 and so on; passwords and
minters that are there already stay as they are. The commands that finish it, such as the restart of the web server,
are printed and not run. Where another server or way was set up before, they also end that one, and give the minters to
the account that now needs them.

check examines a set-up on this machine, as root: whether the account of the service can read the program and write the
minters, the socket, the logins, the web server, canaries, the clock, the free space, and minters that share NAAN and
prefix. What is wrong is printed with its remedy.
""",
        fails="check finds an error",
        example="""\
$ noid setup nginx --minters /srv/noid --host ids.example.org --prefix /opt/noid | grep 'server_name ids'
    server_name ids.example.org;  # edit
""",
    ),
)
