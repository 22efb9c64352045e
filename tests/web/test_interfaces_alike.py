"""One behaviour through every interface: what is minted, bound, reserved, published and withdrawn by one of them is the
same for the readers of its names, and refusals are of the same kind.

A driver speaks one interface to a real server, or to the same minter at the shell and in Python.  What an interface has
no words for is in `LACKS`.
"""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

import noidtools
from support.minter import Noid
from support.process import NOID
from support.served import ANY_PORT, Served

URL = "https://example.org/thing"
OTHER = "https://example.org/other"
NAAN, SHOULDER = "12345", "kt"
KINDS = {400: "usage", 401: "forbidden", 403: "forbidden", 404: "not found", 409: "conflict", 410: "gone"}


class RefusedError(Exception):
    """A refusal, and its kind."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Place:
    """A folder with a minter, a server of it, and a token for all that can be done."""

    def __init__(self, folder: Path) -> None:
        self.dbdir = folder / "minters" / "kt"
        (folder / "minters").mkdir()
        minter = Noid.created(self.dbdir, "--label", "ark:/", "kt.reeded", "medium", NAAN)
        (made,) = minter.records("token", "new", "all", "--may", "read,mint,bind,admin")
        minter.close()
        self.token = made["token"].decode() if isinstance(made["token"], bytes) else made["token"]
        self.server = Served.start(folder / "log", "serve", "--minters", folder / "minters", "--http", ANY_PORT,
                                   "--workers", "1", "--interfaces", ",".join(SERVED))
        self.keys = itertools.count()

    def leads_to(self, name: str) -> object:
        """Where a reader who follows the name is sent, or the status that is answered."""
        reply = self.server.get(f"/{name}")
        return reply.headers["location"] if reply.status == 302 else reply.status

    def send(self, method: str, path: str, body: bytes = b"", *, anonymous: bool = False, **headers: str):
        if not anonymous:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        return self.server.get(path, method, body or None, **{name.replace("_", "-"): value
                                                               for name, value in headers.items()})


class Driver:
    """What every interface can be asked for."""

    LACKS: frozenset[str] = frozenset()

    def __init__(self, place: Place) -> None:
        self.place = place


class Shell(Driver):
    LACKS = frozenset({"anonymous", "repeat"})

    def run(self, *words: str) -> list[str]:
        done = subprocess.run([*NOID, "-f", self.place.dbdir, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            # The shell says what is wrong in words only.
            raise RefusedError("gone" if "was withdrawn on" in done.stderr else
                               "conflict" if "cannot be" in done.stderr else "not found")
        return done.stdout.splitlines()

    def mint(self, url: str, *, reserved: bool = False) -> str:
        name = self.run("mint", "1", "_t", url)[0].removeprefix("id: ")
        if reserved:
            self.run("reserve", name)
        return name

    def read(self, name: str) -> str:
        return self.run("get", name, "_t")[0]

    def bind(self, name: str, url: str) -> None:
        self.run("bind", "set", name, "_t", url)

    def publish(self, name: str) -> None:
        self.run("publish", name)

    def withdraw(self, name: str) -> None:
        self.run("withdraw", name, "--reason", "lost")


class ByUrl(Driver):
    def run(self, *words: str, anonymous: bool = False, key: str = "") -> list[str]:
        query = "+".join(quote(word, safe="") for word in words)
        headers = {"Idempotency_Key": key} if key else {}
        reply = self.place.send("POST", f"/noidu_kt?{query}", anonymous=anonymous, **headers)
        if reply.status != 200:
            raise RefusedError(KINDS[reply.status])
        return reply.text.splitlines()

    def mint(self, url: str, *, reserved: bool = False, anonymous: bool = False, key: str = "") -> str:
        name = self.run("mint", "1", "_t", url, anonymous=anonymous, key=key)[0].removeprefix("id: ")
        if reserved:
            self.run("reserve", name)
        return name

    def read(self, name: str) -> str:
        return self.run("get", name, "_t")[0]

    def bind(self, name: str, url: str) -> None:
        self.run("bind", "set", name, "_t", url)

    def publish(self, name: str) -> None:
        self.run("publish", name)

    def withdraw(self, name: str) -> None:
        self.run("withdraw", name, "--reason", "lost")


class Json(Driver):
    def call(self, method: str, path: str, data: object = None, *, anonymous: bool = False, key: str = "") -> dict:
        headers = {"Content_Type": "application/json", **({"Idempotency_Key": key} if key else {})}
        body = json.dumps({} if data is None and method == "POST" else data).encode() if method != "GET" else b""
        reply = self.place.send(method, f"/api/v1{path}", body, anonymous=anonymous, **headers)
        if reply.status >= 400:
            raise RefusedError(KINDS[reply.status])
        return json.loads(reply.body)

    def mint(self, url: str, *, reserved: bool = False, anonymous: bool = False, key: str = "") -> str:
        new = {"elements": {"_t": url}, "state": "reserved" if reserved else "published"}
        return self.call("POST", "/minters/kt/identifiers", new, anonymous=anonymous, key=key)["identifiers"][0]["id"]

    def read(self, name: str) -> str:
        found = self.call("GET", f"/identifiers/{name}")
        if found["state"] == "withdrawn":
            raise RefusedError("gone")
        return found["elements"]["_t"]

    def bind(self, name: str, url: str) -> None:
        self.call("PATCH", f"/identifiers/{name}", {"elements": {"_t": url}})

    def publish(self, name: str) -> None:
        self.call("POST", f"/identifiers/{name}/publish")

    def withdraw(self, name: str) -> None:
        self.call("POST", f"/identifiers/{name}/withdraw", {"reason": "lost"})


class Python(Driver):
    LACKS = frozenset({"anonymous", "repeat"})

    def do(self, method: str, *args: object, **options: object):
        with noidtools.open(self.place.dbdir) as minter:
            try:
                return getattr(minter, method)(*args, **options)
            except noidtools.NoidError as error:
                raise RefusedError(error.kind) from None

    def mint(self, url: str, *, reserved: bool = False) -> str:
        return self.do("mint", elements={"_t": url}, state="reserved" if reserved else None)[0]

    def read(self, name: str) -> str:
        return self.do("get", name, "_t")

    def bind(self, name: str, url: str) -> None:
        self.do("bind", name, "_t", url)

    def publish(self, name: str) -> None:
        self.do("publish", name)

    def withdraw(self, name: str) -> None:
        self.do("withdraw", name, reason="lost")


class Remote(Python):
    LACKS = frozenset({"repeat"})

    def do(self, method: str, *args: object, anonymous: bool = False, **options: object):
        host, port = self.place.server.address
        token = "" if anonymous else self.place.token
        try:
            return getattr(noidtools.connect(f"http://{host}:{port}", token, minter="kt"), method)(*args, **options)
        except noidtools.NoidError as error:
            raise RefusedError(error.kind) from None

    def mint(self, url: str, *, reserved: bool = False, anonymous: bool = False) -> str:
        state = "reserved" if reserved else None
        return self.do("mint", elements={"_t": url}, state=state, anonymous=anonymous)[0]

    def read(self, name: str) -> str:
        if self.do("fetch", name).state == "withdrawn":
            raise RefusedError("gone")
        return super().read(name)


class Arklet(Driver):
    LACKS = frozenset({"reserve", "withdraw"})

    def call(self, method: str, path: str, data: object, *, anonymous: bool = False, key: str = ""):
        headers = {"Idempotency_Key": key} if key else {}
        reply = self.place.send(method, path, json.dumps(data).encode(), anonymous=anonymous, **headers)
        if reply.status >= 400:
            raise RefusedError(KINDS[reply.status])
        return json.loads(reply.body)

    def mint(self, url: str, **options: object) -> str:
        new = {"naan": int(NAAN), "shoulder": f"/{SHOULDER}", "url": url}
        return self.call("POST", "/mint", new, **options)["ark"]

    def read(self, name: str) -> str:
        found = self.call("POST", "/bulk_query", [{"ark": name}])
        if not found:
            raise RefusedError("not found")
        return found[0]["url"]

    def bind(self, name: str, url: str) -> None:
        self.call("PUT", "/update", {"ark": name, "url": url})


class N2t(Driver):
    LACKS = frozenset({"reserve", "withdraw"})

    def call(self, path: str, query: str, *, anonymous: bool = False, key: str = "") -> list[str]:
        headers = {"Idempotency_Key": key} if key else {}
        reply = self.place.send("POST", f"/a/me/{path}?{quote(query)}", anonymous=anonymous, **headers)
        if reply.status >= 400:
            raise RefusedError(KINDS[reply.status])
        return reply.text.splitlines()

    def mint(self, url: str, **options: object) -> str:
        name = "ark:/" + self.call(f"m/ark/{NAAN}/{SHOULDER}", "mint 1", **options)[0].removeprefix("s: ")
        self.bind(name, url)
        return name

    def read(self, name: str) -> str:
        return self.call("b", f"{name}.get _t")[0]

    def bind(self, name: str, url: str) -> None:
        self.call("b", f"{name}.set _t {url}")


class Ezid(Driver):
    LACKS = frozenset({"withdraw"})

    def call(self, method: str, path: str, body: str = "", *, anonymous: bool = False, key: str = "") -> list[str]:
        headers = {"Idempotency_Key": key} if key else {}
        reply = self.place.send(method, path, body.encode(), anonymous=anonymous, **headers)
        if reply.status >= 400:
            raise RefusedError("not found" if reply.text.endswith("no such identifier") else KINDS[reply.status])
        return reply.text.splitlines()

    def mint(self, url: str, *, reserved: bool = False, **options: object) -> str:
        body = f"_target: {url}\n_status: {'reserved' if reserved else 'public'}\n"
        return self.call("POST", f"/shoulder/ark:/{NAAN}/{SHOULDER}", body, **options)[0].removeprefix("success: ")

    def read(self, name: str) -> str:
        found = dict(line.split(": ", 1) for line in self.call("GET", f"/id/{name}"))
        return found["_target"]

    def bind(self, name: str, url: str) -> None:
        self.call("POST", f"/id/{name}", f"_target: {url}")

    def publish(self, name: str) -> None:
        self.call("POST", f"/id/{name}", "_status: public")


DRIVERS = {"shell": Shell, "url": ByUrl, "json": Json, "python": Python, "remote": Remote, "arklet": Arklet, "n2t": N2t,
           "ezid": Ezid}
SERVED = ("json", "arklet", "n2t", "ezid")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("alike"))
    yield place
    place.server.stop()


@pytest.fixture(params=DRIVERS)
def driver(request, place):
    return DRIVERS[request.param](place)


def refusal(call, *args, **options) -> str:
    with pytest.raises(RefusedError) as refused:
        call(*args, **options)
    return refused.value.kind


def test_what_is_minted_leads_where_it_was_bound(driver, place):
    name = driver.mint(URL)
    assert name.startswith(f"ark:/{NAAN}/{SHOULDER}") and driver.read(name) == URL
    assert place.leads_to(name) == URL
    driver.bind(name, OTHER)
    assert place.leads_to(name) == OTHER


def test_what_is_reserved_leads_nowhere_until_it_is_published(driver, place):
    if "reserve" in driver.LACKS:
        return
    name = driver.mint(URL, reserved=True)
    assert driver.read(name) == URL and place.leads_to(name) == 404
    driver.publish(name)
    assert place.leads_to(name) == URL


def test_what_was_withdrawn_is_gone_and_cannot_be_changed(driver, place):
    if "withdraw" in driver.LACKS:
        return
    name = driver.mint(URL)
    driver.withdraw(name)
    assert place.leads_to(name) == 410
    assert refusal(driver.read, name) == "gone"
    assert refusal(driver.bind, name, OTHER) == refusal(driver.publish, name) == "conflict"


def test_what_is_not_there_is_not_found(driver, place):
    name = f"ark:/{NAAN}/{SHOULDER}0nothing"
    assert refusal(driver.read, name) == "not found" and place.leads_to(name) == 404


def test_strangers_may_not_mint(driver, place):
    if "anonymous" in driver.LACKS:
        return
    before = Shell(place).run("list", "--limit", "1000")
    assert refusal(driver.mint, URL, anonymous=True) == "forbidden"
    assert Shell(place).run("list", "--limit", "1000") == before


def test_a_repeated_request_mints_once(driver, place):
    if "repeat" in driver.LACKS:
        return
    key = f"key-{next(place.keys)}"
    assert driver.mint(URL, key=key) == driver.mint(URL, key=key) != driver.mint(URL)
