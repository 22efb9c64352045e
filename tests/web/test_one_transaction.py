"""A response about a name is of one moment: one read transaction of the minter that answers, whatever it shows."""

from __future__ import annotations

import io

import pytest

from noidtools.commands import Call, Session
from noidtools.minter import Minter
from noidtools.minter.events import Actor
from noidtools.minter.folder import MinterFolder, SingleMinter
from noidtools.web.resolver import Resolver
from support.minter import Noid
from support.read_counter import counted_reads
from support.templates import CHECKED, LONG_TERM

# Transactions are counted in the environments of LMDB.
pytestmark = [pytest.mark.only("lmdb"), pytest.mark.slow]

FORMATS = ("text/plain", "application/json", "text/html", "text/turtle", "application/ld+json", "application/rdf+xml")
NAME, GONE, UNFOLLOWED, KNOWN = "13030/f54x54g11", "13030/f5154dn7k", "13030/f5wd3q12m", "13030/f5rn30687"

# Path, query and status of a response that describes a name, of a redirect, and of one that finds nothing.
DESCRIBED = [
    (NAME, "?info", 200), (NAME + "/page", "?", 200), ("old", "?info", 200), ("older/page", "?info", 200),
    (GONE, "", 410), (GONE, "?info", 200), (UNFOLLOWED, "?info", 200), (KNOWN, "?info", 200),
    ("13030/f5zz", "?info", 200),
]
OTHERS = [
    (NAME, "", 302), (NAME + "/page", "?x=1", 302), ("old", "", 302), ("older/page", "", 302), (KNOWN, "", 404),
    ("13030/f54x45g11", "", 404), ("13030/f54x45g11", "?info", 404), ("13030/f5unknown", "", 404),
    ("13030/f5unknown", "?info", 404),
]


LEADING_NOWHERE = (KNOWN, "13030/f5unknown")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A minter with names of all kinds, among others that are not asked for them."""
    folder = tmp_path_factory.mktemp("minters")
    live = Noid.created(folder / "f5", *CHECKED)
    assert [live.mint_with_target("https://a.example/x") for _ in range(3)] == [NAME, GONE, UNFOLLOWED]
    assert live.mint() == [KNOWN]
    for element in ("who", "what", "note"):
        live.records("bind", "set", NAME, element, "a value")
    live.records("custodian", "set", "A Library", "--contact", "names@library.example")
    live.records("synonym", NAME, "doi:10.1000/x", "--authority", "A Library")
    live.records("context", "resolver", "https://id.example.org/")
    live.records("context", "alias", "ark:/99999", "ark:/13030", "--authority", "A Library")
    live.records("policy", "persistence", "we keep them", "--until", "2999")
    live.records("verify", "--record", NAME)
    live.records("withdraw", GONE, "--reason", "a mistake", "--successor", NAME)
    live.set_target(UNFOLLOWED, "javascript:alert(1)")
    live.records("alias", "13030/f5old", NAME)
    live.records("alias", "13030/f5older", "13030/f5old")
    live.records("bind", "set", ":idmap/^13030/f5(zz.*)", "_t", "https://r.example/$1")
    live.close()
    Noid.created(folder / "kt", *LONG_TERM).close()
    Noid.created(folder / "kt5", "kt5.zd", "long", "13030", "x", "y").close()
    return folder


@pytest.fixture(scope="module", params=["one minter", "several minters"])
def resolver(request, folder):
    alone = request.param == "one minter"
    resolver = Resolver(SingleMinter(str(folder / "f5")) if alone else MinterFolder(str(folder)))
    status(resolver, NAME, "", "*/*")
    yield resolver
    for domain in resolver._catalogue.entries():
        domain.open().close()


def minter_of(resolver: Resolver) -> Minter:
    (minter,) = (domain.open() for domain in resolver._catalogue.entries() if domain.name == "f5")
    return minter


def status(resolver: Resolver, name: str, query: str, accept: str) -> int:
    name = f"13030/f5{name}" if name.startswith("old") else name
    environ = {
        "REQUEST_METHOD": "GET", "REQUEST_URI": f"/ark:/{name}{query}", "HTTP_ACCEPT": accept, "SERVER_NAME": "x",
        "wsgi.errors": io.StringIO(), "REMOTE_USER": "joe",
    }
    begun: list[str] = []
    assert b"".join(resolver(environ, lambda status, headers: begun.append(status)))
    assert not environ["wsgi.errors"].getvalue()
    return int(begun[0].split()[0])


def assert_one_read(resolver: Resolver, name: str, query: str, accept: str, expected: int) -> None:
    resolver._catalogue.entries()
    minter = minter_of(resolver)
    # That the folder is looked at from time to time is not part of a request.
    resolver._catalogue._refreshed += 3600
    try:
        with counted_reads() as counts:
            assert status(resolver, name, query, accept) == expected
    finally:
        resolver._catalogue._refreshed -= 3600
    assert counts.pop(minter.store.location) == 1
    # Other minters are only asked for their fallback, once, when the name leads nowhere.
    assert not counts or (name in LEADING_NOWHERE and set(counts.values()) == {1})


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")
@pytest.mark.parametrize("accept", FORMATS)
@pytest.mark.parametrize(("name", "query", "expected"), DESCRIBED)
def test_a_description_in_every_format_is_one_transaction(resolver, name, query, expected, accept):
    assert_one_read(resolver, name, query, accept, expected)


@pytest.mark.parametrize("accept", FORMATS[:3])
@pytest.mark.parametrize(("name", "query", "expected"), OTHERS)
def test_redirects_and_pages_for_missing_names_are_one_transaction(resolver, name, query, expected, accept):
    assert_one_read(resolver, name, query, accept, expected)


def test_where_nobody_can_be_sent_the_description_is_of_the_same_transaction(resolver):
    assert_one_read(resolver, UNFOLLOWED, "", "text/html", 200)


def test_a_request_for_statements_is_led_to_them_in_one_transaction(resolver):
    assert_one_read(resolver, NAME, "", "text/turtle", 303)


@pytest.mark.parametrize("words", [["describe"], ["describe", NAME], ["describe", GONE], ["describe", "13030/f5older"]])
def test_the_command_describes_in_one_transaction(resolver, words):
    minter = minter_of(resolver)
    session = Session(minter.dbdir, Actor(b"me", b"test"), minter=minter)
    with counted_reads() as counts:
        assert Call(session, [word.encode() for word in words]).run().records
    assert counts == {minter.store.location: 1}
