"""The console: pages at /console by which people look after minters with a browser.

The pages call the functions that commands and the JSON API call, and offer what the policy of a minter lets their user
do.  They work without scripts.  Every form that changes something carries a token of its own: it shows that the form is
ours, and that sending it twice changes nothing twice.
"""

from __future__ import annotations

from .application import Console

__all__ = ["Console"]
