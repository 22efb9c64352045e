"""Moves of a store to another place, so that one that was interrupted at any step is finished by another process.

The steps, each on disk before the next: a note beside the store says where it goes; its copy gets a name under which
nobody removes it; the store gets another name; the copy gets its place.  There are never two that can be opened.
Between the last two there is none, and who looks for one is told how to finish the move.
"""

from __future__ import annotations

import json
import os
import shutil

from ..errors import ConflictError
from .folders import aside_name, is_alive, move_folder, sync_folder, write_file

_NOTE = ".moved"


class Move:
    """A move: the location of the store, the place of its copy until the last step, and where that goes."""

    __slots__ = ("location", "arriving", "destination")

    def __init__(self, location: str, arriving: str, destination: str) -> None:
        self.location = location
        self.arriving = arriving
        self.destination = destination

    @property
    def command(self) -> str:
        return f"noid copy {os.path.dirname(self.location)} {os.path.dirname(self.destination)} --move"


def move_to_copy(location: str, copy: str, destination: str) -> str:
    """Give the copy of a store its destination, and the store another name beside its location, which is returned.

    To be called when nobody writes to either.
    """
    location, destination = os.path.realpath(location), os.path.abspath(destination)
    arriving = f"{_mark(destination)}{os.urandom(4).hex()}-{os.getpid()}"
    aside = aside_name(location, "moved")
    content = json.dumps({"arriving": arriving, "destination": destination}).encode()
    write_file(location + _NOTE, content + b"\n")
    sync_folder(os.path.dirname(location))
    move_folder(copy, arriving)
    move_folder(location, aside)
    move_folder(arriving, destination)
    return aside


def finish_move(location: str, destination: str) -> bool:
    """Finish the move of the store at a location to a destination, if one was interrupted; returns whether there was.

    One that was interrupted before the store was taken away is forgotten, and so are its leftovers.
    """
    move = _noted(location)
    if move is None:
        return False
    if not os.path.lexists(move.location):
        if move.destination != os.path.abspath(destination) or not os.path.lexists(move.arriving):
            return False
        move_folder(move.arriving, move.destination)
        return True
    if not is_alive(move.arriving.rpartition("-")[2]):
        shutil.rmtree(move.arriving, ignore_errors=True)
    return False


def why_missing(location: str) -> str | None:
    """A sentence about the move that took a store away from a location, or did not bring it there yet; None if there
    was none."""
    move = _noted(location)
    if move is not None:
        if os.path.lexists(move.arriving):
            return (f"there is no minter in {location}, because its move to {move.destination} was interrupted: say "
                    f"'{move.command}' again to finish it")
        return f"there is no minter in {location}: it was moved to {move.destination}"
    if _arrivals(location):
        return (f"there is no minter in {location}, because the move of one to it was interrupted: say the same 'noid "
                "copy' again to finish it")
    return None


def ensure_no_move(location: str) -> None:
    """Raise ConflictError if a store is on its way to a location, or was on its way from it when that was
    interrupted: another one there might give what the first has given."""
    move = _noted(location)
    if _arrivals(location) or (move is not None and not os.path.lexists(location) and os.path.lexists(move.arriving)):
        raise ConflictError(why_missing(location) or f"a minter is on its way to {location}: wait until it is there")


def _mark(destination: str) -> str:
    """How the names begin of copies that are on their way to a destination."""
    folder, name = os.path.split(os.path.abspath(destination))
    return os.path.join(folder, f".{name}-moving-")


def _arrivals(location: str) -> list[str]:
    folder, mark = os.path.split(_mark(location))
    try:
        return [name for name in os.listdir(folder) if name.startswith(mark)]
    except OSError:
        return []


def _noted(location: str) -> Move | None:
    location = os.path.realpath(location)
    try:
        with open(location + _NOTE, "rb") as file:
            content = json.load(file)
        return Move(location, str(content["arriving"]), str(content["destination"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # there is none, or the process that wrote it was killed before it began
