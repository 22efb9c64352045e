"""The words of facts and the ontology's terms for them."""

from __future__ import annotations

from noidtools.exceptions import InvalidError

STATES = {"reserved": "pil:Reserved", "published": "pil:Published", "withdrawn": "noid:Withdrawn"}

POLICIES = {
    "label-format": "pil:LabelFormatPolicy",
    "access": "pil:AccessPolicy",
    "association": "pil:AssociationPolicy",
    "persistence": "noid:PersistenceCommitment",
}

ACTIONS = {
    "act": "pil:Act",
    "allocate": "pil:Allocate",
    "assign": "pil:Assign",
    "cite": "pil:Cite",
    "create": "pil:Create",
    "delegate": "pil:Delegate",
    "deregister": "pil:Deregister",
    "identify": "pil:Identify",
    "print-cite": "pil:PrintCite",
    "publish": "pil:Publish",
    "query": "pil:Query",
    "register": "pil:Register",
    "represent": "pil:Represent",
    "reserve": "pil:Reserve",
    "resolve": "pil:Resolve",
    "retrieve": "pil:Retrieve",
    "speech-cite": "pil:SpeechCite",
    "verify": "pil:Verify",
    "web-cite": "pil:WebCite",
}

# Those of the actions that are an Act, so that offering them makes an identifier actionable (9.8).
ACTS = frozenset(("act", "query", "resolve", "retrieve", "verify"))

QUALITIES = {
    "accountable": "pil:Accountable",
    "actionable": "pil:Actionable",
    "bound": "noid:Bound",
    "check-sound": "noid:CheckSound",
    "citable": "pil:Citable",
    "encoded": "pil:Encoded",
    "extensibly-actionable": "pil:ExtensiblyActionable",
    "internet-resolvable": "pil:InternetResolvable",
    "multiply-resolvable": "pil:MultiplyResolvable",
    "nameable": "pil:Nameable",
    "persistent": "pil:Persistent",
    "print-citable": "pil:PrintCitable",
    "published": "pil:Published",
    "registered": "pil:Registered",
    "reliable": "pil:Reliable",
    "reserved": "pil:Reserved",
    "resolvable": "pil:Resolvable",
    "retrievable": "pil:Retrievable",
    "speech-citable": "pil:SpeechCitable",
    "trusted": "pil:Trusted",
    "unique": "pil:Unique",
    "universal": "pil:Universal",
    "verifiable": "pil:Verifiable",
    "verified": "pil:Verified",
    "web-actionable": "pil:WebActionable",
    "web-citable": "pil:WebCitable",
    "web-resolvable": "pil:WebResolvable",
    "well-formed": "noid:WellFormed",
    "withdrawn": "noid:Withdrawn",
}

# The state decides about these; a statement of them alone makes nobody a member of the class.
BY_STATE = frozenset(("published", "registered", "reserved", "withdrawn"))


def word(table: dict[str, str], word: str, what: str) -> str:
    """The term for a word; one that is not in the table is refused with those that are."""
    try:
        return table[word]
    except KeyError:
        raise InvalidError(f"{word!r} is no {what}: it is one of {', '.join(table)}.") from None
