"""The fallback resolver of a minter."""

from __future__ import annotations

import pytest

from noidtools.errors import NoidError
from noidtools.resolution import resolve
from support.minter import Noid
from support.templates import LONG_TERM


@pytest.fixture
def minter(tmp_path):
    """A long-term minter with one bound name, 13030/kt4x551."""
    minter = Noid.created(tmp_path, *LONG_TERM)
    assert minter.mint_with_target("https://a.example/x") == "13030/kt4x551"
    yield minter
    minter.close()


def led(minter: Noid, name: str | bytes, **options) -> str | None:
    """Where a name leads."""
    given = name if isinstance(name, bytes) else name.encode()
    found = resolve(minter.opened, given, **options).targets
    return found[0].url.decode() if found else None


def by(minter: Noid, name: str) -> str:
    return resolve(minter.opened, name.encode()).by


def test_the_fallback_gets_what_nothing_else_answers(minter):
    minter.text("resolver", "fallback", "https://n2t.net/")
    assert led(minter, "ark:/99999/x-y?z") == "https://n2t.net/ark:/99999/x-y?z"
    assert by(minter, "ark:/99999/x") == "fallback"
    assert led(minter, "99999/x") == "https://n2t.net/ark:/99999/x"
    assert led(minter, "some words") == "https://n2t.net/some words"
    assert led(minter, "") is None and led(minter, " ") is None
    assert led(minter, "ark:/13030/kt4x551") == "https://a.example/x"
    minter.text("resolver", "fallback", "https://g.example/find?id=${name}")
    assert led(minter, "ark:/99999/x") == "https://g.example/find?id=ark:/99999/x"
    minter.text("resolver", "fallback", "-")
    assert led(minter, "ark:/99999/x") is None


@pytest.mark.parametrize("name", [b".evil.example", b"@evil.example", b"//evil.example", b"x|https://evil.example",
                                  b"a\nhttps://evil.example", b":x@evil.example/"])
def test_nobody_can_bend_the_fallback(minter, name):
    minter.text("resolver", "fallback", "https://n2t.net")
    found = resolve(minter.opened, name).targets
    assert len(found) == 1 and found[0].url.startswith(b"https://n2t.net/") and b"\n" not in found[0].url


@pytest.mark.parametrize("base", [
    "n2t.net", "javascript:alert(1)//", "https://${name}/", "/x", "", "https://", "ftp:x",
])
def test_a_fallback_that_is_no_resolver_is_refused(minter, base):
    with pytest.raises(NoidError):
        minter.text("resolver", "fallback", base)
