"""FastCGI under a process manager: one process, one worker, the listening socket as file descriptor 0."""

from __future__ import annotations

import os
import signal
import socket
import sys

from ..console import log_line
from ..errors import NoidError
from ..minter.folder import MinterFolder
from ..web.commands import CommandApplication
from .cgi import largest_body_from, trust_from

# The number that the FastCGI specification gives to the listening socket.
_LISTENING = 0


def main() -> int:
    try:
        folder = os.environ.get("NOID_MINTERS") or os.path.dirname(os.path.abspath(sys.argv[0]))
        application = CommandApplication(
            MinterFolder(folder), trust=trust_from(os.environ), largest_body=largest_body_from(os.environ))
        listener = _listener()
        from .flup import serve_fastcgi
    except (NoidError, ModuleNotFoundError) as error:
        log_line("noid", str(error))
        return 2
    told, teller = os.pipe()
    os.set_blocking(teller, False)
    signal.set_wakeup_fd(teller)
    # mod_fcgid ends processes with SIGTERM, others with SIGUSR1; either way the request at hand is finished.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, lambda *_: None)
    serve_fastcgi(listener, (told,), application)
    return 0


def _listener() -> socket.socket:
    try:
        listener = socket.socket(fileno=os.dup(_LISTENING))
        if listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return listener
    except OSError:
        pass
    raise NoidError("noid.fcgi is started by a FastCGI process manager; by hand, start noid serve --fcgi ADDRESS")
