"""Commands that set up web servers and serve minters."""

from __future__ import annotations

from ..codec import encode_text
from ..deployment.checks import ERROR, check, find_subject
from ..deployment.setup import USUAL_INTERFACES, SetUp, commands_of, files_of, removal_commands, write
from ..errors import UsageError
from .answers import Answer, Fields, Text
from .command import Command, Form, Option, as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..deployment.checks import Finding
    from .call import Call

# -- serve -----------------------------------------------------------------------------------------------------------


def _serve(call: Call) -> Answer:
    raise UsageError("serve runs until it is stopped, so it is given on its own at the shell: noid serve")


_SERVE_OPTIONS = (
    Option("--http Address", "speak HTTP; this is the default, at 127.0.0.1:8080"),
    Option("--fcgi Address", "speak FastCGI"),
    Option("--minters Dir", "serve every minter in a folder of Dir: that in Dir/NAME at …/noidu_NAME"),
    Option("--commands Path", "the path at which minters take commands, as in /nd for /nd/noidu_NAME; at any path, "
           "unless given"),
    Option("--interfaces Names", "the interfaces beside commands and names that are served, separated by commas; "
           "json,console unless given"),
    Option("--workers N", "the number of processes; one for each processor unless given, at least 4 for FastCGI"),
    Option("--threads N", "the number of requests at once in each process, for HTTP; 8 unless given"),
    Option("--socket-mode Mode", "permissions of a Unix socket; 660 unless given"),
    Option("--socket-group Group", "the group of a Unix socket, that of the web server; that of the process unless "
           "given"),
    Option("--max-body Bytes", "the largest body that is accepted; 268435456 unless given"),
    Option("--allow Address", "FastCGI on TCP: the IPv4 address of a web server"),
    Option("--access-log", "HTTP: write a line for each request to standard output"),
    Option("--tls-certificate File", "HTTPS with this certificate"),
    Option("--tls-key File", "the key of the certificate, in the format PKCS#8"),
    Option("--slow Seconds", "log requests that take longer than this, such as 0.5; 5 unless given"),
    Option("--proxy Address", "HTTP on TCP: trust X-Forwarded-For, X-Forwarded-Proto and NoidTarget from this "
           "address"),
    Option("--user-header Name", "HTTP at a Unix socket: take the user from this header, which the web server must set "
           "in every request"),
    Option("--user Name", "for trying things out: everyone is this user; only for HTTP on a loopback address"),
)
_REPEATED = ("allow", "proxy")

# -- setup -----------------------------------------------------------------------------------------------------------


def _setup(call: Call) -> Answer:
    """Print or write the set-up."""
    if call.flag("force") and not call.flag("write"):
        raise UsageError("--force is for --write: it overwrites files that noid setup did not write")
    server, *key = [as_text(word, "the file of the key") for word in call.words]
    certificate = call.option("tls")
    if (certificate is None) == bool(key):
        raise UsageError("--tls needs two files: the certificate, then its key")
    setup = SetUp(
        server, minters=_value_of(call, "minters"), host=_value_of(call, "host"), way=_value_of(call, "way"),
        certificate=certificate or "", key="".join(key), acme=call.flag("acme"), owner=_value_of(call, "user"),
        minter=_value_of(call, "minter"), prefix=_value_of(call, "prefix"), root=_value_of(call, "root"),
        backups=_value_of(call, "backups"), postgres=call.flag("postgres"),
        static_site=_value_of(call, "site"), git=call.flag("git"),
        interfaces=_value_of(call, "interfaces") or USUAL_INTERFACES,
    )
    if call.flag("write"):
        listing = "".join(f"# wrote {path}\n" for path in write(setup, force=call.flag("force")))
    else:
        listing = "".join(f"==== {path}\n{text}" for path, text in files_of(setup).items())
        listing += "==== then, as root\n"
    return Answer(Text(listing + "".join(f"{command}\n" for command in commands_of(setup))), spaced=True)


def _value_of(call: Call, name: str) -> str:
    """The value of an option, empty if it is absent; raises UsageError if it is given and empty.

    Such a value is mostly a variable of the shell that is not set: `--root "$IMAGE"` would then mean this machine.
    """
    given = call.option(name)
    if given == "":
        raise UsageError(f"--{name} is empty: give it a value, or leave it out")
    return given or ""


def _remove_setup(call: Call) -> Answer:
    return Answer(Text("".join(f"{command}\n" for command in removal_commands())), spaced=True)


def _check_setup(call: Call) -> Answer:
    return findings_answer(check(
        find_subject(_value_of(call, "minters"), _value_of(call, "user"), _value_of(call, "url"))))


def findings_answer(findings: list[Finding]) -> Answer:
    """The answer of a command that examines a set-up."""
    records = [Fields((level, encode_text(text))) for level, text in findings]
    return Answer(*records, spaced=True, failed=any(level == ERROR for level, _ in findings))


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    Command(
        "serve", "serve minters on the web",
        Form(" ".join(f"[{option.usage}]{'…' if option.name in _REPEATED else ''}" for option in _SERVE_OPTIONS),
             _serve),
        options=_SERVE_OPTIONS, shell_only=True, process=True,
        also=("setup", "policy", "token"), see="web-interface.md#try-it",
        about="""\
Serves the minter in Dbdir until you stop it: commands at …/noidu, and any other path as a name to resolve. SIGTERM
stops it once the current requests are answered. SIGHUP replaces its processes by new ones, which run the code that is
then installed.

An Address is HOST:PORT, [IPv6]:PORT or the path of a Unix socket. Requests through a Unix socket that only its owner
and group can open are trusted to come from the web server.
""",
        example="""\
$ noid serve --http 127.0.0.1:8080 &
$ curl 'http://127.0.0.1:8080/noidu?get+13030/kt4x551+who'
Darwin
""",
    ),
    Command(
        "setup", "install minters on nginx or Apache",
        Form("nginx|apache --minters Dir --host Host [--way proxy|fastcgi|wsgi|cgi+map] [--tls Cert Key] [--acme] "
             "[--user User] [--backups Dir] [--site Dir] [--git] [--postgres] [--interfaces Names] [--minter Name] "
             "[--prefix Dir] [--root Dir] [--write] [--force]", _setup),
        Form("check [--minters Dir] [--user User] [--url Url]", _check_setup),
        Form("remove", _remove_setup),
        options=(
            Option("--minters Dir", "the folder of minters: the one in Dir/NAME is served at …/nd/noidu_NAME"),
            Option("--host Host", "the host name under which readers reach the server"),
            Option("--way proxy|fastcgi|wsgi|cgi+map", "how the web server reaches the program; proxy unless given; "
                   "wsgi and cgi+map are for Apache"),
            Option("--tls Cert", "the certificate for HTTPS, followed by the file of its key"),
            Option("--acme", "HTTPS with a certificate from Let's Encrypt, by certbot; run the command again once "
                   "you have it"),
            Option("--user User", "the account of the service, which owns the minters; noid unless given"),
            Option("--backups Dir", "where nightly backups are written; /var/backups/noid unless given"),
            Option("--site Dir", "where a static site of each minter is kept up to date every night; see export"),
            Option("--git", "commit these sites; the folder must be in a git work tree"),
            Option("--postgres", "minters are in PostgreSQL servers: allow the service to use the network"),
            Option("--interfaces Names", "for proxy: the interfaces that are served, as with noid serve"),
            Option("--minter Name", "for cgi+map: the minter whose names are resolved, if there are several"),
            Option("--prefix Dir", "where the program is installed, if not where this command is"),
            Option("--root Dir", "write below this folder, for the image of another machine"),
            Option("--write", "write the files, as root; without it they are printed"),
            Option("--force", "overwrite files that noid setup did not write"),
            Option("--url Url", "where the resolver is, if no configuration says so"),
        ),
        shell_only=True, also=("serve", "doctor", "policy"), see="deploy.md",
        about="""\
Prints all configuration files: the host with HTTPS, login for writing, health checks and (nginx) rate limits, the
systemd service, a timer for nightly backups, and /usr/local/bin/noid, which runs root's commands about these minters as
their owner. The commands that finish the installation follow, completion and the manual page included. With --write it
writes the files, and prints the commands for root to paste. If a file was not written by noid setup, nothing is written
unless you give --force.

check, as root, examines the program, the minters, the socket, the logins, the web server, what starts at boot, backups,
canaries, the clock, free space, and minters that share NAAN and prefix. Each problem is printed with its remedy.

remove prints the commands that undo the installation; to run them, use noid setup remove | sh -ex. Minters and backups
are kept, and then belong to root.
""",
        fails="check finds an error",
        example="""\
$ noid setup nginx --minters /srv/noid --host ids.example.org --prefix /opt/noid | grep 'server_name ids'
    server_name ids.example.org;
""",
    ),
)
