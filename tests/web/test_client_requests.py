"""Requests as programs that know other servers send them, byte for byte, to a real `noid serve`.

tests/vectors/client-requests.json has them in their order.  `${NAME}` stands for something that only the test knows:
the address, the login, the length of the body, or what an earlier answer had in the group NAME of its pattern.
"""

from __future__ import annotations

import re
import socket
from base64 import b64encode
from http.client import HTTPResponse

import pytest

from support.minter import Noid
from support.project import vectors
from support.served import ANY_PORT, Served

pytestmark = pytest.mark.slow

REQUESTS = vectors("client-requests.json")
MINTERS = {"ezid": ("--label", "ark:/", "fk4.zeeedk", "medium", "99999"),
           "arklet": ("--label", "ark:/", "x9.zeeek", "medium", "99999"),
           "handle": ("--label", "hdl:", ".zeee", "medium", "20.500.1"), "fk": ("fk.zeeek", "medium", "54321")}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server of all interfaces, and what the requests need to know."""
    folder = tmp_path_factory.mktemp("clients")
    (folder / "minters").mkdir()
    for name, words in MINTERS.items():
        Noid.created(folder / "minters" / name, *words).close()
    first = Noid(folder / "minters" / "ezid")
    secret = first.records("token", "new", "client", "--may", "mint,bind", "--minters", ",".join(MINTERS))[0]["token"]
    first.close()
    server = Served.start(folder / "log", "serve", "--minters", folder / "minters", "--http", ANY_PORT, "--workers",
                          "1", "--interfaces", "ezid,arklet,n2t,handle")
    host, port = server.address
    yield {"HOST": f"{host}:{port}", "KEY": secret, "BASIC": b64encode(f"client:{secret}".encode()).decode(),
           "HANDLE_BASIC": b64encode(f"300%3A20.500.1/ADMIN:{secret}".encode()).decode()}
    server.stop()
    assert "Traceback" not in server.log.read_text()


def filled(text: str, known: dict[str, str], *, escaped: bool = False) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda found: re.escape(known[found[1]]) if escaped else known[found[1]], text)


def sent(request: str, known: dict[str, str]) -> HTTPResponse:
    head, _, body = request.partition("\r\n\r\n")
    body = filled(body, known)
    head = filled(head, {**known, "LENGTH": str(len(body.encode()))})
    host, port = known["HOST"].split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(f"{head}\r\n\r\n{body}".encode())
        response = HTTPResponse(connection, method=head.split()[0])
        response.begin()
        response.text = response.read().decode()  # type: ignore[attr-defined]
        return response


def test_every_request_of_a_client_is_answered_as_the_client_expects(served):
    known = served
    for request in REQUESTS:
        response = sent(request["request"], known)
        what = f"{request['client']}: {request['what']}: {response.status} {response.text!r}"
        assert response.status == request["status"], what
        for pattern, text in [(request["answer"], response.text),
                              *((value, response.headers[name]) for name, value in request.get("headers", {}).items())]:
            found = re.fullmatch(filled(pattern, known, escaped=True), text)
            assert found, what
            known |= found.groupdict()
