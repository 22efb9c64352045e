"""The fallback resolver of a minter."""

from __future__ import annotations

import pytest

from noidtools.errors import NoidError


def test_a_name_that_does_not_resolve_goes_to_the_fallback(minter):
    minter.text("resolver", "fallback", "https://n2t.net/")
    assert minter.target_of("ark:/99999/x-y?z") == "https://n2t.net/ark:/99999/x-y?z"
    assert minter.outcome("ark:/99999/x").by == "fallback"
    assert minter.target_of("99999/x") == "https://n2t.net/ark:/99999/x"
    assert minter.target_of("some words") == "https://n2t.net/some words"
    assert minter.target_of("") is None and minter.target_of(" ") is None
    assert minter.target_of("ark:/13030/kt4x551") == "https://a.example/x"
    minter.text("resolver", "fallback", "https://g.example/find?id=${name}")
    assert minter.target_of("ark:/99999/x") == "https://g.example/find?id=ark:/99999/x"
    minter.text("resolver", "fallback", "-")
    assert minter.target_of("ark:/99999/x") is None


@pytest.mark.parametrize("name", [b".evil.example", b"@evil.example", b"//evil.example", b"x|https://evil.example",
                                  b"a\nhttps://evil.example", b":x@evil.example/"])
def test_no_name_changes_the_host_of_the_fallback(minter, name):
    minter.text("resolver", "fallback", "https://n2t.net")
    found = minter.outcome(name).targets
    assert len(found) == 1 and found[0].url.startswith(b"https://n2t.net/") and b"\n" not in found[0].url


@pytest.mark.parametrize("base", [
    "n2t.net", "javascript:alert(1)//", "https://${name}/", "/x", "", "https://", "ftp:x",
])
def test_a_fallback_that_is_no_resolver_is_refused(minter, base):
    with pytest.raises(NoidError):
        minter.text("resolver", "fallback", base)
