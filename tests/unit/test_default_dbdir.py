"""The folder of a minter where no option names it, for every executable."""

from __future__ import annotations

import pytest

from noidtools.minter import default_dbdir
from noidtools.server.cgi import script_path
from support.minter import Noid

# The path of the program, $NOID, the folders in which the minter may lie, and where it is looked for.  There is a
# minter in `kt5` in the working folder, and one in `beside/kt6`.
CASES = {
    "noid": ("noid", "", [""], "."),
    "noid in another folder": ("/usr/bin/noid", "", [""], "."),
    "noid_kt5": ("/usr/bin/noid_kt5", "", [""], "kt5"),
    "noid with $NOID": ("noid_kt5", "other", [""], "other"),
    "all behind the first underscore": ("noid_kt5_b", "", [""], "kt5_b"),
    "a folder with an underscore": ("/a_b/noid", "", [""], "."),
    "noidu": ("beside/noidu", "", ["beside"], "beside"),
    "noidu without a folder": ("noidu", "", [""], "."),
    "noidu_kt6": ("beside/noidu_kt6", "", ["beside"], "beside/kt6"),
    "noidu with $NOID": ("beside/noidu_kt6", "/srv/kt7", ["beside"], "/srv/kt7"),
    "noidu of a minter in the working folder": ("beside/noidu_kt5", "", ["beside"], "beside/kt5"),
    "noidr": ("beside/noidr", "", ["beside", ""], "."),
    "noidr_kt6 beside the program": ("beside/noidr_kt6", "", ["beside", ""], "beside/kt6"),
    "noidr_kt5 in the working folder": ("beside/noidr_kt5", "", ["beside", ""], "kt5"),
    "noidr of a minter not yet created": ("beside/noidr_kt9", "", ["beside", ""], "beside/kt9"),
    "noidr with $NOID": ("beside/noidr_kt6", "kt5", ["beside", ""], "kt5"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("minters")
    (folder / "beside").mkdir()
    for name in ("kt5", "beside/kt6"):
        (folder / name).mkdir()
        Noid.created(folder / name).close()
    return folder


@pytest.mark.parametrize(("program", "variable", "folders", "found"), CASES.values(), ids=CASES)
def test_the_folder_is_that_of_the_variable_or_of_the_programs_name(
    folder, monkeypatch, program, variable, folders, found
):
    monkeypatch.chdir(folder)
    assert default_dbdir(program, variable, *folders) == found


@pytest.mark.parametrize(("program", "named", "path"), [
    ("/usr/lib/noidu_a", "", "/usr/lib/noidu_a"),
    ("/usr/lib/noidu_a", "/srv/cgi-bin/noidu_b", "/srv/cgi-bin/noidu_b"),
    ("/usr/lib/noidu_a", "/srv/www/ark:/13030/x", "/usr/lib/noidu_a"),
])
def test_a_cgi_script_is_where_the_web_server_says_if_that_is_a_link_of_ours(program, named, path):
    assert script_path(program, {"SCRIPT_FILENAME": named} if named else {}) == path
