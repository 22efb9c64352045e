"""Every name that a minter prints resolves as it was printed, escaped as in a URL, and behind a resolver."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from noidtools.minter.bindings import bind
from noidtools.minter.events import Actor
from support.minter import Noid

LABELS = ["hdl:12345.1/", "doi:10.12345/", "urn:x-test:", "info:lccn/", "ark:/13030/", "https://a.example/id/", ""]
# Repertoires with punctuation.
TEMPLATES = ["b.scc", "b.sww"]
TARGET = b"https://t.example/"


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("label", LABELS)
def test_every_printed_name_resolves_in_all_its_spellings(tmp_path, label, template):
    noid = Noid.created(tmp_path / "m", *(("--label", label) if label else ()), template)
    names = [name.encode() for name in noid.mint(1500)[::4]]
    actor = Actor(b"me", b"shell")

    def work(writer):
        for name in names:
            bind(noid.opened, writer, actor, b"set", name, [(b"_t", TARGET + name.hex().encode())])

    noid.write(work)
    wrong = []
    for name in names:
        begin, rest = name[: len(label)], name[len(label) :]
        spellings = {name, begin + quote(rest, safe="").encode(), begin + quote(rest).encode()}
        if label.startswith(("hdl:", "doi:")):
            host = b"https://hdl.handle.net/" if label.startswith("hdl:") else b"https://doi.org/"
            spellings.add(host + name[4 : len(label)] + quote(rest, safe="").encode())
            if rest.isalnum():
                # So does what extends it, in the case in which it is written.
                assert noid.target_of(name + b"/page") == (TARGET + name.hex().encode() + b"/page").decode(), name
        wrong += [text for text in spellings if noid.target_of(text) != (TARGET + name.hex().encode()).decode()]
    noid.close()
    assert not wrong, (len(wrong), wrong[:10])
