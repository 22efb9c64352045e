"""A minter, binder and resolver of persistent identifiers.

    import noidtools

    with noidtools.open("kt5") as minter:
        (identifier,) = minter.mint()
        minter.bind(identifier, "_t", "https://example.org/")

`Call`, `Session`, `run` and `Actor` are the language of the shell and the web:
words in, an answer out.  `Site` is the WSGI application that serves it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .api import OpenMinter
    from .api import create_minter as create
    from .api import open_minter as open
    from .commands import Call, Session, run
    from .description.conversion import ChangedValue, HistoryEvent, MintCount, Transition, ValueDigest, Withdrawal
    from .description.facts import (
        AbstractName,
        AliasLink,
        Binding,
        CitationForm,
        Comparison,
        ContextClaim,
        CustodyPeriod,
        HoldResult,
        MinterDescription,
        MinterInfo,
        MinterPolicy,
        NameDescription,
        NameRecord,
        NameRelation,
        OfferedAction,
        PerformedAction,
        PersistencePromise,
        PolicyStatement,
        QualityClaim,
        QualityFinding,
        RedirectTarget,
        Resolution,
        RuleBinding,
        Validity,
        VerifiedName,
    )
    from .errors import (
        BusyError,
        ConflictError,
        ExhaustedError,
        ForbiddenError,
        GoneError,
        InvalidError,
        NoidError,
        NoMinterError,
        NotFoundError,
        OutcomeUnknownError,
        StoreError,
        UsageError,
    )
    from .minter import Minter
    from .minter.events import Actor
    from .minter.folder import MinterFolder, SingleMinter
    from .version import __version__
    from .web.site import Site

__all__ = [
    "AbstractName", "Actor", "AliasLink", "Binding", "BusyError", "Call", "ChangedValue", "CitationForm",
    "Comparison", "ConflictError", "ContextClaim", "CustodyPeriod", "ExhaustedError", "ForbiddenError", "GoneError",
    "HistoryEvent", "HoldResult", "InvalidError", "MintCount", "Minter", "MinterDescription", "MinterFolder",
    "MinterInfo", "MinterPolicy", "NameDescription", "NameRecord", "NameRelation", "NoMinterError", "NoidError",
    "NotFoundError", "OfferedAction", "OpenMinter", "OutcomeUnknownError", "PerformedAction", "PersistencePromise",
    "PolicyStatement", "QualityClaim", "QualityFinding", "RedirectTarget", "Resolution", "RuleBinding", "Session",
    "SingleMinter", "Site", "StoreError", "Transition", "UsageError", "Validity", "ValueDigest", "VerifiedName",
    "Withdrawal", "__version__", "create", "open", "run",
]

# Where the public names are; a name that is another there follows a colon.
_HOMES = {"__version__": "version", "open": "api:open_minter", "create": "api:create_minter", "OpenMinter": "api",
          "Actor": "minter.events",
          "Minter": "minter", "MinterFolder": "minter.folder", "SingleMinter": "minter.folder", "Site": "web.site",
          "Call": "commands", "Session": "commands", "run": "commands",
          **dict.fromkeys(("ChangedValue", "HistoryEvent", "MintCount", "Transition", "ValueDigest", "Withdrawal"),
                          "description.conversion")}


def __getattr__(name: str) -> object:
    # On first use only: the shell starts a process for each command and pays for every import.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "errors" if name.endswith("Error") else _HOMES.get(name, "description.facts")
    module, _, other = home.partition(":")
    return getattr(__import__(f"{__name__}.{module}", fromlist=[name]), other or name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
