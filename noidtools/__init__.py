"""A minter, binder and resolver of persistent identifiers.

    import noidtools

    with noidtools.open("kt5") as minter:
        (identifier,) = minter.mint()
        minter.bind(identifier, "_t", "https://example.org/")
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .api import OpenMinter, import_minter
    from .api import copy_minter as copy
    from .api import create_minter as create
    from .api import open_minter as open
    from .api import restore_minter as restore
    from .api.remote import RemoteMinter, connect
    from .description.conversion import (
        AccessToken,
        BulkChange,
        CanaryResult,
        ChangedValue,
        CheckResult,
        HistoryEvent,
        ImportResult,
        LeftBinding,
        MintCount,
        NamingContext,
        ResolverSettings,
        Transition,
        ValueDigest,
        Withdrawal,
    )
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
    from .minter.copying import Copied, Restored
    from .statistics import Usage, UsageDay
    from .transfer.exporter import Export
    from .transfer.mint_table import MintedTable
    from .verification.link_report import LinkReport, ReportedLink
    from .version import __version__

__all__ = [
    "AbstractName", "AccessToken", "AliasLink", "Binding", "BulkChange", "BusyError", "CanaryResult",
    "ChangedValue", "CheckResult", "CitationForm", "Comparison", "ConflictError", "ContextClaim", "Copied",
    "CustodyPeriod", "ExhaustedError", "Export", "ForbiddenError", "FoundName", "GoneError", "HistoryEvent",
    "HoldResult", "ImportResult", "InvalidError", "LeftBinding", "LinkReport", "MintCount", "MintedTable",
    "MinterDescription", "MinterInfo", "MinterPolicy", "NameDescription", "NameRecord", "NameRelation",
    "NamingContext", "NoMinterError", "NoidError", "NotFoundError", "OfferedAction", "OpenMinter",
    "OutcomeUnknownError", "PerformedAction", "PersistencePromise", "PolicyStatement", "QualityClaim",
    "QualityFinding", "RedirectTarget", "RemoteMinter", "ReportedLink", "Resolution", "ResolverSettings",
    "Restored", "RuleBinding", "StoreError", "Transition", "Usage", "UsageDay", "UsageError", "Validity",
    "ValueDigest", "VerifiedName", "Withdrawal", "__version__", "connect", "copy", "create", "import_minter",
    "open", "restore",
]

# Where the public names are; a name that is another there follows a colon.
_HOMES = {"__version__": "version", "OpenMinter": "api", "import_minter": "api", "RemoteMinter": "api.remote",
          "connect": "api.remote", "Copied": "minter.copying", "Restored": "minter.copying",
          "Export": "transfer.exporter", "MintedTable": "transfer.mint_table", "Usage": "statistics",
          "UsageDay": "statistics",
          **dict.fromkeys(("LinkReport", "ReportedLink"), "verification.link_report"),
          **{name: f"api:{name}_minter" for name in ("copy", "create", "open", "restore")},
          **dict.fromkeys(("AccessToken", "BulkChange", "CanaryResult", "ChangedValue", "CheckResult", "HistoryEvent",
                           "ImportResult", "LeftBinding", "MintCount", "NamingContext", "ResolverSettings",
                           "Transition", "ValueDigest", "Withdrawal"), "description.conversion")}


def __getattr__(name: str) -> object:
    # On first use only: the shell starts a process for each command and pays for every import.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "errors" if name.endswith("Error") else _HOMES.get(name, "description.facts")
    module, _, other = home.partition(":")
    attribute = other or name
    return getattr(__import__(f"{__name__}.{module}", fromlist=[attribute]), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
