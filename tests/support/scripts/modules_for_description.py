"""Prints the modules of rdflib that are loaded before a description is made."""

import sys

import noidtools.description.rdf  # noqa: F401 - imported for what it loads

print(*(name for name in sys.modules if name.startswith("rdflib")))
