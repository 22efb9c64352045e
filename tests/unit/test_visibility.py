"""Which tables are about names, and are hidden with a name that is not public."""

from __future__ import annotations

from noidtools.minter import schema

# Nothing in these is found by a name alone: events and their changes are found through HISTORY, which is hidden, and
# abstract names do not belong to a minter and have no state.
NOT_BY_NAME = {schema.META, schema.RULES, schema.QUEUE, schema.CHANGES, schema.EVENTS, schema.ABSTRACT, schema.CONFIG,
               schema.NOTES, schema.REPLIES, schema.SECRETS, schema.TOKENS}


def test_every_table_was_judged():
    by_name = {*schema.BY_IDENTIFIER, *schema.BY_PAIR}
    assert set(schema.ALL_TABLES) == by_name | NOT_BY_NAME
    assert not by_name & NOT_BY_NAME
