"""The tables of a minter's database and what their keys and values are.

This list is the database format.  A change that an older release would read
wrongly raises FORMAT, and older releases then refuse the database.
"""

from __future__ import annotations

FORMAT = 1

META = b"m"  # name -> value: format, settings, state of the generator, counts
IDS = b"i"  # identifier -> circulation record (see circulation.py)
ELEMENTS = b"e"  # pair(identifier, element) -> value as bound
RULES = b"r"  # pair(element, pattern) -> replacement
QUEUE = b"q"  # date, sequence, padded label -> identifier
QUEUED = b"Q"  # identifier -> its key in QUEUE
ALIASES = b"a"  # identifier -> the name it stands for
PEPPERS = b"p"  # identifier -> hash of its pepper
EVENTS = b"v"  # number, 5 bytes -> date, who, door, verb and details (see events.py)
CONFIG = b"c"  # name -> value: what an administrator may change while the minter lives (see config.py)
NOTES = b"n"  # name -> text, for the administrators
REPLIES = b"k"  # answers kept for a day, so that a request can be repeated without harm (see idempotency.py)
