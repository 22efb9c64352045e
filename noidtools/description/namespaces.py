"""What is known of a shoulder or a NAAN that is served here: who is responsible for it, and what is promised for its
names.  The names themselves are not listed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from .. import names
from ..codec import decode_text
from ..minter import Minter
from ..names import Name
from ..store import Reader
from .conversion import timestamp_text
from .formats import KERNEL, anvl_text, promise_of
from .gatherer import gather_minter
from .missing import UNAVAILABLE

SHOULDER, NAAN = "shoulder", "NAAN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shoulder:
    """What identifiers of one minter begin with, and what is known of it.

    name       as it is cited, such as `ark:/13030/kt`
    authority  naming authority and sub-authority for which it was created
    custodian, contact   who answers for it now
    purpose    what its names are for
    form       the format of its labels
    created    when the minter was created, in fourteen digits
    promise, since   what is promised about the persistence of its names, and from when on
    """

    name: str
    authority: str
    custodian: str
    contact: str
    purpose: str
    form: str
    created: str
    promise: str
    since: str


@dataclass(frozen=True, slots=True)
class NamespaceDescription:
    """A shoulder, or a NAAN with its shoulders; `kind` is SHOULDER or NAAN."""

    name: str
    kind: str
    shoulders: tuple[Shoulder, ...]

    @property
    def kernel(self) -> dict[str, str]:
        """The elements who, what and when of a citation."""
        shoulders = self.shoulders
        purposes = _joined(one.purpose for one in shoulders)
        values = (_joined(one.custodian or one.authority for one in shoulders),
                  f"the {self.kind} {self.name}{purposes and f', for {purposes}'}",
                  min(one.created for one in shoulders))
        return {name: value or UNAVAILABLE for name, value in zip(KERNEL, values, strict=False)}


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(text for text in texts if text))


def kind_of(minter: Minter, name: Name) -> str:
    """What a name is to a minter: its SHOULDER, its NAAN, or neither."""
    prefix = minter.scheme.namespace_prefix
    own = names.parse(minter.namespace.cite(prefix).rstrip(b"/"))
    if not prefix or name.scheme not in (own.scheme, b"", *((b"ark",) if minter.settings["naan"] else ())):
        return ""
    body = name.body.rstrip(b"/")
    naan = minter.settings["naan"].encode()
    if body.lower() == naan.lower() and naan:
        return NAAN
    return SHOULDER if body == own.body else ""


def gather_shoulder(minter: Minter, reader: Reader) -> Shoulder:
    """What readers may know of the shoulder of a minter."""
    facts = gather_minter(minter, reader)
    custodian = next((one for one in reversed(facts.custodians) if one.appointed and not one.until and not one.purpose),
                     None)
    promise = promise_of(facts)
    form = next((policy.text for policy in facts.policies if policy.kind == "label-format"), "")
    return Shoulder(
        name=facts.namespace.rstrip("/"), authority=facts.authority, custodian=custodian.name if custodian else "",
        contact=custodian.contact if custodian else "", purpose=facts.purpose, form=form,
        created=minter.settings["created"], promise=promise.text if promise else "",
        since=timestamp_text(promise.start) if promise and promise.start else "",
    )


def describe_namespace(kind: str, minter: Minter, shoulders: list[Shoulder]) -> NamespaceDescription:
    """A shoulder or a NAAN, of which these are the shoulders; `minter` is one of its minters."""
    name = shoulders[0].name
    if kind == NAAN:
        prefix = minter.scheme.namespace_prefix.partition(b"/")[0]
        name = decode_text(minter.namespace.cite(prefix + b"/").rstrip(b"/"))
    return NamespaceDescription(name, kind, tuple(sorted(shoulders, key=lambda one: one.name)))


# -- text and data ---------------------------------------------------------------------------------------------------


def namespace_text(facts: NamespaceDescription, address: str) -> bytes:
    """An electronic resource citation of a shoulder or a NAAN; `address` is its URL."""
    lines = [("erc", ""), *facts.kernel.items(), ("where", address)]
    for one in facts.shoulders:
        support = (one.custodian or one.authority, one.promise, one.since, f"{address}?info")
        lines += [("", ""), ("erc-support", ""),
                  *((name, value or UNAVAILABLE) for name, value in zip(KERNEL, support, strict=True)),
                  (SHOULDER, one.name), ("authority", one.authority), ("contact", one.contact),
                  ("purpose", one.purpose), ("form", one.form), ("created", one.created)]
    return anvl_text((name, value) for name, value in lines if value or name in ("", "erc", "erc-support"))


def namespace_data(facts: NamespaceDescription, address: str) -> dict[str, object]:
    """The same as JSON objects hold it; what is empty is left out."""
    shoulders = [{{"name": "id"}.get(key, key): value for key, value in asdict(one).items() if value}
                 for one in facts.shoulders]
    return {"id": facts.name, "kind": facts.kind.lower(), "where": address, **facts.kernel, "shoulders": shoulders}
