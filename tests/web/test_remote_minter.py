"""`noidtools.connect`: the Python interface over the JSON API of a real server, beside that of the same minter here."""

from __future__ import annotations

import threading

import pytest

import noidtools
from support.http import free_port
from support.minter import Noid
from support.served import ANY_PORT, Served

URL = "https://example.org/a"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server with the minter kt, and a token for all that can be done."""
    folder = tmp_path_factory.mktemp("remote")
    (folder / "minters").mkdir()
    minter = Noid.created(folder / "minters" / "kt", "kt.reeded", "medium", "12345")
    (made,) = minter.records("token", "new", "all", "--may", "read,mint,bind,admin")
    minter.close()
    words = "serve", "--minters", folder / "minters", "--http", ANY_PORT, "--workers", "1"
    server = Served.start(folder / "log", *words)
    host, port = server.address
    yield f"http://{host}:{port}", str(made["token"], "ascii") if isinstance(made["token"], bytes) else made["token"]
    server.stop()


@pytest.fixture
def remote(served):
    url, token = served
    return noidtools.connect(url, token, minter="kt")


def test_identifiers_are_minted_bound_and_read(remote):
    (name,) = remote.mint(elements={"_t": URL, "raw": b"\xff"}, state="reserved")
    assert remote.fetch(name).state == "reserved" and remote.elements(name)["_t"] == URL
    assert remote.get(name, "raw") == "\udcff"
    assert [done.after for done in remote.publish(name)] == ["published"]
    assert remote.bind(name, "title", "One").written == 3
    assert remote.resolve(name).target == URL and remote.resolve(name, explain=True).trace
    remote.bind(name, "title", None)
    with pytest.raises(noidtools.NotFoundError, match="title"):
        remote.get(name, "title")
    assert [event.action for event in remote.history(name)][:2] == ["mint", "publish"]
    assert remote.history(name)[0].who.startswith("token:all@")
    assert any(form.form == "canonical" for form in remote.cite(name))


def test_the_minter_need_not_be_named_if_the_token_is_for_one(served, tmp_path):
    url, token = served
    assert noidtools.connect(url, token).mint()[0].startswith("12345/kt")
    for name in ("b2", "kt"):
        Noid.created(tmp_path / name, f"{name}.reeded", "medium", "12345").close()
    two = Served.start(tmp_path / "log", "serve", "--minters", tmp_path, "--http", ANY_PORT, "--workers", "1")
    try:
        host, port = two.address
        with pytest.raises(noidtools.UsageError, match="b2, kt for this token: name the minter"):
            noidtools.connect(f"http://{host}:{port}")
    finally:
        two.stop()


def test_refusals_are_the_same_exceptions(remote, served):
    with pytest.raises(noidtools.NotFoundError):
        remote.fetch("12345/none")
    (name,) = remote.mint()
    remote.withdraw(name, reason="lost")
    with pytest.raises(noidtools.GoneError, match=r"was withdrawn on .*: lost") as refused:
        remote.resolve(name)
    assert refused.value.reason == "lost"
    with pytest.raises(noidtools.ConflictError):
        remote.publish(name)
    with pytest.raises(noidtools.InvalidError):
        remote.mint(0)
    with pytest.raises(noidtools.ForbiddenError):
        noidtools.connect(served[0], minter="kt").mint()
    with pytest.raises(noidtools.NotFoundError, match="no minter"):
        noidtools.connect(*served, minter="none").mint()
    with pytest.raises(noidtools.UsageError, match="begins with https"):
        noidtools.connect("id.example", minter="kt")
    with pytest.raises(noidtools.StoreError, match="cannot be reached"):
        noidtools.connect(f"http://127.0.0.1:{free_port()}", minter="kt").mint()


def test_a_call_with_a_key_is_done_once(remote):
    assert remote.mint(key="k1") == remote.mint(key="k1")


def test_names_are_found_page_by_page(remote):
    made = remote.mint(120, elements={"title": "Pagination"})
    assert sorted(name.identifier for name in remote.find("pagination")) == sorted(made)
    assert len(list(remote.find("pagination", limit=7))) == 7
    assert list(remote.find("pagination", changed_until="2020")) == []
    assert len(list(remote.find("pagination", changed_since="2020", changed_until="9998"))) == len(made)


def test_threads_share_a_minter(remote):
    made: list[str] = []
    threads = [threading.Thread(target=lambda: made.extend(remote.mint(5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 20


def test_what_is_done_here_is_seen_there(remote, tmp_path):
    (name,) = remote.mint()
    away = remote.make_unavailable(name, reason="repair")
    assert (away.state, away.reason) == ("unavailable", "repair")
    assert remote.fetch(name).state == "unavailable"
