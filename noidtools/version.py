"""The version of noidtools, for the package, the command line and the User-Agent of link checks."""

from __future__ import annotations

__version__ = "0.2.0.dev0"
