"""What administrators look after: who may do what, tokens, custodians and promises, and the log of who did what."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import islice

from ...api import MinterMethods
from ...description.conversion import HistoryEvent
from ...errors import UsageError
from ...minter.events import newest_number
from ...minter.policies import ADMIN, CLASSES, READ
from ..access import MinterAccess, classes_of
from ..response import Response
from .visit import Visit, link

# Tokens are made at the shell by whoever owns the files; here by those who may also admit anybody by the policy.
_POLICY = ("policy", "read", "anyone")
_CUSTODIAN = ("custodian",)
_SET_CUSTODIAN = ("custodian", "set", "NAME")
_LOG = ("log",)
_MINTING = ("publish", "reserve", "default")
_EVENTS = 50
_LOOKED_AT = 5000
_MOST_DIGITS, _DAYS_DIGITS = 12, 5


# -- access ----------------------------------------------------------------------------------------------------------


def show_access(visit: Visit) -> Response:
    """Who may do what, and the tokens."""
    access = visit.minter(*_POLICY)
    return _access_page(visit, access)


def _access_page(visit: Visit, access: MinterAccess, secret: str = "", token: str = "") -> Response:
    api = access.python()
    policy = api.policy()
    audiences = {name: " ".join(getattr(policy, name)) for name in CLASSES}
    return visit.page("access", access=access, offered=visit.offering(*_POLICY), policy=policy, audiences=audiences,
                      tokens=api.tokens(), classes=CLASSES, secret=secret, token=token)


def change_policy(visit: Visit) -> Response:
    """Save who may do what; raises UsageError for users who would lock themselves out."""
    access = visit.minter(*_POLICY)
    audiences = {name: visit.items(name) for name in CLASSES if visit.items(name)}
    minting, limit = visit.choice("minting", *_MINTING) or None, visit.number("mint_limit", _MOST_DIGITS)

    def work(api: MinterMethods) -> str:
        api.set_policy(**audiences, minting=minting, mint_limit=limit)  # type: ignore[arg-type]
        rules = access.minter.access_policy().rules
        if visit.request.token is None and not all(rules[name].admits(access.user) for name in (READ, ADMIN)):
            raise UsageError("you would lock yourself out: keep your own name among the readers and the administrators")
        return link("access", minter=access.name, done="policy")

    return visit.change(access, _POLICY, work)


def new_token(visit: Visit) -> Response:
    """Make a token, and show its secret, which is stored nowhere."""
    access = visit.minter(*_POLICY)
    name, days = visit.text("name"), visit.number("days", _DAYS_DIGITS)
    classes = visit.form.get("may", [])

    def work(api: MinterMethods) -> Response:
        expires = None if days is None else timedelta(days=days)
        secret = api.new_token(name, classes, expires=expires)  # type: ignore[arg-type]
        return _access_page(visit, access, secret, name)

    # The answer has the secret, and is therefore not kept for a repetition.
    return access.change("token", classes_of(*_POLICY), work)


def revoke_token(visit: Visit) -> Response:
    """End a token."""
    access = visit.minter(*_POLICY)

    def work(api: MinterMethods) -> str:
        api.revoke_token(visit.value("name"))
        return link("access", minter=access.name, done="revoked")

    return visit.change(access, _POLICY, work)


# -- custodians and promises -----------------------------------------------------------------------------------------


def show_promises(visit: Visit) -> Response:
    """Who is responsible for the names of a minter, and what is promised of them."""
    access = visit.minter(*_CUSTODIAN)
    api = access.python()
    return visit.page("promises", access=access, offered=visit.offering(*_CUSTODIAN), policy=api.policy(),
                      custodians=api.present_custodians(), may_appoint=access.may_give(*_SET_CUSTODIAN),
                      may_promise=access.may_give(*_POLICY), context=api.context())


def appoint(visit: Visit) -> Response:
    """Make somebody the custodian."""
    access = visit.minter(*_SET_CUSTODIAN)

    def work(api: MinterMethods) -> str:
        api.set_custodian(visit.text("name"), contact=visit.text("contact"), purpose=visit.text("purpose"))
        return link("promises", minter=access.name, done="custodian")

    return visit.change(access, _SET_CUSTODIAN, work)


def promise(visit: Visit) -> Response:
    """Save what is promised."""
    access = visit.minter(*_POLICY)

    def work(api: MinterMethods) -> str:
        text = visit.text("persistence")
        dates = {"start": visit.text("start") or None, "until": visit.text("until") or None} if text else {}
        api.set_policy(persistence=text or "default", association=visit.text("association") or "default",
                       **dates)  # type: ignore[arg-type]
        return link("promises", minter=access.name, done="policy")

    return visit.change(access, _POLICY, work)


# -- the log ---------------------------------------------------------------------------------------------------------


def show_log(visit: Visit) -> Response:
    """Who did what, the newest first."""
    access = visit.minter(*_LOG)
    who, action = visit.text("who"), visit.text("action")
    before = visit.number("before", _MOST_DIGITS) or access.minter.read(newest_number) + 1
    found, following = _before(access.python(), before, lambda event: who in event.who and action in event.action)
    return visit.page("log", access=access, offered=visit.offering(*_LOG), events=found, who=who, action=action,
                      following=link("log", minter=access.name, who=who, action=action, before=following)
                      if following > 1 else "")


def _before(
    api: MinterMethods, before: int, fits: Callable[[HistoryEvent], bool]
) -> tuple[list[HistoryEvent], int]:
    """Events with smaller numbers than one, the newest first, and the number before which to go on."""
    found: list[HistoryEvent] = []
    first = max(before - _LOOKED_AT, 1)
    while before > first and len(found) < _EVENTS:
        start = max(before - 2 * _EVENTS, first)
        page = list(islice(api.log(after=start - 1), before - start))
        for event in reversed(page):
            before = event.number
            if fits(event):
                found.append(event)
                if len(found) == _EVENTS:
                    break
        else:
            before = start
    return found, before
