"""pyhandle, a client of the Handle System, unchanged against `noid serve --interfaces handle`."""

from __future__ import annotations

import pytest
from pyhandle.client.resthandleclient import RESTHandleClient
from pyhandle.handleexceptions import HandleAlreadyExistsException, HandleAuthenticationError

from support.minter import Noid
from support.served import ANY_PORT, Served

URL, OTHER = "https://example.org/1", "https://example.org/2"


# Settings of a minter, a handle that can be written there, and the handle of the user, which pyhandle reads first.
MINTERS = {
    "noid": (("x.sd", "medium", "12345"), "12345/Some-Thing", "12345/ADMIN"),
    "capitals": (("x.sd", "medium", "21.T99"), "21.T99/Some-Thing", "21.T99/ADMIN"),
    "pilin": (("--scheme", "pilin", "--prefix", "102.100.9"), "102.100.9/RPLZ54PQH", "12345/ADMIN"),
}


@pytest.fixture(params=MINTERS)
def served(request, tmp_path):
    """A server of a minter of handles, the secret of a token for all of it, and the names of MINTERS."""
    words, handle, user = MINTERS[request.param]
    (tmp_path / "minters").mkdir()
    minter = Noid.created(tmp_path / "minters" / "h", "--label", "hdl:", *words)
    users = minter if handle.split("/")[0] == user.split("/")[0] else \
        Noid.created(tmp_path / "minters" / "users", "--label", "hdl:", ".sd", "medium", "12345")
    users.records("hold", "set", f"hdl:{user}")
    users.records("bind", "set", f"hdl:{user}", "note", "the user of pyhandle")
    secret = minter.records("token", "new", "all", "--may", "read,mint,bind,admin")[0]["token"]
    minter.close()
    users.close()
    server = Served.start(tmp_path / "log", "serve", "--minters", tmp_path / "minters", "--http", ANY_PORT, "--workers",
                          "1", "--interfaces", "handle")
    yield "http://{}:{}".format(*server.address), secret, handle, user
    server.stop()


def client(address: str, user: str, password: str) -> RESTHandleClient:
    return RESTHandleClient.instantiate_with_username_and_password(address, f"300:{user}", password)


def test_handles_are_registered_read_changed_and_deleted(served):
    address, secret, name, user = served
    handles = client(address, user, secret)
    assert handles.register_handle(name, URL, checksum="abc") == name
    record = handles.retrieve_handle_record_json(name)
    assert record["handle"] == name
    assert [(value["index"], value["type"]) for value in record["values"]] == [
        (1, "URL"), (2, "CHECKSUM"), (100, "HS_ADMIN")]
    assert handles.get_value_from_handle(name, "URL") == URL
    with pytest.raises(HandleAlreadyExistsException):
        handles.register_handle(name, OTHER)
    handles.modify_handle_value(name, URL=OTHER, EMAIL="me@example.org")
    assert handles.get_value_from_handle(name, "URL") == OTHER
    assert handles.get_value_from_handle(name, "EMAIL") == "me@example.org"
    handles.delete_handle_value(name, "CHECKSUM")
    assert handles.get_value_from_handle(name, "CHECKSUM") is None
    handles.delete_handle(name)
    assert handles.retrieve_handle_record_json(name) is None


def test_a_wrong_password_is_refused(served):
    address, _, name, user = served
    with pytest.raises(HandleAuthenticationError):
        client(address, user, "noid_wrong").register_handle(name, URL)
