"""pyhandle, a client of the Handle System, unchanged against `noid serve --interfaces handle`."""

from __future__ import annotations

import pytest
from pyhandle.client.resthandleclient import RESTHandleClient
from pyhandle.handleexceptions import HandleAlreadyExistsException, HandleAuthenticationError

from support.minter import Noid
from support.served import ANY_PORT, Served

URL, OTHER = "https://example.org/1", "https://example.org/2"


@pytest.fixture
def served(tmp_path):
    """A server of a minter of handles, and the secret of a token for all of it."""
    (tmp_path / "minters").mkdir()
    minter = Noid.created(tmp_path / "minters" / "h", "--label", "hdl:", "x.sd", "medium", "12345")
    minter.records("hold", "set", "hdl:12345/ADMIN")
    minter.records("bind", "set", "hdl:12345/ADMIN", "note", "the user of pyhandle")
    secret = minter.records("token", "new", "all", "--may", "read,mint,bind,admin")[0]["token"]
    minter.close()
    server = Served.start(tmp_path / "log", "serve", "--minters", tmp_path / "minters", "--http", ANY_PORT, "--workers",
                          "1", "--interfaces", "handle")
    yield "http://{}:{}".format(*server.address), secret
    server.stop()


def client(address: str, password: str) -> RESTHandleClient:
    return RESTHandleClient.instantiate_with_username_and_password(address, "300:12345/ADMIN", password)


def test_handles_are_registered_read_changed_and_deleted(served):
    address, secret = served
    handles = client(address, secret)
    name = "12345/Some-Thing"
    assert handles.register_handle(name, URL, checksum="abc") == name
    record = handles.retrieve_handle_record_json(name)
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
    address, _ = served
    with pytest.raises(HandleAuthenticationError):
        client(address, "noid_wrong").register_handle("12345/other", URL)
