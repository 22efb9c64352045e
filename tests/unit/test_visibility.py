"""Which tables are about names, and are hidden with a name that is not public."""

from __future__ import annotations

from noidtools.minter import tables, visibility

# Nothing in these is found by a name alone: events and their changes are found through HISTORY, which is hidden, and
# abstract names do not belong to a minter and have no state.
NOT_BY_NAME = {tables.META, tables.RULES, tables.QUEUE, tables.CHANGES, tables.EVENTS, tables.ABSTRACT, tables.CONFIG,
               tables.NOTES, tables.REPLIES, tables.SECRETS, tables.TOKENS}


def test_every_table_was_judged():
    assert set(tables.ALL_TABLES) == visibility._BY_IDENTIFIER | visibility._BY_PAIR | NOT_BY_NAME
    assert not (visibility._BY_IDENTIFIER | visibility._BY_PAIR) & NOT_BY_NAME
