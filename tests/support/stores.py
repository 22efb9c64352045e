"""Empty stores of LMDB in folders that tests have made."""

from __future__ import annotations

from pathlib import Path

from noidtools.store import Store, create_store


def new_store(folder: Path) -> Store:
    """An empty store in place of an existing empty folder."""
    folder.rmdir()
    return create_store(str(folder), lambda writer: None)


def folder_of(parent: Path, name: str, value: bytes) -> Path:
    """A new folder with a store in which the value tells it from others: `which` in the table t."""
    folder = parent / name
    folder.mkdir()
    made = new_store(folder)
    made.write(lambda writer: writer.put(b"t", b"which", value))
    made.close()
    return folder
