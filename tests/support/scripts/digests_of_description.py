"""Prints the digest of a description in each format."""

import hashlib

from noidtools.description.rdf import FORMATS, describe_identifier, serialize
from support.ontology import IDENTIFIER

graph = describe_identifier(IDENTIFIER)
for format in FORMATS:
    print(hashlib.sha256(serialize(graph, format)).hexdigest())
