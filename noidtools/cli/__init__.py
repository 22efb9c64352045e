"""The executables: `noid` at the shell and `noidr` behind a web server's RewriteMap."""

from __future__ import annotations
