"""The resolver of noid serve, where the request line matters, which a web server in front passes on."""

from __future__ import annotations

import pytest

from support.http import free_port, raw
from support.minter import Noid
from support.served import Served
from support.templates import LONG_TERM

NAME = "13030/kt4x551"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A served minter with one bound name."""
    folder = tmp_path_factory.mktemp("served")
    minter = Noid.created(folder / "kt5", *LONG_TERM)
    assert minter.mint_with_target("https://a.example/x") == NAME
    minter.close()
    served = Served.start(folder / "log", "-f", folder / "kt5", "serve", "--http", "127.0.0.1:0")
    yield served
    assert served.stop() == 0


def test_serve_resolves_names(served):
    assert served.get(f"/ark:/{NAME}").headers["location"] == "https://a.example/x"
    assert served.get(f"/ark:/{NAME}", "HEAD").status == 302
    for query in (b"??", b"?info"):
        request = b"GET /ark:/13030/kt4x551" + query + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        answer = raw(served.address[1], request)
        assert answer.startswith(b"HTTP/1.1 200") and b"erc:\n" in answer
    assert served.get("/ark:/13030/zzz").status == 404
    assert served.get(f"/noidu?get+{NAME}+_t").text == "https://a.example/x\n"
    assert served.get("/healthz").text == "ok\n"


def test_the_request_line_that_a_web_server_passes_on_is_seen(tmp_path):
    minter = Noid.created(tmp_path / "kt5", *LONG_TERM)
    minter.mint_with_target("https://a.example/x")
    minter.close()
    served = Served.start(tmp_path / "log", "-f", tmp_path / "kt5", "serve", "--http", tmp_path / "sock")
    for target, status in ((f"/ark:/{NAME}?", 200), (f"/ark:/{NAME}", 302), ("/ark:/13030%2Fkt4x551?", 200)):
        request = f"GET /ark:/{NAME} HTTP/1.1\r\nHost: x\r\nNoidTarget: {target}\r\nConnection: close\r\n\r\n"
        assert served.raw(request.encode(), finish=False).startswith(b"HTTP/1.1 %d" % status), target
    assert served.stop() == 0


def test_canaries_can_be_checked_through_a_web_resolver(served, noid):
    base = f"http://127.0.0.1:{served.address[1]}/"
    noid("dbcreate", *LONG_TERM)
    noid("resolver", "canary", f"ark:/{NAME}", "https://a.example/x")
    noid("resolver", "canary", "ark:/13030/zzz", "status 404")
    assert noid("canary", "--through", base).count("ok: ") == 2
    noid("resolver", "canary", f"ark:/{NAME}", "https://a.example/y")
    done = noid.run("canary", "--through", base)
    assert done.returncode == 1 and b"leads to https://a.example/x, not to https://a.example/y" in done.stdout
    done = noid.run("canary", "--through", f"http://127.0.0.1:{free_port()}/")
    assert done.returncode == 1 and b"no answer" in done.stdout
    noid.refused("canary", "--through", "nonsense", status=2)
