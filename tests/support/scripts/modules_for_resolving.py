"""Prints which slow modules are loaded for resolving at the shell."""

import sys

import noidtools.commands.resolving
import noidtools.resolution  # noqa: F401 - imported for what they load

print(*sorted({"re", "json", "html", "http", "urllib", "subprocess", "typing"} & {*sys.modules}))
