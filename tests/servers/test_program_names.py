"""Links in Apache's folder of CGI programs: the words of a query never become a command line."""

from __future__ import annotations

import os

import pytest

from support.servers.deployment import Deployment

DEPLOYMENTS = ("apache-cgi", "apache-mod_cgi")
FILES = ("noid", "noidu", "noidr", "noid.fcgi")


def replace_link(deployment: Deployment, minter: str, file: str) -> None:
    """Hard-link one of the executables as the manual does: `ln noid noidu_kt5`."""
    link = deployment.minters / f"noidu_{minter}"
    link.unlink()
    link.hardlink_to(deployment.site.installation / "bin" / file)


@pytest.mark.parametrize("file", FILES)
def test_a_link_named_noidu_is_the_url_interface_whatever_it_was_linked_to(deployment, file):
    minter = deployment.new_minter()
    replace_link(deployment, minter, file)
    assert deployment.ask(minter, "mint+1").text == "id: kt4x551\n\n"
    assert deployment.ask(minter, "mint+1", user="").status == 401
    assert deployment.ask(minter, "-", "--data-binary", "mint 2\n").ids == ["kt154d9", "ktwd3s9"]


@pytest.mark.parametrize("file", FILES)
def test_a_query_without_an_equals_sign_is_no_command_line(deployment, file):
    minter = deployment.new_minter()
    replace_link(deployment, minter, file)
    chosen = deployment.site.folder_for(f"{deployment.name}/chosen-by-{file}-{minter}")
    before = deployment.noid("-f", minter, "dbinfo")
    for query in (f"-f+{chosen}+dbcreate+x.zd", f"-f{chosen}+dbcreate+x.zd", "-v", "-h", "--+mint+1",
                  f"-f+{minter}+mint+1", "serve+--http+127.0.0.1:0", "resolve-loop", f"-f+{minter}"):
        for user in ("", "noid"):
            reply = deployment.ask(minter, query, user=user)
            assert reply.status in (400, 403), (query, reply)
            assert reply.text.startswith("error: ") and reply.text.count("\n") == 1
    assert os.listdir(chosen) == []
    assert deployment.noid("-f", minter, "dbinfo") == before
