"""Prints the modules of the command language that noidr loads."""

import sys

import noidtools.cli.noidr  # noqa: F401 - imported for what it loads

print(*(name for name in sys.modules if "noidtools.commands" in name))
