"""The tables of a minter's database and what their keys and values are.

This list is the database format.  A change that an older release would read
wrongly raises FORMAT, and older releases then refuse the database.
"""

from __future__ import annotations

FORMAT = 1
META = b"m"  # name -> value: format, settings, state of the generator, counters (see meta.py, changes.py)
IDS = b"i"  # identifier -> circulation record (see circulation.py)
ELEMENTS = b"e"  # pair(identifier, element) -> value as bound (see name_tables.py)
ALIASES = b"a"  # identifier -> the target of an alias (see name_tables.py)
RULES = b"r"  # pair(element, pattern) -> replacement (see bindings.py)
QUEUE = b"q"  # date, sequence, padded label -> identifier (see queue.py)
QUEUED = b"Q"  # identifier -> its key in QUEUE
PEPPERS = b"p"  # identifier -> hash of its pepper (see peppers.py)
CHANGES = b"C"  # number of an event, pair(identifier, element) -> values before and after (see changes.py)
EVENTS = b"v"  # number, 5 bytes -> date, who, interface, verb and changes (see events.py)
HISTORY = b"h"  # pair(identifier, number of an event) -> nothing; the newest circulation is not here (see history.py)
TOMBSTONES = b"t"  # identifier -> when and why it was withdrawn, and its successor (see lifecycle.py)
RELATIONS = b"l"  # pair(name, kind and other name) -> authority, from when until when (see relations.py)
CLAIMS = b"L"  # as RELATIONS, for the kinds that release 0.1.0 does not know
ABSTRACT = b"A"  # abstract name -> its kind, context, label and authority (see abstract_names.py)
CUSTODY = b"o"  # pair(identifier or nothing for the minter, number) -> a custodian (see custody.py)
OFFICES = b"O"  # as CUSTODY, for custodians with a purpose, which release 0.1.0 does not know
STATED = b"y"  # pair(identifier or nothing for the minter, quality and authority) -> a statement (see qualities.py)
VERIFIED = b"V"  # identifier -> the results of its last verification (see findings.py)
CONFIG = b"c"  # name -> value: settings that can be changed after creation (see config.py)
NOTES = b"n"  # name -> text, for the administrators (see notes.py)
REPLIES = b"k"  # replies stored for a day, so that a request can be repeated without harm (see replies.py)
SECRETS = b"s"  # purpose -> random bytes that only this minter's processes know (see secret.py)
TOKENS = b"T"  # digest of a token's secret -> its name, access classes and times (see tokens.py)

# The tables that `dbinfo dump` prints: all but those with secrets, and with digests of peppers, tokens and
# Idempotency-Keys.
READABLE = {
    "ABSTRACT": ABSTRACT, "ALIASES": ALIASES, "CHANGES": CHANGES, "CLAIMS": CLAIMS, "CONFIG": CONFIG,
    "CUSTODY": CUSTODY, "ELEMENTS": ELEMENTS, "EVENTS": EVENTS, "HISTORY": HISTORY, "IDS": IDS, "META": META,
    "NOTES": NOTES, "OFFICES": OFFICES, "QUEUE": QUEUE, "QUEUED": QUEUED, "RELATIONS": RELATIONS, "RULES": RULES,
    "STATED": STATED, "TOMBSTONES": TOMBSTONES, "VERIFIED": VERIFIED,
}

# Every table of this list, for what handles a database as a whole.
ALL_TABLES = tuple(sorted(value for value in vars().values() if isinstance(value, bytes) and len(value) == 1))
