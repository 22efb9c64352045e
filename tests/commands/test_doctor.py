"""The command doctor gathers what other checks find, in one report with one exit status; promise and site are what
policy and context did."""

from __future__ import annotations

import pytest

from noidtools.commands import all_commands


def report(noid, *words: str) -> dict[str, list[str]]:
    """The findings of doctor by their level; the exit status must agree with them."""
    done = noid.run("doctor", *words)
    assert done.stderr == b""
    found: dict[str, list[str]] = {}
    for line in done.stdout.decode().splitlines():
        level, _, text = line.partition(": ")
        if line:
            found.setdefault(level, []).append(text)
    assert done.returncode == ("error" in found), done.stdout
    return found


def test_a_sound_minter_with_a_backup_has_nothing_but_ok(noid, tmp_path):
    noid("dbcreate", "kt.reeded")
    name = noid.ids(1)[0]
    noid("bind", "set", name, "_t", "https://example.org/1")
    noid("resolver", "canary", name)
    before = noid("log")
    assert report(noid)["warning"] == ["no backup of the minter is known: run 'noid backup Dest'"]
    noid("backup", str(tmp_path / "copy"))
    found = report(noid)
    assert list(found) == ["ok"] and f"{name} leads to https://example.org/1" in found["ok"]
    assert any("is sound" in text for text in found["ok"]) and noid("log") == before


def test_a_canary_that_leads_elsewhere_is_an_error_with_its_remedy(noid):
    noid("dbcreate", "kt.reeded")
    name = noid.ids(1)[0]
    noid("bind", "set", name, "_t", "https://example.org/1")
    noid("resolver", "canary", name, "https://example.org/2")
    (error,) = report(noid)["error"]
    assert error.endswith(f"not to https://example.org/2: run 'noid resolve --explain {name}'")


def test_all_minters_of_a_folder_are_examined(noid, tmp_path):
    (tmp_path / "minters").mkdir()
    for name in ("kt5", "fk4"):
        noid("-f", str(tmp_path / "minters" / name), "dbcreate", f"{name}.rdd")
    found = report(noid, "--minters", str(tmp_path / "minters"))
    for name in ("kt5", "fk4"):
        assert any(text.startswith(f"the database of the minter {name} is sound") for text in found["ok"])
        assert any(f"no backup of the minter {name}" in text for text in found["warning"])


@pytest.mark.only("lmdb")
def test_a_damaged_database_is_an_error(noid, tmp_path):
    (tmp_path / "minters").mkdir()
    noid("-f", str(tmp_path / "minters" / "kt5"), "dbcreate", "kt.rdd")
    (tmp_path / "minters" / "kt5" / "NOID" / "data.mdb").write_bytes(b"no database")
    assert any("kt5" in text for text in report(noid, "--minters", str(tmp_path / "minters"))["error"])


def test_where_there_is_no_minter_it_says_so(noid):
    assert noid.refused("doctor", status=1).startswith("there is no minter in")
    assert "nowhere" in noid.refused("doctor", "--minters", "/nowhere")


def test_promises_are_set_and_shown_by_promise_and_by_policy(noid):
    noid("dbcreate", "kt.reeded")
    assert noid("promise") == "minting: publish\n\n"
    set_by_promise = noid("promise", "association", "books of the library")
    assert set_by_promise == noid("policy", "association") == "association: books of the library\n\n"
    assert noid("policy", "minting", "reserve") == noid("promise", "minting") == "minting: reserve\n\n"
    noid("promise", "minting", "default")
    assert "association: books of the library\n" in noid("policy")


def test_the_public_address_is_set_by_site_and_by_context(noid):
    noid("dbcreate", "kt.reeded", "long", "13030", "a", "b")
    assert "site url Url" in noid("site")
    assert noid("site", "url", "https://id.example.org/") == "url: https://id.example.org/\n\n" == noid("site")
    assert "resolver: https://id.example.org/\n" in noid("context")
    noid("context", "resolver", "https://other.example.org/")
    assert noid("site", "url") == "url: https://other.example.org/\n\n"
    noid("site", "url", "-")
    assert "note: no address" in noid("site")


def test_help_leaves_out_what_another_command_has_taken_over(noid):
    superseded = [form for command in all_commands() for form in command.forms if form.superseded]
    assert superseded
    assert "persistence" not in noid("help", "policy") and "persistence" in noid("help", "promise")
    assert "context resolver" not in noid("help", "context")
