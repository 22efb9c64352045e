"""What is known of a name or of a minter, and the formats in which it is written."""

from __future__ import annotations

from ..errors import UsageError

# The formats of RDF by their names on the command line, with their media types.
RDF_FORMATS = {"turtle": "text/turtle", "json-ld": "application/ld+json", "xml": "application/rdf+xml"}


def ensure_rdf_format(form: str) -> str:
    """The name of a format of RDF_FORMATS; raises UsageError for another."""
    if form not in RDF_FORMATS:
        raise UsageError(f"descriptions are written as {', '.join(RDF_FORMATS)}, not as {form[:60]!r}")
    return form
