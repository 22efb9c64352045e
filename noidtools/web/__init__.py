"""Everything on the web as WSGI applications: commands by URL, bulk commands by POST, the resolver and its pages."""

from __future__ import annotations
