"""The usage of the command that serves minters on the web; the package cli runs it, by the package server."""

from __future__ import annotations

from ..errors import UsageError
from .command import Command, Form, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .answers import Answer
    from .call import Call


def _serve(call: Call) -> Answer:
    raise UsageError("serve runs until it is stopped, so it is given on its own at the shell: noid serve")


_OPTIONS = (
    Option("--http Address", "speak HTTP; this is the default, at 127.0.0.1:8080"),
    Option("--fcgi Address", "speak FastCGI"),
    Option("--scgi Address", "speak SCGI"),
    Option("--minters Dir", "serve every minter in a folder of Dir: that in Dir/NAME at …/noidu_NAME"),
    Option("--workers N", "so many processes; one for each processor unless given, at least two for FastCGI and SCGI"),
    Option("--threads N", "so many requests at once in each process, for HTTP; 4, unless given"),
    Option("--socket-mode Mode", "permissions of a Unix socket; 660, unless given"),
    Option("--socket-group Group", "the group of a Unix socket, that of the web server; unless given, that of the "
           "process"),
    Option("--max-body Bytes", "the largest body that is accepted; 268435456, unless given"),
    Option("--allow Address", "FastCGI and SCGI on TCP: accept connections from this address or network only"),
    Option("--timeout Seconds", "in which a request must arrive, and its answer be read, and one more for each 10,000 "
           "bytes of it; 30, unless given"),
    Option("--max-per-address N", "so many connections from one address, for HTTP; 100, unless given, and no limit for "
           "a --proxy"),
    Option("--max-rate N", "so many requests a second for each token and each address, three times as many at once, "
           "also from this machine itself; no limit, unless given"),
    Option("--access-log common|json", "write a line for each request to standard output"),
    Option("--slow Seconds", "log requests that take longer, also parts of a second, as in 0.5; 5, unless given"),
    Option("--proxy Address", "believe X-Forwarded-For from this address, where unix means a Unix socket"),
    Option("--user-header Name", "take the user from this header of those proxies, which must set it in every request"),
    Option("--user Name", "for trying things out: everybody is this user; only for HTTP at a loopback address"),
)
_REPEATED = ("allow", "proxy")
COMMANDS = (
    Command(
        "serve", "serve minters on the web",
        Form(" ".join(f"[{option.usage}]{'…' if option.name in _REPEATED else ''}" for option in _OPTIONS), _serve),
        options=_OPTIONS, shell_only=True, see="web-interface.md#try-it",
        about="""\
Serves the minter in Dbdir, until it is told to stop: commands at …/noidu, and every other path as a name to resolve.
SIGTERM stops it when the requests at hand are answered; SIGHUP starts it anew, with the code as it then is, without
refusing a request.

One process speaks one of HTTP, FastCGI and SCGI. An Address is HOST:PORT, [IPv6]:PORT, the path of a Unix socket, or
systemd for a socket that systemd listens at.
""",
    ),
)
