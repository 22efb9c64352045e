"""The state of a database server: whether it accepts writes, what its commits survive, how far a standby is behind."""

from __future__ import annotations

from time import monotonic

from ...errors import NoMinterError
from . import statements as sql
from .connection import LostError, SqlError, from_int
from .source import commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .connection import Row, SqlStatement
    from .source import Source

_TIMEOUT = 2.0

SYNCHRONOUS = "a commit is on the disks of this server and of a standby: a failover loses nothing"
IN_MEMORY = ("a commit is on the disk of this server and in the memory of a standby (synchronous_commit = "
             "remote_write): a failover loses nothing, unless both lose power at once")
ASYNCHRONOUS = ("a commit is on the disk of this server alone: a failover to a standby can lose the last changes, and "
                "identifiers that were given can be given again")
ALONE = "a commit is on the disk of this server, which has no standby"


def status(primary: Source, replica: Source | None) -> list[tuple[str, str]]:
    """Names and values, for people."""
    found: list[tuple[str, str]] = []
    written = None
    try:
        server, row = _asked(primary, sql.SERVER)
        version, recovering, names, level, standbys = (_text(value) for value in row[2:])
        written = commits(from_int(row[1]))
        role = "a standby, which only reads" if recovering == "on" else "the primary"
        found.append(("Engine", f"PostgreSQL {version} at {server}, {role}"))
        if recovering != "on":
            found.append(("Durability", durability(names, level, int(standbys or "0"))))
    except (LostError, SqlError, NoMinterError) as error:
        found.append(("Engine", f"PostgreSQL at {primary.pool.address}, which cannot be reached ({error})"))
    if replica is not None:
        found.append(("Replica", _replica(replica, written)))
    return found


def durability(names: str, level: str, standbys: int) -> str:
    """What a commit survives, from synchronous_standby_names, synchronous_commit and the number of standbys."""
    if names and level not in ("local", "off"):
        return IN_MEMORY if level == "remote_write" else SYNCHRONOUS
    return ASYNCHRONOUS if standbys else ALONE


def _replica(replica: Source, written: int | None) -> str:
    try:
        server, row = _asked(replica, sql.STANDBY)
    except (LostError, SqlError, NoMinterError) as error:
        return f"{replica.pool.address} cannot be reached ({error}): the primary is read"
    recovering, late, receiving = (_text(value) for value in row[2:])
    if recovering != "on":
        return f"{server} is no standby"
    behind = [] if written is None else [f"{max(0, written - commits(from_int(row[1])))} changes"]
    behind.insert(0, f"{float(late or '0'):.1f} seconds")
    state = "" if receiving != "0" else ", and not connected to its primary"
    return f"{server} is {' and '.join(behind)} behind{state}"


def replica_lag(replica: Source) -> float:
    """How many seconds a replica is behind; raises what asking it raises."""
    _, row = _asked(replica, sql.STANDBY)
    return float(_text(row[3]) or "0")


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "replace")


def _asked(source: Source, statement: SqlStatement) -> tuple[str, Row]:
    deadline = monotonic() + _TIMEOUT
    session = source.pool.take(deadline, patient=False)
    try:
        (rows,) = session.run([(statement, (source.name,))], deadline)
        source.version_of(rows)
        return session.server, rows[0]
    finally:
        source.pool.give(session)
