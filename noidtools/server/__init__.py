"""Servers that carry the WSGI application: HTTP by granian, FastCGI by flup, and CGI."""

from __future__ import annotations
