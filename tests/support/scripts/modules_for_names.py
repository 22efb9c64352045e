"""Prints the modules that the text of names needs beside the package itself."""

import sys

import noidtools

before = {*sys.modules, noidtools.__name__}
from noidtools import names  # noqa: E402 - what this import loads is what is asked

print(*sorted(module for module in {*sys.modules} - before if not module.startswith(names.__name__)))
