"""A minter, binder and resolver of persistent identifiers.

    import noidtools

    with noidtools.open("kt5") as minter:
        (identifier,) = minter.mint()
        minter.bind(identifier, "_t", "https://example.org/")
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .api import OpenMinter
    from .api import create_minter as create
    from .api import open_minter as open
    from .description.conversion import ChangedValue, HistoryEvent, MintCount, Transition, ValueDigest, Withdrawal
    from .description.facts import (
        AbstractName,
        AliasLink,
        Binding,
        CitationForm,
        Comparison,
        ContextClaim,
        CustodyPeriod,
        FoundName,
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
    from .version import __version__

__all__ = [
    "AbstractName", "AliasLink", "Binding", "BusyError", "ChangedValue", "CitationForm", "Comparison", "ConflictError",
    "ContextClaim", "CustodyPeriod", "ExhaustedError", "ForbiddenError", "FoundName", "GoneError", "HistoryEvent",
    "HoldResult", "InvalidError", "MintCount", "MinterDescription", "MinterInfo", "MinterPolicy", "NameDescription",
    "NameRecord", "NameRelation", "NoMinterError", "NoidError", "NotFoundError", "OfferedAction", "OpenMinter",
    "OutcomeUnknownError", "PerformedAction", "PersistencePromise", "PolicyStatement", "QualityClaim", "QualityFinding",
    "RedirectTarget", "Resolution", "RuleBinding", "StoreError", "Transition", "UsageError", "Validity", "ValueDigest",
    "VerifiedName", "Withdrawal", "__version__", "create", "open",
]

# Where the public names are; a name that is another there follows a colon.
_HOMES = {"__version__": "version", "open": "api:open_minter", "create": "api:create_minter", "OpenMinter": "api",
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
