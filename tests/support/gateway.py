"""The web server's side of FastCGI, reduced to one request and one answer."""

from __future__ import annotations

import socket
import struct

BEGIN, ABORT, END, PARAMS, STDIN, STDOUT, STDERR = 1, 2, 3, 4, 5, 6, 7


def connect(address: str | tuple[str, int]) -> socket.socket:
    peer = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    peer.settimeout(20)
    try:
        peer.connect(address)
    except OSError:
        peer.close()
        raise
    return peer


def environ(query: str, *, path: str = "/noidu", method: str = "GET", user: str = "", body: bytes = b"",
            **more: str) -> dict[str, str]:
    variables = {"REQUEST_METHOD": method, "SCRIPT_NAME": path, "QUERY_STRING": query, "REMOTE_ADDR": "192.0.2.7",
            "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1",
            "REQUEST_URI": f"{path}?{query}", "CONTENT_LENGTH": str(len(body)) if method == "POST" else ""}
    if user:
        variables["REMOTE_USER"] = user
    return variables | more


# -- FastCGI -----------------------------------------------------------------------------------------------------


def record(kind: int, content: bytes = b"", *, request: int = 1) -> bytes:
    return struct.pack("!BBHHBx", 1, kind, request, len(content), 0) + content


def begin(*, keep: bool = False) -> bytes:
    return record(BEGIN, struct.pack("!HB5x", 1, int(keep)))


def _length(number: int) -> bytes:
    return bytes([number]) if number < 128 else struct.pack("!L", number | 1 << 31)


def parameters(variables: dict[str, str]) -> bytes:
    out = b""
    for name, value in variables.items():
        raw = name.encode("latin-1"), value.encode("latin-1")
        out += _length(len(raw[0])) + _length(len(raw[1])) + raw[0] + raw[1]
    return out


def stream(kind: int, content: bytes, *, piece: int = 65535) -> bytes:
    out = b"".join(record(kind, content[place : place + piece]) for place in range(0, len(content), piece))
    return out + record(kind)


def request_bytes(variables: dict[str, str], body: bytes = b"", *, keep: bool = False, piece: int = 65535) -> bytes:
    return begin(keep=keep) + stream(PARAMS, parameters(variables), piece=piece) + stream(STDIN, body)


def read_exactly(peer: socket.socket, length: int) -> bytes:
    out = b""
    while len(out) < length:
        piece = peer.recv(length - len(out))
        if not piece:
            raise EOFError("the server closed the connection")
        out += piece
    return out


def answer(peer: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of one answer."""
    out = b""
    while True:
        _, kind, _, length, padding = struct.unpack("!BBHHBx", read_exactly(peer, 8))
        content = read_exactly(peer, length)
        read_exactly(peer, padding)
        if kind == STDOUT:
            out += content
        elif kind == END:
            return parsed(out)


def parsed(out: bytes) -> tuple[int, dict[str, str], bytes]:
    head, _, body = out.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n"))
    return int(headers["Status"].split()[0]), headers, body


def fastcgi(address: str | tuple[str, int], query: str, body: bytes = b"",
            **variables: str) -> tuple[int, dict[str, str], bytes]:
    with connect(address) as peer:
        peer.sendall(request_bytes(environ(query, body=body, **variables), body))
        return answer(peer)
