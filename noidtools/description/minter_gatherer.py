"""Reads all that is known of a minter, in a read transaction of it."""

from __future__ import annotations

import os

from .. import names
from ..minter import contexts, custody, policies, qualities
from ..minter.identifiers import identify
from ..minter.policies import PUBLISH, AccessPolicy, minting_policy
from .actions import minter_actions
from .facts import ContextClaim, MinterFacts, Party, Policy, QualityStatement, RelatedName
from .relation_gatherer import cited_name, gather_relations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from ..minter.custody import Custodian
    from ..store import Reader


def gather_minter(minter: Minter, reader: Reader) -> MinterFacts:
    """What is known of a minter."""
    settings = minter.settings
    namespace = _namespace(minter)
    bases = contexts.resolvers(reader)
    return MinterFacts(
        name=os.path.basename(os.path.abspath(minter.dbdir)).encode("utf-8", "surrogateescape") or b"minter",
        namespace=namespace,
        custodians=_minter_custodians(minter, reader),
        policies=_policies(minter, reader),
        initial_state="reserved" if minting_policy(reader) != PUBLISH else "published",
        authority="/".join(part for part in (settings["naa"], settings["subnaa"]) if part),
        names=(namespace.rstrip(b"/"),) if names.parse(namespace).scheme else (),
        context_aliases=_context_aliases(minter, reader),
        relations=_context_relations(minter, reader, namespace),
        actions=minter_actions(),
        qualities=stated(reader, qualities.MINTER),
        audiences=_audiences(reader),
        purpose=contexts.purpose(reader),
        base=bases[0].removesuffix(b"/").decode() + "/" if bases else "",
    )


def _namespace(minter: Minter) -> bytes:
    """What all identifiers of the minter begin with, as they are cited."""
    return cited_name(minter, minter.scheme.namespace_prefix)


def _context_aliases(minter: Minter, reader: Reader) -> tuple[ContextClaim, ...]:
    labels = minter.namespace.labels
    system = names.parse(labels[0] + b"1/x").scheme if labels else b""
    return tuple(
        ContextClaim(_with_scheme(system, claim.alias), _with_scheme(system, claim.target), claim.since,
                     claim.authority.encode())
        for claim in contexts.context_aliases(reader)
    )


def _context_relations(minter: Minter, reader: Reader, namespace: bytes) -> tuple[RelatedName, ...]:
    """The relations of the minter as a context, which are stored under what its names begin with."""
    context = namespace.rstrip(b"/")
    return gather_relations(minter, reader, identify(minter, reader, context).key, None) if context else ()


def _with_scheme(system: bytes, label: str) -> bytes:
    """The label of a context, with the scheme of the naming system where it has none."""
    text = label.encode()
    return text if names.parse(text).scheme or b":" in text else names.spelled(system, text)


def _minter_custodians(minter: Minter, reader: Reader) -> tuple[Party, ...]:
    """The custodians; where none answers for all that has no other, the authority for which the minter was created, or
    `unknown`.

    The account that created the minter is not published.
    """
    appointed = custody.custodians_of(reader, custody.MINTER)
    parties = tuple(party_of(custodian) for custodian in appointed)
    if any(not custodian.until and not custodian.purpose for custodian in appointed):
        return parties
    settings = minter.settings
    stand_in = Party(settings["naa"].encode() or b"unknown", start=settings["created"].encode(), appointed=False)
    return *parties, stand_in


def party_of(custodian: Custodian) -> Party:
    """A custodian among the facts."""
    return Party(custodian.name, custodian.contact, custodian.start, custodian.until, purpose=custodian.purpose)


def stated(reader: Reader, subject: bytes) -> tuple[QualityStatement, ...]:
    """What authorities state of a name, or of the minter."""
    return tuple(
        QualityStatement(found.quality, found.holds, found.authority, found.refinement, found.start, found.until)
        for found in qualities.stated_qualities(reader, subject)
    )


def has_present(custodians: list[Custodian]) -> bool:
    """Whether one of the custodians is in office."""
    return any(not custodian.until for custodian in custodians)


def _audiences(reader: Reader) -> tuple[tuple[str, str], ...]:
    """For whom each class of commands is; which users are admitted is not published, that only some are, is."""
    rules = AccessPolicy.of(reader).rules
    return tuple((name, rule.word.decode() or "certain users") for name, rule in rules.items())


def _policies(minter: Minter, reader: Reader) -> tuple[Policy, ...]:
    settings = minter.settings
    access = "; ".join(f"{name}: {audience}" for name, audience in _audiences(reader))
    found = [
        Policy("label-format", policies.label_format(minter), settings["scheme"].encode(),
               settings["template"].encode()),
        Policy("access", f"through the web, {access}".encode()),
    ]
    association = policies.association(reader)
    if association is not None:
        found.append(Policy("association", association))
    promise = policies.persistence(reader)
    if promise is not None:
        found.append(Policy("persistence", promise.text, start=promise.start, until=promise.until))
    return tuple(found)
