"""Sockets and processes that carry the WSGI application: FastCGI, SCGI, HTTP and CGI."""

from __future__ import annotations
