"""From a name to its target, in one or in many minters."""

from __future__ import annotations

from .lookup import (
    ABSTRACT,
    ALIAS,
    CACHE,
    CANARY,
    DEPARTURE,
    ELEMENT,
    FALLBACK,
    FOUND,
    GONE,
    INVALID,
    NOT_FOUND,
    PASSTHROUGH,
    PASSTHROUGH_ELEMENT,
    RESERVED,
    STATISTICS,
    UNAVAILABLE,
    USUAL_CACHE,
    USUAL_ELEMENT,
    WAYBACK,
    Lookup,
    Outcome,
    destination,
    fallback_target,
    follow_aliases,
    outcome_in,
    resolve,
    resolve_in,
    target_element,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .lookup import Trace

__all__ = [
    "ABSTRACT", "ALIAS", "CACHE", "CANARY", "DEPARTURE", "ELEMENT", "FALLBACK", "FOUND", "GONE", "INVALID",
    "NOT_FOUND", "PASSTHROUGH", "PASSTHROUGH_ELEMENT", "RESERVED", "STATISTICS", "UNAVAILABLE", "USUAL_CACHE",
    "USUAL_ELEMENT", "WAYBACK", "Lookup", "Outcome", "Trace",
    "destination", "fallback_target", "follow_aliases", "outcome_in", "resolve", "resolve_in", "target_element",
]
