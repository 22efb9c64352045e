"""The command that prints what a database server needs for minters."""

from __future__ import annotations

from .answers import Answer
from .command import Command, Form
from .records import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import Call


def _tables(call: Call) -> Answer:
    from ..store.sql_tables import TABLES

    return Answer(Text(TABLES.rstrip()))


def _views(call: Call) -> Answer:
    from ..minter.sql_views import VIEWS

    return Answer(Text(VIEWS.rstrip()))


def _roles(call: Call) -> Answer:
    from ..minter.sql_views import VIEW_ROLES
    from ..store.sql_tables import ROLES

    return Answer(Text((ROLES + VIEW_ROLES).rstrip()))


COMMANDS = (
    Command(
        "sql", "print SQL statements for minters in a database server",
        Form("tables", _tables), Form("views", _views), Form("roles", _roles),
        shell_only=True, see="scale.md",
        about="""\
tables makes the tables, which dbcreate does itself if it may. views makes views that decode identifiers, bindings,
aliases and events, for people with psql. roles makes the roles noid_writer, noid_reader (for resolvers) and
noid_viewer, which sees the views alone.
""",
        example="""\
$ noid sql roles | head -1
CREATE ROLE noid_reader;
""",
    ),
)
