"""What a user may see is one decision: names that are not public are unknown to those who may only read.

A name is hidden on every interface in the same way: the answer is that of a name of which nothing is known.
"""

from __future__ import annotations

import json
import re

import pytest

from noidtools.commands import all_commands
from noidtools.minter.folder import SingleMinter
from noidtools.minter.policies import READ
from noidtools.web.resolver import Resolver
from support.minter import Noid
from support.wsgi import HTML, CommandClient, ResolverClient

NAAN = "13030"
# Never minted, held or bound, and of the form of this minter.
UNKNOWN = f"{NAAN}/f9999"
TARGET = "https://secret.example/"
# By kind, a name that is not public.
HIDDEN = {
    "reserved": f"{NAAN}/f0001", "reserved, never minted": f"{NAAN}/f0101", "held": f"{NAAN}/f0102",
    "queued": f"{NAAN}/f0103", "alias of a reserved name": f"{NAAN}/f0104", "peppered": f"{NAAN}/f0002",
}
PUBLIC, SUCCEEDED = f"{NAAN}/f0000", f"{NAAN}/f0003"

# Every command that anybody may use and that takes a name, and its queries with {} for the name.
QUERIES = {
    "fetch": ("fetch+{}", "fetch+{}+what", "fetch+ark:/{}", "fetch+{}!pepper"),
    "find": ("find+{}", "find+secret+plan+--prefix+{}", "find+--element+what=secret+--prefix+{}+--json"),
    "get": ("get+{}", "get+{}+_t", "get+{}+what+who", "get+--items+{}+what", "get+http://n2t.net/ark:/{}"),
    "validate": ("validate+-+{}", "validate+-+{}!pepper", "validate+fdddd+{}"),
    "decode": ("decode+{}", "decode+{}!pepper"),
    "path": ("path+{}", "path+ark:/{}"),
    "relations": ("relations+{}", "relations+ark:/{}"),
    "abstract": ("abstract+{}", "abstract+show+{}", "abstract+show+ark:/{}"),
    "quality": ("quality+{}", "quality+ark:/{}"),
    "verify": ("verify+{}", "verify+ark:/{}", "verify+{}+--quality+resolvable"),
    "tombstone": ("tombstone+{}", "tombstone+ark:/{}"),
    "history": ("history+{}", "history+{}+--json"),
    "custodian": ("custodian+{}", "custodian+show+{}", "custodian+history+{}"),
    "resolve": (
        "resolve+{}", "resolve+{}+--explain", "resolve+ark:/{}/page+--explain", "resolve+{}+--element+what",
        "resolve+{}!pepper"),
    "cite": ("cite+{}", "cite+{}!pepper"),
    "same": ("same+{}+ark:/{}", "same+{}+" + UNKNOWN.replace("9", "8"), f"same+{{}}+{PUBLIC}", f"same+{PUBLIC}+{{}}"),
    "describe": ("describe+{}", "describe+ark:/{}+--format+xml"),
}


@pytest.fixture(scope="module")
def minter(tmp_path_factory):
    folder = tmp_path_factory.mktemp("minters") / "f5"
    noid = Noid.created(folder, "--label", "ark:/", "f.sdddd", "long", NAAN, "a", "b")
    noid.mint(2)
    pepper = noid.records("peppermint", "1")[0]["id"].partition("!")[2]
    noid.mint(1)
    reserved = HIDDEN["reserved"]
    for name in (reserved, PUBLIC):
        for element, value in (("_t", TARGET), ("what", "A secret plan"), ("who", "Somebody")):
            noid.records("bind", "set", name, element, value)
    noid.records("bind", "set", f"{HIDDEN['peppered']}!{pepper}", "_t", TARGET)
    noid.records("custodian", "set", "Jo Keeper", reserved, "--contact", "jo@secret.example")
    noid.records("synonym", PUBLIC, reserved, "--authority", "The Library")
    noid.records("verify", "--record", reserved)
    noid.records("alias", HIDDEN["alias of a reserved name"], reserved)
    noid.records("withdraw", SUCCEEDED, "--reason", "gone", "--successor", reserved)
    noid.records("reserve", reserved, PUBLIC, HIDDEN["reserved, never minted"], f"{HIDDEN['peppered']}!{pepper}")
    noid.records("publish", PUBLIC)
    noid.records("hold", "set", HIDDEN["held"])
    noid.records("queue", "now", HIDDEN["queued"])
    yield noid
    noid.close()


@pytest.fixture(scope="module")
def minters(minter):
    opened = SingleMinter(str(minter.folder))
    minter.share(opened)
    return opened


@pytest.fixture(scope="module")
def commands(minter, minters):
    client = CommandClient(minter.folder.parent, minters)

    def ask(query: str, **options):
        return client.post(query, path="/noidu", user="") if options.pop("bulk", False) else client(
            query, path="/noidu", **options)

    assert ask(f"get+{PUBLIC}+what").text == "A secret plan\n"
    return ask


@pytest.fixture(scope="module")
def names(minters):
    return ResolverClient(Resolver(minters))


def body(response, name: str) -> tuple[int, str]:
    """Status and text of a response, in which the name does not matter."""
    text = response.text
    for spelled in (name.replace("/", "%2F"), name, name.partition("/")[2], _pairs(name)):
        text = text.replace(spelled, "NAME")
    return response.status, re.sub(r'foxtrot, [^"\n]*', "SPOKEN", text)


def _pairs(name: str) -> str:
    """As `path` writes the last part of a name."""
    return "/".join(re.findall("..?", name.partition("/")[2]))


def test_every_command_that_takes_a_name_and_is_open_to_readers_is_tried():
    taking = {command.name for command in all_commands() for form in command.forms
              if form.access == (READ,) and re.search(r"\b(Id|Name|Label)\b", form.usage)}
    assert taking == set(QUERIES)


@pytest.mark.parametrize("kind", HIDDEN)
@pytest.mark.parametrize("command", QUERIES)
def test_a_command_answers_for_a_hidden_name_as_for_an_unknown_one(commands, command, kind):
    name = HIDDEN[kind]
    for query in QUERIES[command]:
        for accept in ("", "application/json"):
            answers = [body(commands(query.format(spelled, spelled), accept=accept), spelled)
                       for spelled in (name, UNKNOWN)]
            assert answers[0] == answers[1], query
        line = query.replace("+", " ")
        bulk = [body(commands(line.format(spelled, spelled), bulk=True), spelled) for spelled in (name, UNKNOWN)]
        assert bulk[0] == bulk[1], query


@pytest.mark.parametrize("kind", HIDDEN)
@pytest.mark.parametrize("accept", ["*/*", HTML["HTTP_ACCEPT"], "application/json", "text/turtle",
                                    "application/ld+json", "application/rdf+xml"])
def test_the_resolver_answers_for_a_hidden_name_as_for_an_unknown_one(names, kind, accept):
    for query in ("", "?info", "?", "??", "/page", "/page?info", "?x=1", "!pepper", "!pepper?info"):
        hidden, unknown = (body(names(f"/ark:/{name}{query}", HTTP_ACCEPT=accept), name)
                           for name in (HIDDEN[kind], UNKNOWN))
        assert hidden == unknown and hidden[0] == 404, (query, hidden)


@pytest.mark.parametrize("name", [PUBLIC, SUCCEEDED])
def test_what_is_public_names_no_hidden_name(commands, names, name):
    texts = [commands(query.format(name, name), accept=accept).text
             for queries in QUERIES.values() for query in queries for accept in ("", "application/json")]
    texts += [names(f"/ark:/{name}{query}", HTTP_ACCEPT=accept).text for query in ("", "?info")
              for accept in ("*/*", "text/html", "application/json", "text/turtle")]
    for text in texts:
        assert not [hidden for hidden in HIDDEN.values() if hidden in text], text


def test_who_may_change_something_sees_hidden_names(commands, names):
    reserved = HIDDEN["reserved"]
    assert commands(f"get+{reserved}+what", user="alice").text == "A secret plan\n"
    for query in ("fetch+{}", "describe+{}", "history+{}", "relations+{}", "custodian+{}"):
        assert commands(query.format(reserved), user="alice").status == 200
    assert "reserved" in commands(f"resolve+{reserved}", user="alice").text
    assert "reserved" in names(f"/ark:/{reserved}", REMOTE_USER="alice").text
    assert "state: reserved" in names(f"/ark:/{HIDDEN['held']}?info", REMOTE_USER="alice").text


@pytest.mark.parametrize(("classes", "sees"), [("read", False), ("mint", True), ("read,bind", True)])
def test_a_token_sees_hidden_names_if_it_may_change_something(minter, commands, names, classes, sees):
    secret = minter.records("token", "new", classes.replace(",", "-"), "--may", classes)[0]["token"]
    bearer = {"HTTP_AUTHORIZATION": f"Bearer {secret}"}
    assert (commands(f"get+{HIDDEN['reserved']}+what", **bearer).status == 200) is sees
    assert ("reserved" in names(f"/ark:/{HIDDEN['reserved']}", **bearer).text) is sees


def test_a_canary_that_is_not_public_is_not_among_those_that_readers_see(tmp_path):
    noid = Noid.created(tmp_path / "f5", "f.sdddd")
    secret, public = noid.mint(2)
    for name, target in ((secret, TARGET), (public, "https://open.example/")):
        noid.records("bind", "set", name, "_t", target)
        noid.records("resolver", "canary", name)
    noid.records("reserve", secret)
    minters = SingleMinter(str(noid.folder))
    noid.share(minters)
    client = CommandClient(tmp_path, minters)
    told = client("canary", path="/noidu")
    assert told.status == 200 and public in told.text and secret not in told.text and TARGET not in told.text
    assert f"{secret} leads to reserved, not to {TARGET}" in client("canary", path="/noidu", user="alice").text
    noid.records("resolver", "canary", public, "-")
    assert "there are no canaries" in client("canary", path="/noidu").text
    noid.close()


def test_a_mistyped_name_is_not_corrected_to_a_hidden_one(tmp_path):
    noid = Noid.created(tmp_path / "f5", "--label", "ark:/", "f5.reedeedk", "long", NAAN, "a", "b")
    (name,) = noid.mint()
    noid.records("bind", "set", name, "_t", TARGET)
    minters = SingleMinter(str(noid.folder))
    noid.share(minters)
    web = ResolverClient(Resolver(minters))
    mistyped = f"/{name[:-2]}{'b' if name[-2] != 'b' else 'c'}{name[-1]}"
    assert f"meant: {name}\n" in web(mistyped).text
    noid.records("reserve", name)
    assert name not in web(mistyped).text and web(mistyped).status == 404
    assert f"meant: {name}\n" in web(mistyped, REMOTE_USER="alice").text
    noid.close()


def test_archives_are_read_for_those_alone_who_may_do_more_than_read(tmp_path):
    """They may have any length, and would be read for each request."""
    noid = Noid.created(tmp_path / "f5", "f.sdddd")
    name = noid.mint_with_target("https://open.example/")
    noid.records("bind", "set", name, "what", "x" * 200)
    noid.records("note", "a", "b")
    noid("log", "--archive", "2100", "old.jsonl")
    minters = SingleMinter(str(noid.folder))
    noid.share(minters)
    client = CommandClient(tmp_path, minters)
    told, whole = (client(f"history+{name}", path="/noidu", user=user) for user in ("", "alice"))
    assert told.status == whole.status == 200 and "x" * 200 in whole.text
    assert "x" * 200 not in told.text and told.text.count("the rest is in an archive") == 1
    noid.close()


# -- who made a change ---------------------------------------------------------------------------------------------

# The account that made the minter and its names, by shell; and a user, by URL.
ACCOUNT, ADDRESS = "me/us", "192.0.2.7"


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A minter without an authority, a name that the user carol changed, and an event of it in an archive."""
    noid = Noid.created(tmp_path_factory.mktemp("minters") / "f5", "--label", "ark:/", "f.sdddd", "medium", NAAN)
    name = noid.mint_with_target("https://open.example/")
    noid.records("policy", "admin", "boss")
    noid.records("bind", "set", name, "what", "x" * 200)
    noid.records("note", "a", "b")
    noid("log", "--archive", "2100", "old.jsonl")
    minters = SingleMinter(str(noid.folder))
    noid.share(minters)
    client = CommandClient(noid.folder.parent, minters)
    assert client(f"bind+set+{name}+_t+https://new.example/", user="carol", path="/noidu").status == 200
    yield name.removeprefix("ark:/"), client, ResolverClient(Resolver(minters))
    noid.close()


@pytest.mark.parametrize("user", ["", "carol"])
def test_accounts_and_addresses_are_not_for_those_who_do_not_administer(changed, user):
    name, client, resolver = changed
    queries = [query.format(*(name,) * query.count("{}")) for group in QUERIES.values() for query in group]
    answers = [client(query, path="/noidu", user=user, accept=accept)
               for query in (*queries, "dbinfo", "describe", "custodian", "custodian+history")
               for accept in ("", "application/json")]
    answers += [resolver(f"/ark:/{name}?info", HTTP_ACCEPT=accept, REMOTE_USER=user)
                for accept in ("*/*", "text/html", "application/json", "text/turtle", "application/ld+json")]
    for answer in answers:
        assert not [word for word in (ACCOUNT, ADDRESS, "carol@") if word in answer.text], answer
    told = client(f"history+{name}", path="/noidu", user=user)
    assert "what: bind set" in told.text and "date: " in told.text and "who:" not in told.text
    assert re.search(r"Circ: +i\|\d{14}\|\|1$", client(f"fetch+{name}", path="/noidu", user=user).text, re.MULTILINE)
    assert re.search(r"Changed: \d{14}$", client("dbinfo", path="/noidu", user=user).text, re.MULTILINE)


def test_administrators_see_who_made_a_change(changed):
    name, client, resolver = changed
    told = client(f"history+{name}", path="/noidu", user="boss").text
    assert f"who: carol@{ADDRESS}\n" in told and f"who: {ACCOUNT}\n" in told and "x" * 200 in told
    assert f"|{ACCOUNT}|1" in client(f"fetch+{name}", path="/noidu", user="boss").text
    info = client("dbinfo", path="/noidu", user="boss").text
    assert f"Creator: {ACCOUNT}" in info and f" by carol@{ADDRESS}" in info
    assert f"carol@{ADDRESS}" in resolver(f"/ark:/{name}?info", HTTP_ACCEPT="text/turtle", REMOTE_USER="boss").text


# -- who may not read --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accept", ["*/*", "text/html", "application/json", "text/turtle", "application/ld+json",
                                    "application/rdf+xml"])
def test_who_may_not_read_is_told_targets_and_nothing_else(tmp_path, accept):
    noid = Noid.created(tmp_path / "f5", "--label", "ark:/", "f5.reedeedk", "long", NAAN, "The Authority", "b")
    name, withdrawn = noid.mint(2)
    noid.records("bind", "set", name, "_t", "https://open.example/")
    noid.records("bind", "set", name, "what", "Secret title")
    noid.records("custodian", "set", "Secret Keeper", name, "--contact", "secret@keeper.example")
    noid.records("custodian", "set", "Secret House", "--contact", "secret@house.example")
    noid.records("synonym", name, "hdl:100/secret", "--authority", "Secret Authority")
    noid.records("alias", "secret/alias", name)
    noid.records("context", "alias", "secret.context", "100", "--authority", "Secret Who")
    noid.records("policy", "association", "Secret association")
    noid.records("policy", "persistence", "Secret promise")
    noid.records("verify", "--record", name)
    noid.records("withdraw", withdrawn, "--reason", "Given twice.", "--successor", name)
    minters = SingleMinter(str(noid.folder))
    noid.share(minters)
    web = ResolverClient(Resolver(minters))
    public = web(f"/{name}?info", HTTP_ACCEPT=accept).text
    assert "ecret" in public
    noid.records("policy", "read", "joe")
    for query in ("?info", "/page?info"):
        answer = web(f"/{name}{query}", HTTP_ACCEPT=accept)
        assert answer.status == 200 and "https://open.example/" in answer.text
        assert "ecret" not in answer.text and "The Authority" not in answer.text and "joe" not in answer.text
    assert "Given twice." in web(f"/{withdrawn}", HTTP_ACCEPT=accept).text
    assert web(f"/{name}", HTTP_ACCEPT=accept, REMOTE_USER="joe").status in (302, 303)
    assert re.sub(r"joe|anyone|certain users", "", web(f"/{name}?info", HTTP_ACCEPT=accept, REMOTE_USER="joe").text
                  ).count("ecret") == public.count("ecret")
    noid.close()


def test_json_for_who_may_not_read_has_only_these_fields(tmp_path):
    noid = Noid.created(tmp_path / "f5", "--label", "ark:/", "f5.reedeedk", "long", NAAN, "a", "b")
    name = noid.mint_with_target("https://open.example/")
    noid.records("policy", "read", "nobody")
    minters = SingleMinter(str(noid.folder))
    noid.share(minters)
    facts = json.loads(ResolverClient(Resolver(minters))(f"/{name}?info", HTTP_ACCEPT="application/json").text)
    assert set(facts) == {"id", "where", "state", "targets", "elements"} and facts["elements"] == []
    noid.close()
