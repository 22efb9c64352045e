"""The persistent pointer of a name, the address that `cite` prints, is read back by every command."""

from __future__ import annotations

import pytest

from support.minter import Noid

COMPUTER = ("--scheme", "ibi", "--computer", "mtc-m18.sid.inpe.br")
ADDRESS = ("--scheme", "ibip", "--ip", "150.163.34.243")
RESOLVERS = ["http://urlib.net/", "https://id.example.org/names", "https://id.example.org/names/"]


def web_form(noid: Noid, name: str) -> str:
    (form,) = (line[len("web: ") :] for line in noid("cite", name).splitlines() if line.startswith("web: "))
    return form


@pytest.mark.parametrize("resolver", RESOLVERS)
@pytest.mark.parametrize(("words", "capital"), [
    (COMPUTER, str.upper), (ADDRESS, str.lower), (("kt.reeded",), str), (("--label", "x-", "kt.sdd"), str),
])
def test_every_command_knows_the_pointer(timed, words, capital, resolver):
    timed("dbcreate", *words)
    (name,) = timed.ids(1)
    timed("context", "resolver", resolver)
    timed("bind", "set", name, "_t", "https://target.example/")
    pointer = web_form(timed, name)
    assert pointer == resolver.rstrip("/") + "/" + name
    host = resolver.partition("//")[2].rstrip("/")
    other = "HTTPS://" + host.upper() + "/" + capital(name)
    for spelling in (pointer, other):
        assert web_form(timed, spelling) == pointer
        assert timed("get", spelling, "_t") == "https://target.example/\n"
        assert timed("resolve", spelling) == "https://target.example/\n"
        assert timed("validate", "-", spelling) == f"id: {name}\n"
        assert timed("same", spelling, name).startswith("same: yes\n")
        assert timed("path", spelling) == timed("path", name)
        assert f"\nwhat: bind set\nid: {name}\n" in timed("history", spelling)
    assert timed("resolve", pointer + "/page.html") == "https://target.example/page.html\n"
    timed("bind", "append", pointer, "_t", "more")
    assert timed("get", name, "_t") == "https://target.example/more\n"
    timed("alias", "old", pointer)
    assert timed("resolve", "old") == "https://target.example/more\n"


@pytest.mark.parametrize(("words", "inflection"), [
    (COMPUTER, "??"), (ADDRESS, "?info"), (("kt.reeded",), "?"), (("f5.reedeedk", "medium", "13030"), "??"),
    (("f5.reedeedk", "medium", "13030"), "?info"), (("f5.reedeedk", "medium", "13030"), "?"), ((), "?info"),
    (("--label", "ark:/", "f5.rd", "medium", "13030"), "?info"),
    (("--scheme", "pilin", "--prefix", "102.100.272"), "?"),
], ids=str)
def test_every_command_reads_the_pointer_to_the_metadata_of_a_name_as_the_name(timed, words, inflection):
    timed("dbcreate", *words)
    (name,) = timed.ids(1)
    timed("context", "resolver", "http://urlib.net/")
    pointer = web_form(timed, name)
    for spelling in (name + inflection, pointer + inflection):
        assert timed("bind", "set", spelling, "_t", "https://target.example/").startswith(f"Id:      {name}\n")
        assert timed("fetch", spelling) == timed("fetch", name)
        assert timed("get", spelling, "_t") == "https://target.example/\n"
        assert timed("validate", "-", spelling) == f"id: {name}\n"
        assert timed("cite", spelling) == timed("cite", name)
        assert timed("resolve", spelling) == "https://target.example/\n"
        assert timed("history", spelling) == timed("history", name)
        assert timed("describe", spelling) == timed("describe", name)
        assert timed("same", spelling, name).startswith("same: yes\n")
        if words in (COMPUTER, ADDRESS):
            assert timed("decode", spelling) == timed("decode", name)
    assert "nothing is wrong" in timed("check")


@pytest.mark.parametrize("inflection", ["??", "?info"])
def test_the_pointer_to_the_metadata_of_an_unknown_name_is_that_name(timed, inflection):
    timed("dbcreate", *COMPUTER)
    label, other = "sid.inpe.br/mtc-m18/2010/10.20.15.28", "8JMKD3MGP8W/34PGRBS"
    pointer = f"http://urlib.net/sid.inpe.br/mtc-m18@80/2010/10.20.15.28{inflection}"
    assert timed("cite", pointer).startswith(f"canonical: {label}\n")
    assert timed("cite", other + inflection).startswith(f"canonical: {other}\n")
    assert timed("cite", f"ark:/12345/x{inflection}").startswith("canonical: ark:/12345/x\n")
    assert timed("bind", "set", pointer, "_t", "x").startswith(f"Id:      {label}\n")
    assert timed("decode", pointer) == timed("decode", label)


def test_in_a_minter_without_a_template_a_name_may_end_in_question_marks(timed):
    timed("dbcreate")
    timed("bind", "set", "What is truth?", "e", "v")
    timed("bind", "set", "Really??", "e", "w")
    assert timed("get", "What is truth?", "e") == "v\n" and timed("get", "Really??", "e") == "w\n"


@pytest.mark.parametrize(("words", "label"), [
    (COMPUTER, "sid.inpe.br/mtc-m18/2009/02.16.17.46"), (ADDRESS, "8JMKD3MGP8W/34PGRBS"),
])
def test_decode_reads_the_pointer_with_and_without_a_minter(timed, words, label):
    decoded = timed("decode", label)
    assert timed("decode", f"http://urlib.net/{label.lower()}") == decoded
    timed("dbcreate", *words)
    timed("context", "resolver", "https://id.example.org/")
    for pointer in (f"https://id.example.org/{label}", f"http://urlib.net/{label}"):
        assert timed("decode", pointer) == decoded


def test_an_address_that_is_no_pointer_stays_an_address(timed):
    timed("dbcreate", *COMPUTER)
    timed("context", "resolver", "http://urlib.net/")
    for address in ("http://urlib.net.example.org/x/y", "https://other.example/8JMKD3MGP8W/34PGRBS"):
        assert timed.run("same", address, address.partition("//")[2].partition("/")[2]).returncode == 1
        assert f"canonical: {address}\n" in timed("cite", address)
        assert web_form(timed, address) == address
    assert timed.run("same", "https://other.example/8JMKD3MGP8W/34PGRBS", "8JMKD3MGP8W/34PGRBS").returncode == 1
    assert timed.run("same", "http://urlib.net/col/a/b/c", "col/a/b/c").returncode == 0  # under its own resolver


def test_where_anything_may_be_bound_an_address_may_be_a_name(timed):
    timed("dbcreate")
    timed("context", "resolver", "https://id.example.org/")
    timed("bind", "set", "thing", "e", "plain")
    assert timed("get", "https://id.example.org/thing", "e") == "plain\n"
    timed("bind", "set", "https://else.example/thing", "e", "an address")
    assert timed("get", "https://else.example/thing", "e") == "an address\n"


def test_a_pointer_of_a_free_minter_is_bound_as_its_name(timed):
    timed("dbcreate")
    timed("context", "resolver", "https://id.example.org/")
    timed("bind", "set", "https://id.example.org/new", "e", "v")
    assert timed("get", "new", "e") == "v\n"


@pytest.mark.parametrize(("scheme", "label"), [
    ("ibi", "sid.inpe.br/mtc-m19/2010/13.25.12.38"), ("ibi", "x/y"), ("ibi", "sid.inpe.br/mtc-m19/2010/08.25.12.60"),
    ("ibi", "sid.inpe.br/mtc_m19/2010/08.25.12.38"), ("ibi", "sid.inpe.br/mtc-m19.99999/2010/08.25.12.38"),
    ("ibi", "sid.inpe.br/mtc-m19.1@2/2010/08.25.12.38"), ("ibi", "nothing"),
    ("ibip", "8JMKD3MGP8W/34PGRBV"), ("ibip", "8JMKD3MGP8/34PGRBS"), ("ibip", "8JMKD3MGP8W/2345W"), ("ibip", "22W/3"),
    ("ibip", "nothing"), ("ibip", "8JMKD3MGP8W/"), ("pilin", "102.100.272/Y35XYSOQH"), ("pilin", "RPLZ54PQ"),
    ("pilin", "102..272/RPLZ54PQH"), ("pilin", "hdl:102.100.272/Y35XYSOQH"), ("ibi", "http://urlib.net/1/2/3333/4.4"),
])
def test_validate_names_the_label_in_every_error(noid, scheme, label):
    done = noid.run("validate", scheme, label)
    assert done.returncode == 1
    assert done.stdout.startswith(b"iderr: ") and label.encode() in done.stdout and done.stdout.count(b"\n") == 1


@pytest.mark.parametrize(("words", "labels"), [
    (COMPUTER, ["sid.inpe.br/mtc-m18/2010/13.25.12.38", "SID.inpe.br/mtc-m18/2010/08.25.12.60", "nothing"]),
    (ADDRESS, ["8JMKD3MGP8W/34PGRBV", "8JMKD3MGP8W/2345W", "http://urlib.net/8JMKD3MGP8W/2345W"]),
    (("--scheme", "pilin", "--prefix", "102.100.272"),
     ["102.100.272/Y35XYSOQH", "hdl:102.100.272/Y35XYSOQH", "102.100.273/Y35XYS0QH"]),
    (("--label", "ark:/", "f5.reedeedk", "long", "13030", "x", "y"), ["ark:/13030/f54x54g12", "13030/f54x54g12", "x"]),
])
def test_validate_against_the_minter_names_each_label_in_its_error(timed, words, labels):
    timed("dbcreate", *words)
    done = timed.run("validate", "-", *labels)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 1 and len(lines) == len(labels)
    for label, line in zip(labels, lines, strict=True):
        name = label if words[0] == "--scheme" else label.removeprefix("ark:/")
        assert line.startswith("iderr: ") and line.count(name) == 1, line


@pytest.mark.parametrize(("scheme", "pointer", "label"), [
    ("ibi", "http://urlib.net/sid.inpe.br/mtc-m19/2010/08.25.12.38", "sid.inpe.br/mtc-m19/2010/08.25.12.38"),
    ("ibi", "sid.inpe.br/mtc-m19@80/2010/08.25.12.38", "sid.inpe.br/mtc-m19/2010/08.25.12.38"),
    ("ibip", "http://urlib.net/8JMKD3MGP7W/385N5PE", "8JMKD3MGP7W/385N5PE"),
    ("pilin", "http://resolver.net.au/hdl/102.100.272/Y35XYS0QH", "102.100.272/Y35XYS0QH"),
    ("pilin", "hdl:102.100.272/y35xys0qh", "102.100.272/Y35XYS0QH"),
])
def test_validate_reads_the_pointer_and_prints_the_label(noid, scheme, pointer, label):
    assert noid("validate", scheme, pointer) == f"id: {label}\n"


@pytest.mark.parametrize("rest", ["rep/abc", "J8LNKAN8P/34PGRBS", "col/iconet.com.br/banon/2003", "a/b/2010/x", "x/"])
def test_at_urlib_net_only_what_has_the_form_of_a_name_is_one(noid, rest):
    assert noid.run("same", f"http://urlib.net/{rest}", rest or "x").returncode == 1
