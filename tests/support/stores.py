"""Empty stores of LMDB in folders that tests have made."""

from __future__ import annotations

from pathlib import Path

from noidtools.store import Store, create_store


def new_store(folder: Path) -> Store:
    """An empty store in place of an existing empty folder."""
    folder.rmdir()
    return create_store(str(folder), lambda writer: None)
