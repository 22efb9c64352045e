"""The Identifier Systems ontology, its shapes, and descriptions written in its terms.

`identifier-systems.ttl` is the model, `shapes.ttl` says what a description must
contain, `terms.md` says what the software does for each term.  Only `describe`
needs rdflib, and it imports it when called.
"""

from __future__ import annotations

ONTOLOGY = "identifier-systems.ttl"
SHAPES = "shapes.ttl"

PIL = "https://w3id.org/noidtools/identifier-systems#"
"""The namespace of the document's terms; prefix `pil`."""

NOID = "https://w3id.org/noidtools/describe#"
"""The namespace of our own terms; prefix `noid`."""


def read(name: str) -> bytes:
    """The content of one of the files that ship with this package, such as `ONTOLOGY` or `SHAPES`."""
    from importlib import resources

    return resources.files(__name__).joinpath(name).read_bytes()
