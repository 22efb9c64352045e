"""Whatever was bound in whatever spelling: what `identify` says, resolution says too."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noidtools.minter.bindings import bind
from noidtools.minter.circulation import value_of
from noidtools.minter.events import Actor
from noidtools.minter.identifiers import identify, identify_for_change
from noidtools.resolution import Lookup
from support.minter import Noid

pytestmark = pytest.mark.slow

HEADS = ["", "ark:/", "ark:", "ARK:", "https://n2t.net/ark:/", "x:", "doi:", "hdl:", "https://doi.org/", "info:ark/",
         " "]
BODIES = ["13030/ab-c", "13030/abc", "13030/AbC", "13030/a%62c", "10.5/Ab", "10.5/ab", "10.5/%61b", "ab", "a-b",
          "13030/abc?q", "13030/ab-c?q", "13030/abc/p-1", "b5/abc", "B5/abc", "13030/abc!x", "102.1/ab", "", " "]
TEXTS = [f"{head}{body}".encode() for head in HEADS for body in BODIES]
MINTERS = [(), ("--label", "x:"), ("--label", "ark:/"), ("-", "medium", "13030", "a", "b"), ("--label", "doi:"),
           ("-", "medium", "B5", "a", "b"), ("--label", "https://n2t.net/ark:/13030/"), ("--label", "ark:/13030/")]
BOUND = st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from([b"_t", b"title"])), min_size=1, max_size=5)


class UndoneError(Exception):
    """Ends a transaction, so that the next example finds the minter empty."""


@pytest.mark.parametrize("words", MINTERS, ids=" ".join)
def test_every_spelling_is_resolved_to_the_identifier_that_it_means(tmp_path, words):
    noid = Noid.created(tmp_path, *words)
    minter, actor = noid.opened, Actor(b"me", b"test")

    def compare(writer, bound):
        for text, element in bound:
            if identifies(minter, writer, text):
                key = identify_for_change(minter, writer, text).key
                bind(minter, writer, actor, b"set", text, [(element, b"https://t.example/" + key.hex().encode())])
                assert identify(minter, writer, text).key == key
        for text in TEXTS:
            outcome = Lookup(minter, writer).find(text)
            if not identifies(minter, writer, text):
                assert outcome.by != "stored", text
                continue
            ref = identify(minter, writer, text)
            value = value_of(writer, ref.key, b"_t") if ref.known else None
            assert (outcome.by == "stored") == (value is not None), (text, ref.key)
            if value is not None:
                assert (outcome.identifier, outcome.value) == (ref.key, value), text
            if ref.known:
                assert identify(minter, writer, ref.display).key == ref.key, (text, ref.display)
        raise UndoneError

    @settings(max_examples=10, deadline=None)
    @given(BOUND)
    def run(bound):
        with pytest.raises(UndoneError):
            minter.write(lambda writer: compare(writer, bound))

    run()
    noid.close()


def identifies(minter, reader, text: bytes) -> bool:
    """Whether the text is a name at all, not only a label."""
    from noidtools.errors import InvalidError

    try:
        identify(minter, reader, text)
    except InvalidError:
        return False
    return True
