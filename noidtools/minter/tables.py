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
EVENTS = b"v"  # number, 5 bytes -> date, who, door, verb and what it was about (see events.py)
HISTORY = b"h"  # pair(identifier, number of an event) -> nothing; the newest circulation is not here (see history.py)
TOMBSTONES = b"t"  # identifier -> when and why it was withdrawn, what comes after it (see lifecycle.py)
RELATIONS = b"l"  # pair(name, kind and other name) -> who says so, from when until when (see relations.py)
CUSTODY = b"o"  # pair(identifier or nothing for the minter, number) -> who answers for it (see custody.py)
VERIFIED = b"V"  # identifier -> what was found when it was last verified (see qualities.py)
CONFIG = b"c"  # name -> value: what an administrator may change while the minter lives (see config.py)
NOTES = b"n"  # name -> text, for the administrators
REPLIES = b"k"  # answers kept for a day, so that a request can be repeated without harm (see idempotency.py)
