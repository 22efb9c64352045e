"""Classes of commands, and the rules about who may use them."""

from __future__ import annotations

import pytest

from noidtools.commands import Invocation, all_commands
from noidtools.errors import ForbiddenError, InvalidError, LoginNeededError, TokenNeededError
from noidtools.minter import policies
from noidtools.minter.policies import ADMIN, BIND, MINT, READ, AccessPolicy, AccessRule


def test_the_classes_are_those_of_the_commands() -> None:
    assert policies.CLASSES == (READ, MINT, BIND, ADMIN)
    offered = [form for command in all_commands() if not command.shell_only for form in command.forms]
    assert {name for form in offered for name in form.access} == set(policies.CLASSES)


def classes(line: str) -> tuple[str, ...]:
    return Invocation(line.encode().split()).access


@pytest.mark.parametrize(("line", "needed"), [
    ("get id", (READ,)), ("fetch id", (READ,)), ("validate - id", (READ,)), ("help", (READ,)), ("hello", (READ,)),
    ("path id", (READ,)), ("dbinfo", (READ,)), ("dbinfo brief", (READ,)),
    ("dbinfo full", (ADMIN,)), ("dbinfo dump", (ADMIN,)), ("dbinfo nonsense", (ADMIN,)),
    ("note name text", (ADMIN,)), ("policy", (ADMIN,)), ("policy mint anyone", (ADMIN,)),
    ("mint 1", (MINT,)), ("peppermint 1", (MINT,)), ("mint 1 element value", (MINT, BIND)),
    ("mint --patience 5 1", (MINT,)), ("mint --patience=5 1 element value", (MINT, BIND)),
    ("mint --patience 5 1 element value", (MINT, BIND)),
    ("bind set id element value", (BIND,)), ("hold set id", (BIND,)), ("queue now id", (BIND,)),
    ("bind mint new element value", (MINT, BIND)), ("bind peppermint new element value", (MINT, BIND)),
])
def test_every_command_has_its_class(line: str, needed: tuple[str, ...]) -> None:
    assert classes(line) == needed


@pytest.mark.parametrize("name", [command.name for command in all_commands() if command.shell_only])
def test_local_commands_have_no_class_for_the_web(name: str) -> None:
    with pytest.raises(ForbiddenError, match="shell"):
        classes(name)


ALICE, NOBODY_KNOWN = b"alice", b""


@pytest.mark.parametrize(("given", "admitted", "refused"), [
    (["anyone"], [ALICE, NOBODY_KNOWN], []),
    (["authenticated"], [ALICE], [NOBODY_KNOWN]),
    (["nobody"], [], [ALICE, NOBODY_KNOWN]),
    (["alice"], [ALICE], [b"bob", NOBODY_KNOWN, b"ALICE", b"alic"]),
    (["alice", "bob"], [ALICE, b"bob"], [b"carol", b"alice bob", NOBODY_KNOWN]),
    (["user:anyone"], [b"anyone"], [ALICE, NOBODY_KNOWN]),
    (["user:alice"], [ALICE], [b"user:alice"]),
])
def test_a_rule_admits_whom_it_names(given: list[str], admitted: list[bytes], refused: list[bytes]) -> None:
    rule = AccessRule.parse([word.encode() for word in given])
    kept = AccessRule.unpacked(rule.packed())
    assert (kept.word, kept.users) == (rule.word, rule.users)
    assert all(rule.admits(user) for user in admitted)
    assert not any(rule.admits(user) for user in refused)


@pytest.mark.parametrize("given", [
    ["anyone", "alice"], ["alice", "nobody"], [""], ["al ice"], ["a\nb"], ["x" * 256], ["user:"],
])
def test_an_invalid_access_rule_is_refused(given: list[str]) -> None:
    with pytest.raises(InvalidError):
        AccessRule.parse([word.encode() for word in given])


def test_a_login_is_requested_only_where_it_would_help() -> None:
    rules = AccessPolicy({MINT: AccessRule(policies.NOBODY), BIND: AccessRule(users=(b"bob",)),
                          ADMIN: AccessRule(policies.AUTHENTICATED)})
    rules.ensure("get", (READ,), NOBODY_KNOWN)
    with pytest.raises(LoginNeededError, match="log in"):
        rules.ensure("note", (ADMIN,), NOBODY_KNOWN)
    with pytest.raises(LoginNeededError):
        rules.ensure("hold", (BIND,), NOBODY_KNOWN)
    with pytest.raises(TokenNeededError, match="the class mint is for nobody here: send a token"):
        rules.ensure("mint", (MINT,), NOBODY_KNOWN)
    for kind, name, user in [(MINT, "mint", ALICE), (BIND, "hold", ALICE)]:
        with pytest.raises(ForbiddenError) as caught:
            rules.ensure(name, (kind,), user)
        assert not isinstance(caught.value, LoginNeededError)
    rules.ensure("hold", (BIND,), b"bob")


def test_a_refusal_does_not_name_the_users_who_are_allowed() -> None:
    with pytest.raises(ForbiddenError) as caught:
        AccessPolicy({BIND: AccessRule(users=(b"bob",))}).ensure("hold", (BIND,), ALICE)
    assert "bob" not in caught.value.message


@pytest.mark.parametrize("line", [
    "custodian", "custodian show", "custodian x0", "custodian history x0", "custodian set Bob", "custodian remove x0",
])
def test_forms_of_custodian_are_of_class_read_if_they_write_nothing(line):
    invocation = Invocation(line.encode().split())
    assert (invocation.access == ("read",)) is not invocation.writes
