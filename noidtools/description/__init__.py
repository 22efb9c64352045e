"""What is known of a name or of a minter, and the formats in which it is written."""

from __future__ import annotations
