"""Why a body or a parameter does not fit its type, in words: where, what was given, and what is expected.

msgspec has found that it does not fit.  Its own messages speak of types of Python, and name no member of an object.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import inspect

from ..json_bodies import DECODE_ERRORS

# A longer body is not explained: to look at each of its members takes many times as long as it took msgspec.
_LONGEST_EXPLAINED = 1 << 20
_TYPES = {inspect.StrType: str, inspect.IntType: int, inspect.BoolType: bool, inspect.NoneType: type(None),
          inspect.ListType: list, inspect.DictType: dict, inspect.StructType: dict}
_WORDS = {inspect.StrType: "a text", inspect.BoolType: "true or false", inspect.NoneType: "null",
          inspect.DictType: "an object"}


def body_fault(kind: Any, body: bytes, error: msgspec.ValidationError) -> str:
    """The first fault of a body that does not fit a type, for which msgspec has raised the error."""
    if len(body) > _LONGEST_EXPLAINED:
        return f"the body does not fit its description: {error}"
    expected = inspect.type_info(kind)
    try:
        return _fault(expected, msgspec.json.decode(body), "") or "the body has two fields of one name"
    except DECODE_ERRORS:
        return f"the body must be {_expected(expected)}"  # and is no JSON after the place that does not fit


def parameter_fault(kind: Any, parameters: dict[str, str]) -> str:
    """The first fault of parameters that do not fit a type, all of whose fields may be left out."""
    fields = {field.encode_name: field.type for field in inspect.type_info(kind).fields}  # type: ignore[attr-defined]
    for name, value in parameters.items():
        try:
            msgspec.convert({name: value}, kind, strict=False)
        except msgspec.ValidationError:
            return _must_be(f"the parameter {name}", value, fields[name]).removesuffix(" or null")
    return ""


def _fault(kind: inspect.Type, value: Any, place: str) -> str:
    """The first fault of a value at a place; empty if it has none."""
    if isinstance(kind, inspect.UnionType):
        return _fault_of_union(kind, value, place)
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        return _fault_of_fields(kind, value, place)
    if not _fits(kind, value):
        return _must_be(place or "the body", value, kind)
    if isinstance(kind, inspect.DictType):
        return _first(_fault(kind.value_type, item, _below(place, name)) for name, item in value.items())
    if isinstance(kind, inspect.ListType):
        return _first(_fault(kind.item_type, item, f"{place}[{number}]") for number, item in enumerate(value))
    return ""


def _fault_of_union(kind: inspect.UnionType, value: Any, place: str) -> str:
    structs = [one for one in kind.types if isinstance(one, inspect.StructType)]
    if not structs or not isinstance(value, dict):
        return "" if any(_fits(one, value) for one in kind.types) else _must_be(place, value, kind)
    tag_field = structs[0].tag_field
    if tag_field is None:
        return _fault(structs[0], value, place)
    by_tag = {one.tag: one for one in structs}
    tag = value.get(tag_field, "")
    if isinstance(tag, str) and tag in by_tag:
        return _fault(by_tag[tag], value, place)
    return _must_be(_below(place, tag_field), tag, inspect.LiteralType(tuple(by_tag)))


def _fault_of_fields(kind: inspect.StructType, value: dict[str, Any], place: str) -> str:
    fields = {field.encode_name: field for field in kind.fields}
    known = [*([kind.tag_field] if kind.tag_field else []), *fields]
    for name, item in value.items():
        if name not in known:
            advice = f"known are {', '.join(known)}" if known else "none is expected"
            return f"there is no field {_below(place, name)}: {advice}"
        found = _fault(fields[name].type, item, _below(place, name)) if name in fields else ""
        if found:
            return found
    return _first(f"{_below(place, name)} is missing: it must be {_expected(field.type)}"
                  for name, field in fields.items() if field.required and name not in value)


def _fits(kind: inspect.Type, value: Any) -> bool:
    """Whether a value is of a type and within its limits, whatever is in it."""
    if isinstance(kind, inspect.LiteralType):
        return value in kind.values
    given = type(value)  # exactly: True is no number
    if given is not _TYPES[type(kind)]:
        return False
    if isinstance(kind, inspect.IntType):
        return (kind.ge is None or value >= kind.ge) and (kind.le is None or value <= kind.le)
    if isinstance(kind, inspect.ListType):
        return (kind.min_length or 0) <= len(value) and (kind.max_length is None or len(value) <= kind.max_length)
    return True


def _must_be(what: str, value: Any, kind: inspect.Type) -> str:
    given = msgspec.json.encode(value).decode("utf-8", "replace")[:60]
    if isinstance(value, (dict, list)):
        given = "an object" if isinstance(value, dict) else f"a list of {len(value)} items"
    return f"{what} is {given}, and must be {_expected(kind)}"


def _expected(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.UnionType):
        return " or ".join(dict.fromkeys(map(_expected, kind.types)))
    if isinstance(kind, inspect.LiteralType):
        return " or ".join(f'"{value}"' for value in kind.values)
    if isinstance(kind, inspect.IntType):
        return f"a whole number from {kind.ge} to {kind.le}"
    if isinstance(kind, inspect.ListType):
        return f"a list of {kind.min_length} to {kind.max_length} items"
    if isinstance(kind, inspect.StructType):
        names = [kind.tag_field] if kind.tag_field else [field.encode_name for field in kind.fields if field.required]
        return f"an object with {' and '.join(names)}" if names else "an object"
    return _WORDS[type(kind)]


def _below(place: str, name: str) -> str:
    return f"{place}.{name[:60]}" if place else name[:60]


def _first(faults: Iterable[str]) -> str:
    return next(filter(None, faults), "")
