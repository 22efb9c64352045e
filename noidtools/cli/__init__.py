"""The executables, and which interface each of them is.

Whatever it was linked to or copied from, an executable whose name begins with `noidu` is the URL interface and one
whose name begins with `noidr` the resolver loop; any other name has the interface of the file itself.  A web server
that runs CGI programs hands the words of a query to them as arguments, so that with GATEWAY_INTERFACE set nothing is a
shell or reads arguments, whatever its name: there is the URL interface, or a refusal.

Every process imports this module, so it imports only the chosen interface.  The code of the executables is here and not
in their files, which Python compiles again at each start.
"""

from __future__ import annotations

import gc
import os
import sys

from ..console import log_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

SHELL, URL, RESOLVER, FASTCGI, REFUSED = "noid", "noidu", "noidr", "noid.fcgi", "refused"

# RFC 3875 has both in every request.
_WEB_SERVER_VARIABLES = ("GATEWAY_INTERFACE", "REQUEST_METHOD")
_REFUSAL = ("only a program whose name begins with noidu is run by a web server: link it as noidu_NAME; "
            "a script of yours that runs noid must take GATEWAY_INTERFACE and REQUEST_METHOD out of its environment")


def run_and_exit(own: str) -> NoReturn:
    """Run the interface of a process that usually carries out one short command, and end the process."""
    # A short command leaves nothing to collect, and looking for it would cost a tenth of the time.
    gc.set_threshold(100_000)
    # Everything is written and closed by now; an orderly end of the interpreter would only cost time.
    os._exit(main(own))


def main(own: str) -> int:
    """Run the interface of this process; `own` is that of the executable's file, a name of cgi-bin/."""
    interface = interface_of(sys.argv[0], own, os.environ)
    if interface == SHELL:
        from .noid import main as run_shell

        return run_shell()
    if interface == RESOLVER:
        from .noidr import main as run_resolver

        return run_resolver()
    if interface == FASTCGI:
        from ..server.fastcgi import main as run_fastcgi

        return run_fastcgi()
    if interface == URL:
        from ..server.cgi import main as run_cgi

        return run_cgi()
    return _refuse()


def interface_of(program: str, own: str, environment: Mapping[str, str]) -> str:
    """The interface of a program, from its path, the interface of its file and its environment."""
    name = os.path.basename(program)
    if own == FASTCGI and not name.startswith(RESOLVER):
        # Its process manager may call it noidu too.  Started as a CGI program it has no socket to listen at.
        from ..server.fastcgi import has_listener

        if has_listener() or not name.startswith(URL):
            return FASTCGI
    if name.startswith(URL):
        return URL
    if any(variable in environment for variable in _WEB_SERVER_VARIABLES):
        return URL if own == URL and not name.startswith(RESOLVER) else REFUSED
    return RESOLVER if name.startswith(RESOLVER) else own


def _refuse() -> int:
    """Answer as a CGI program that may not be run."""
    log_line("noid", _REFUSAL)
    os.write(1, b"Status: 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n\r\n"
                b"error: this program is not for the web: the server's log says why\n")
    return 1
