"""A link to archived copies, where the minter offers it: on our page only, never as a redirect."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.minter import Noid
from support.templates import LONG_TERM
from support.wsgi import HTML, ResolverClient, resolver_of

NAME, TARGET = "13030/kt4x551", "https://a.example/x?a=1&b=<2>"
ARCHIVE = "web.archive.org"


@pytest.fixture
def minter(tmp_path: Path):
    made = Noid.created(tmp_path / "m", *LONG_TERM)
    made.mint_with_target(TARGET)
    yield made
    made.close()


def page(resolver: ResolverClient) -> str:
    return resolver(f"/ark:/{NAME}?info", **HTML).text


def test_pages_link_to_archived_copies_only_where_the_minter_says_so(minter):
    resolver = resolver_of(minter)
    assert ARCHIVE not in page(resolver)
    assert "wayback: on\n" in minter.text("resolver", "wayback", "on")
    assert 'href="https://web.archive.org/web/*/https://a.example/x?a=1&amp;b=%3C2%3E"' in page(resolver)
    assert "Cópias arquivadas" in resolver(f"/ark:/{NAME}?info", **HTML, HTTP_ACCEPT_LANGUAGE="pt").text
    reply = resolver(f"/ark:/{NAME}")
    assert reply.status == 302 and ARCHIVE not in str(reply.headers) and ARCHIVE not in reply.text
    minter.records("resolver", "wayback", "off")
    assert ARCHIVE not in page(resolver)


@pytest.mark.parametrize("command", ["reserve", "unavailable", "withdraw"])
def test_what_was_taken_away_is_not_offered_in_an_archive(minter, command):
    minter.records("resolver", "wayback", "on")
    minter.records(command, NAME)
    assert ARCHIVE not in page(resolver_of(minter))
