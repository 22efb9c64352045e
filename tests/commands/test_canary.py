"""The command canary."""

from __future__ import annotations

from support.templates import LONG_TERM

A, B = "https://a.example/", "https://b.example/"


def test_canaries_that_resolve_to_another_target_are_reported(noid):
    noid("dbcreate", *LONG_TERM)
    (name,) = noid.ids(1)
    noid("bind", "set", name, "_t", A)
    assert noid("canary").startswith("note: ")
    noid("resolver", "canary", f"ark:/{name}")
    noid("resolver", "canary", "ark:/13030/nothing", "not found")
    assert noid("canary") == f"ok: ark:/{name} leads to {A}\nok: ark:/13030/nothing leads to not found\n\n"
    assert f"canary: ark:/{name} {A}\n" in noid("resolver")
    noid("bind", "set", name, "_t", B)
    done = noid.run("canary")
    assert done.returncode == 1
    assert f"error: ark:/{name} leads to {B}, not to {A}\n" in done.stdout.decode()
    noid("resolver", "canary", f"ark:/{name}", "-")
    assert noid("canary") == "ok: ark:/13030/nothing leads to not found\n\n"
