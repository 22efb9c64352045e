"""A minter, binder and resolver of persistent identifiers."""

__version__ = "0.1.0"
