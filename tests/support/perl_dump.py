"""Databases of the original noid, as dumps: read from the recorded one, or composed for a state of a minter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from noidtools.schemes.noid import NoidGenerator, QuasiRandom, per_counter

RECORDED = Path(__file__).parents[1] / "vectors" / "perl-minter.dump"


def written(items: Mapping[bytes, bytes], *, plain: bool = True, header: bytes | None = None) -> bytes:
    """The items as db_dump writes them, with -p if `plain`."""
    form = b"print" if plain else b"bytevalue"
    lines = [header or b"VERSION=3\nformat=%b\ntype=btree\ndb_pagesize=4096\nHEADER=END" % form]
    for item in sorted(items.items()):
        lines += [b" " + (_escaped(text) if plain else text.hex().encode()) for text in item]
    return b"\n".join([*lines, b"DATA=END", b""])


def _escaped(text: bytes) -> bytes:
    return re.sub(rb"\\|[^\x20-\x7e]", lambda found: b"\\\\" if found[0] == b"\\" else b"\\%02x" % found[0][0], text)


def recorded_items() -> dict[bytes, bytes]:
    """The items of the recorded dump, read without the code under test."""
    lines = RECORDED.read_bytes().split(b"\n")
    start, end = lines.index(b"HEADER=END") + 1, lines.index(b"DATA=END")
    data = [line[1:].replace(b"\\09", b"\t") for line in lines[start:end]]
    return dict(zip(data[::2], data[1::2], strict=True))


def root_items(generator: NoidGenerator, term: str = "medium", **more: bytes) -> dict[bytes, bytes]:
    """What the original stores once for a minter whose generator is in this state."""
    scheme, template = generator.scheme, generator.scheme.template
    total = -1 if template.total is None else template.total
    naan = scheme.first_part.partition("/")[0] if "/" in scheme.first_part else ""
    values = {
        "version": "0.424", "template": template.text, "prefix": template.prefix, "mask": template.mask, "genonly": "1",
        "longterm": "1" if term == "long" else "", "wrap": "1" if term == "short" else "", "naan": naan,
        "naa": "example.org", "subnaa": "test", "firstpart": scheme.first_part, "total": str(total),
        "oatop": str(total), "oacounter": str(generator.drawn), "held": "0", "queued": "0", "fseqnum": "1",
        "gseqnum": "1", "gseqnum_date": "0", "properties": "", "siclist": "", "padwidth": "9", "erc": "",
        "addcheckchar": "1" if template.checked else "",
        "generator_type": "random" if template.generator == "r" else "sequential",
    }
    order = generator.order
    if isinstance(order, QuasiRandom):
        size = per_counter(order.total)
        tops = [min(size, order.total - n * size) for n in range(len(order.values))]
        values["percounter"] = str(size)
        values["saclist"] = "".join(f"c{n} " for n, top in enumerate(tops) if order.values[n] < top)
        for n, top in enumerate(tops):
            values[f"c{n}/top"], values[f"c{n}/value"] = str(top), str(order.values[n])
    items = {b":/" + name.encode(): value.encode() for name, value in values.items()}
    return items | {b":/" + name.encode(): value for name, value in more.items()}


def circulation(identifier: bytes, number: int, letters: bytes = b"i", *, date: bytes = b"20120305101112",
                who: bytes = b"alice/staff") -> dict[bytes, bytes]:
    return {identifier + b"\t:/c": b"|".join((letters, date, who, b"%d" % number))}


def state_of(template: str, drawn: int, *, naan: str = "", term: str = "medium") -> tuple[NoidGenerator, list[bytes]]:
    """The generator of a minter after so many draws, and the identifiers that were drawn in its last pass."""
    from noidtools.minter.creation import new_settings
    from noidtools.schemes import scheme_for

    settings = {"template": template, "term": term, "naan": naan, "naa": "example.org", "subnaa": "test"}
    generator = scheme_for(new_settings(settings)).generator(None)
    assert isinstance(generator, NoidGenerator)
    identifiers: list[bytes] = []
    while drawn:
        passes = generator.passes
        page = generator.draw(drawn)
        if not page:
            break
        identifiers = ([] if generator.passes != passes else identifiers) + [identifier for identifier, _ in page]
        drawn -= len(page)
    return generator, identifiers
