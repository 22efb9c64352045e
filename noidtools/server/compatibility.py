"""Whether an installed package has the internal members that an adapter in this folder uses.

flup and waitress do not promise to keep these members.  Each adapter lists them, and checks the list before it is
used, so that a release without one of them is reported by name and not by a failing request.
"""

from __future__ import annotations

from types import FunctionType, ModuleType

from ..errors import NoidError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    # Where -> members.  Where is a module, `module:Class` or `module:Class.method`; for a method or a function the
    # members are its parameters.
    Members = Mapping[str, tuple[str, ...]]


def ensure_members(package: str, bounds: str, needed: Members) -> None:
    """Raise NoidError if the installed release of the package lacks a needed member; `bounds` are its good releases."""
    missing = missing_members(needed)
    if missing:
        from importlib.metadata import version

        raise NoidError(f"{package} {version(package)} lacks {', '.join(missing)}, which noidtools uses: "
                        f"install {package} {bounds}")


def missing_members(needed: Members) -> list[str]:
    """The needed members that do not exist, with where they were looked for."""
    missing = []
    for where, members in needed.items():
        owner = _find(where)
        if owner is None:
            missing.append(where)
        else:
            missing += [f"{where}.{member}" for member in members if not _has(owner, member)]
    return missing


def _find(where: str) -> object:
    module, _, path = where.partition(":")
    try:
        owner: object = __import__(module, fromlist=["*"])
    except ModuleNotFoundError as error:
        if error.name == module.partition(".")[0]:
            raise  # the package itself is not installed
        return None
    for name in path.split(".") if path else ():
        owner = getattr(owner, name, None)
    return owner


def _has(owner: object, member: str) -> bool:
    if isinstance(owner, ModuleType):
        return hasattr(owner, member)
    if isinstance(owner, FunctionType):
        code = owner.__code__
        return member in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    # Attributes that exist only in instances are found by the methods that use them.
    methods = [value for base in getattr(owner, "__mro__", ()) for value in vars(base).values()
               if isinstance(value, FunctionType)]
    return hasattr(owner, member) or any(member in method.__code__.co_names for method in methods)
