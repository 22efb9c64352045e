"""The examples of the PILIN ontology of identifier systems, under the numbers of its sections."""

from __future__ import annotations

import pytest

from support.documents import Step, play

SAME, NOT_SAME = "same: yes\n…", "same: no\n…"
KERRY = [
    Step("dbcreate --label http://purl.kerry.org/", "…"),
    Step("bind set xyzzy _t https://books.example/xyzzy", "…"),
    Step("bind set elite _t https://books.example/elite", "…"),
    Step("""abstract context "Kerry's Library" --authority Kerry""", "…"),
    Step("""relate http://purl.kerry.org realises "Kerry's Library" --authority Kerry""", "ok: …"),
    Step("""relate hdl:100 realises "Kerry's Library" --authority Kerry""", "ok: …"),
    Step("""abstract identifier "Kerry's Library:xyzzy" --authority Kerry""", "…"),
    Step("""abstract identifier "Kerry's Library:elite" --authority Kerry""", "…"),
    Step("""relate http://purl.kerry.org/xyzzy realises "Kerry's Library:xyzzy" --authority Kerry""", "ok: …"),
    Step("""relate hdl:100/xyzzy realises "Kerry's Library:xyzzy" --authority Kerry""", "ok: …"),
    Step("""relate http://purl.kerry.org/elite realises "Kerry's Library:elite" --authority Kerry""", "ok: …"),
    Step("synonym hdl:100/7334 http://purl.kerry.org/elite --authority Kerry", "…"),
]

SESSIONS = {
    "5.5 an alias follows its target, not the other way round": [
        Step("dbcreate", "…"), Step("bind set target _t https://a.example/", "…"), Step("alias alias target", "…"),
        Step("resolve alias", "https://a.example/\n"), Step("bind set target _t https://b.example/", "…"),
        Step("resolve alias", "https://b.example/\n"), Step("bind set other _t https://c.example/", "…"),
        Step("alias alias other", "…"), Step("resolve target", "https://b.example/\n"),
    ],
    "5.7.1 representations of a name": [
        Step(f"same hdl:102.100.272/XY/ZZY {other}", SAME)
        for other in ("hdl:102.100.272/XY%2FZZY", "info:hdl:102.100.272/XY/ZZY", "hdl%3A102.100.272%2FXY%2FZZY")
    ],
    "5.7.2 an implicit context": [
        Step("same hdl:102.100.272/XYZZY info:hdl:102.100.272/XYZZY", SAME),
        Step("same 102.100.272/XYZZY hdl:102.100.272/XYZZY", "same: no\n…would be the same name…", status=1),
        Step("dbcreate --label hdl: --scheme pilin --prefix 102.100.272", "…"),
        Step("same 102.100.272/XYZZY hdl:102.100.272/XYZZY", SAME),
        Step("same XYZZY hdl:102.100.272/XYZZY", "same: no\n…leaves its context unsaid…", status=1),
    ],
    "6.3 two servers of Monash University": [
        Step("dbcreate --label hdl:", "…"), Step("abstract context Monash --authority 'Monash University'", "…"),
        Step("relate hdl:1959 realises Monash --authority 'Monash University'", "ok: …"),
        Step("relate http://purl.monash.example realises Monash --authority 'Monash University'", "ok: …"),
        Step("relations Monash", "…hdl:1959…http://purl.monash.example…"),
    ],
    "7.1 a context and an identifier realise abstract ones": [
        *KERRY, Step("relations http://purl.kerry.org/xyzzy", "…realises…Kerry's Library:xyzzy…"),
        Step("relations http://purl.kerry.org", "…realises…Kerry's Library…"),
    ],
    "7.2 homologues in the scope of Kerry's Library": [
        *KERRY, Step("same http://purl.kerry.org/xyzzy hdl:100/xyzzy",
                     "same: no\n…homologues (7.2)…in the scope of Kerry's Library\n…", status=1),
        Step("""same http://purl.kerry.org/xyzzy "Nigel's Library:xyzzy" """, "same: no\n…", status=1),
    ],
    "10.1 hdl: and info:hdl:": [Step("same hdl:102.100.272/XYZZY info:hdl:102.100.272/XYZZY", SAME)],
    "10.2 the URL-encoded form": [Step("same hdl:102.100.272/XYZZY hdl%3A102.100.272%2FXYZZY", SAME)],
    "10.3 an alias of a context": [
        Step("dbcreate --label hdl:", "…"),
        Step("same hdl:102.100.archer/XYZZY hdl:102.100.821/XYZZY", NOT_SAME, status=1),
        Step("context alias 102.100.archer 102.100.821 --authority ARCHER", "…"),
        Step("same hdl:102.100.archer/XYZZY hdl:102.100.821/XYZZY", "same: yes\nwhy: According to ARCHER …"),
        Step("same hdl:102.100.archer/XYZZY 102.100.821/XYZZY", "same: yes\n…According to ARCHER …"),
    ],
    "10.4 names in two concrete systems": [
        Step("same http://purl.kerry.org/XYZZY hdl:/100/XYZZY", "same: no\n…homologues at most…", status=1),
    ],
    "11 another label is a synonym and no homologue": [
        *KERRY,
        Step("same hdl:100/7334 http://purl.kerry.org/elite", "same: no\n…synonyms (5.4), according to Kerry\n…",
             status=1),
        Step("relate hdl:100/7334 homologue http://purl.kerry.org/elite --authority Kerry", "error: …synonym…\n",
             status=1),
        Step("""relate hdl:100/7334 realises "Kerry's Library:elite" --authority Kerry""", "error: …synonym…\n",
             status=1),
        # The same label in both systems is no homology by itself.
        Step("same http://purl.kerry.org/elite hdl:100/elite", "same: no\nwhy: …\n\n", status=1),
    ],
}


@pytest.mark.parametrize("steps", SESSIONS.values(), ids=list(SESSIONS))
def test_session(noid, steps):
    play(noid, steps)


# 9: each action, by the command that performs it, and what it did, on a name that was minted and bound.  Retrieving
# (9.10) is in test_verify_links.py, because it needs a server.
NAME = "13030/f54x54g11"
VERIFIED = "id: 13030/f54x54g11\nregistered: holds (9.3)\n…resolvable: holds (9.9)\n…answer: yes\n…"
ACTIONS = {
    "9.1 cite": [Step(f"cite {NAME}", f"canonical: ark:/{NAME}\n…")],
    "9.2 create": [
        Step("mint 1", "id: 13030/f5154dn7k\n\n"),
        Step("history 13030/f5154dn7k", "event: …what: mint\n…"),
    ],
    "9.3 register": [
        Step("verify 13030/f5154dn7k --quality registered", "…answer: no\n…", status=1),
        Step("hold set 13030/f5154dn7k", "ok: 1 hold placed\n\n"),
        Step("verify 13030/f5154dn7k --quality registered", "…answer: yes\n…"),
    ],
    "9.4 deregister": [
        Step(f"withdraw {NAME}", f"id: {NAME}\nState: withdrawn\n…"),
        Step(f"verify {NAME} --quality registered", "…answer: no\n…", status=1),
    ],
    "9.5 reserve": [
        Step(f"reserve {NAME}", f"id: {NAME}\nState: reserved\n\n"),
        Step(f"resolve {NAME}", "error: …is reserved…\n", status=1),
    ],
    "9.6 publish": [
        Step(f"reserve {NAME}", "…"), Step(f"publish {NAME}", f"id: {NAME}\nState: published\n\n"),
        Step(f"resolve {NAME}", "https://a.example/\n"),
    ],
    "9.7 identify": [
        Step(f"bind set {NAME} what 'A book'", "…Status:  ok, 6 bytes written…"), Step(f"get {NAME} what", "A book\n"),
    ],
    "9.8 act": [Step(f"describe {NAME}", "…pil:actionInActionable …action-resolve…")],
    "9.9 resolve": [Step(f"resolve {NAME}", "https://a.example/\n")],
    "9.11 query": [Step(f"fetch {NAME}", f"id:    {NAME} hold\nCirc: …\n_t: https://a.example/\n\n")],
    "9.12 verify": [Step(f"verify {NAME}", VERIFIED), Step("verify 13030/f5z5", "…answer: no\n…", status=1)],
}


@pytest.mark.parametrize("action", ACTIONS)
def test_action(noid, action):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    noid("mint", "1")
    noid("bind", "set", NAME, "_t", "https://a.example/")
    noid("custodian", "set", "The desk", "--contact", "mailto:desk@a.example")
    noid("policy", "persistence", "Kept for good.")
    play(noid, ACTIONS[action])


def test_9_4_nothing_is_done_to_what_was_deregistered(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    noid("mint", "2")
    noid("withdraw", NAME)
    for line in ("reserve", "publish", "resolve", "bind set"):
        words = [*line.split(), NAME, *(("what", "x") if line == "bind set" else ())]
        assert "withdrawn" in noid.refused(*words, status=1), line
    assert "registered: fails" in noid.run("verify", NAME).stdout.decode()
