"""Prints the port that was asked for if it is free on loopback, else one that is."""

import socket
import sys

for port in (int(sys.argv[1]), 0):
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            continue
        sys.stdout.write(f"{trial.getsockname()[1]}\n")
        break
