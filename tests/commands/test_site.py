"""`noid export --site`: the files of a site, what hostile names and values become in it, and what changes rewrite."""

from __future__ import annotations

import fcntl
import html.parser
import json
import os
import resource
import signal
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from support.minter import Noid
from support.templates import LONG_TERM


@pytest.fixture
def noid(tmp_path):
    minter = Noid.created(tmp_path / "m", *LONG_TERM)
    yield minter
    minter.close()


@pytest.fixture
def free(tmp_path):
    """A minter that takes any name."""
    minter = Noid.created(tmp_path / "free")
    yield minter
    minter.close()


def exported(minter: Noid, folder: Path, *words: str) -> dict[str, str]:
    """What the command answers, by label."""
    answer = minter("export", "--site", str(folder), *words)
    return dict(line.split(": ", 1) for line in answer.splitlines() if line)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.is_symlink() and ".git/" not in f"{path.relative_to(folder)}/"}


def records(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for path in sorted(folder.glob("noid-site/data/*/*.jsonl"))
            for line in path.read_text().splitlines()]


def ensure_sums(folder: Path) -> None:
    """Every file of the site has its digest, and no other has one."""
    lines = [line for path in (folder / "SHA256SUMS", *folder.glob("noid-site/data/*/*.sha256"))
             for line in path.read_text().splitlines()]
    sums = {path: digest for digest, _, path in (line.partition("  ") for line in lines)}
    assert sums == {path: sha256(content).hexdigest() for path, content in files_of(folder).items()
                    if path != "SHA256SUMS"}


class _Elements(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def elements_of(page: bytes) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Elements()
    parser.feed(page.decode())
    return parser.found


def test_a_site_has_a_page_a_description_and_a_redirect_of_each_name(noid, tmp_path):
    (name,) = noid.ids(1)
    noid("bind", "set", name, "_t", "https://example.org/1")
    noid("bind", "set", name, "who", "Darwin, Charles")
    noid("policy", "persistence", "As long as the library exists")
    assert exported(noid, tmp_path / "site")["ok"] == f"1 name in {tmp_path / 'site'}"
    files = files_of(tmp_path / "site")
    page = files[f"ark:/{name}/index.html"].decode()
    assert 'content="0; url=https://example.org/1"' in page and "Darwin, Charles" in page
    assert "As long as the library exists" in page and f"https://n2t.net/ark:/{name}" in page
    assert f"/ark:/{name} https://example.org/1 302" in files["_redirects"].decode()
    assert f"ark:/{name} https://example.org/1" in files["noid-site/redirects.txt"].decode()
    assert f'"ark:/{name}" "https://example.org/1";' in files["noid-site/redirects.nginx"].decode()
    (record,) = records(tmp_path / "site")
    assert record["id"] == f"ark:/{name}" and record["page"] == f"ark:/{name}/index.html"
    assert os.readlink(tmp_path / "site/ark:13030") == os.readlink(tmp_path / "site/13030") == "ark:/13030"
    assert "who: Darwin, Charles" in "".join(text.decode() for path, text in files.items() if path.endswith(".erc"))
    ensure_sums(tmp_path / "site")


def test_only_what_changed_is_written(noid, tmp_path):
    site = tmp_path / "site"
    names = noid.ids(300)
    noid("import", "csv", stdin=b"id,_t\n" + b"".join(b"%b,https://a.example/\n" % n.encode() for n in names))
    exported(noid, site)
    before = files_of(site)
    assert exported(noid, site)["Written"] == "0" and files_of(site) == before
    noid("bind", "set", names[7], "_t", "https://b.example/")
    assert int(exported(noid, site)["Written"]) <= 9
    after = files_of(site)
    changed = {path for path in after if after[path] != before.get(path)}
    assert {path for path in changed if path.startswith("ark:")} == {f"ark:/{names[7]}/index.html"}
    ensure_sums(site)
    # What a hand has changed is mended.
    (site / f"ark:/{names[9]}/index.html").write_text("defaced")
    exported(noid, site)
    assert {path: text for path, text in files_of(site).items() if path.startswith("ark:")} == {
        path: text for path, text in after.items() if path.startswith("ark:")}


def test_what_is_no_longer_public_is_removed(noid, tmp_path):
    first, second = noid.ids(2)
    for name in (first, second):
        noid("bind", "set", name, "_t", "https://a.example/")
    exported(noid, tmp_path / "site")
    noid("reserve", second)
    assert int(exported(noid, tmp_path / "site")["Removed"]) >= 1
    assert not (tmp_path / f"site/ark:/{second}").exists() and (tmp_path / f"site/ark:/{first}").exists()
    assert all(second.encode() not in content for content in files_of(tmp_path / "site").values())
    ensure_sums(tmp_path / "site")


def test_nothing_in_a_site_speaks_of_reserved_names_or_of_what_is_internal(noid, tmp_path):
    first, secret, gone = noid.ids(3)
    noid("bind", "set", secret, "_t", "https://a.example/concealed")
    noid("reserve", secret)
    noid("relate", first, "synonym", secret, "--authority", "Somebody")
    noid("alias", "13030/kt-concealed", secret)
    noid("withdraw", gone, "--successor", secret)
    noid("bind", "set", first, "_internal", "concealed")
    noid("note", "about", "concealed")
    noid("token", "new", "concealed", "--may", "mint")
    (peppered,) = [line.removeprefix("id: ") for line in noid("peppermint", "1").splitlines() if line]
    assert exported(noid, tmp_path / "site")["ok"].startswith("3 names")
    for path, content in files_of(tmp_path / "site").items():
        for hidden in (secret, "concealed", peppered.partition("!")[2]):
            assert hidden.encode() not in content and hidden not in path, path


def test_what_only_users_may_read_is_not_published(noid, tmp_path):
    (name,) = noid.ids(1)
    noid("bind", "set", name, "_t", "https://a.example/")
    noid("bind", "set", name, "who", "A secret author")
    noid("policy", "read", "authenticated")
    exported(noid, tmp_path / "site")
    files = files_of(tmp_path / "site")
    assert b"https://a.example/" in files[f"ark:/{name}/index.html"]
    assert all(b"A secret author" not in content for content in files.values())


HOSTILE = [
    b"../../escaped", b"..", b".", b"/etc/passwd", b"a/../b", b".htaccess", b"x/.git/config", b"noid-site/apache.conf",
    b"README.txt", b"index.html", b"a/index.html/b", b"a//b", b"a\\b", b"with blank", b"quote\"'<script>", b"$uri",
    b"nul\0name", "umlaut-ä".encode(), b"not utf-8 \xff", b"x" * 300, b"y/" * 400, b"#comment", b"~tilde", b"default",
    b"[bracket]", b"a*b", b"%2e%2e/x", b"CNAME", b"gone", b"SHA256SUMS/x", b"-rf",
]
VALUES = [
    b"https://a.example/\"><script>alert(1)</script>", b"https://a.example/$host", b"https://a.example/;}", b"x\ny",
    b"javascript:alert(1)", b"data:text/html,x", b"https://a.example/a b", b"https://a.example/\" \"b\";",
    b"vbscript:x", b"//evil.example/", b"https://a.example/%{ENV:PATH}", b"https://a.example/${lower:X}", b"\0",
    b"https://a.example/\nNEXT https://evil.example/",
]


def test_hostile_names_and_values_stay_inside_and_run_nothing(free, tmp_path):
    for number, name in enumerate(HOSTILE):
        free.set_target(name, VALUES[number % len(VALUES)])
    for value in VALUES:
        free.set_target(b"v" + sha256(value).hexdigest()[:8].encode(), value)
        free.text("bind", "set", b"d" + sha256(value).hexdigest()[:8].encode(), b"what", b"<img src=x>" + value)
    exported(free, tmp_path / "site")
    files = files_of(tmp_path / "site")
    assert sorted(os.listdir(tmp_path)) == ["free", "site"]
    pages = {path: page for path, page in files.items() if path.endswith("/index.html")}
    assert len(pages) == len(HOSTILE) + 2 * len(VALUES)
    for page in pages.values():
        found = elements_of(page)
        assert {tag for tag, _ in found} <= {
            "html", "head", "meta", "link", "title", "noscript", "style", "body", "main", "h1", "h2", "p", "bdi", "ol",
            "li", "a", "dl", "dt", "dd", "footer", "script", "div", "strong"}
        scripts = page.count(b"<script>if (!location.search) location.replace(")
        assert sum(tag == "script" for tag, _ in found) == scripts <= 1
        assert all(attributes["href"].startswith(("https://", "/")) for tag, attributes in found if tag == "a")
    for path in ("noid-site/redirects.txt", "_redirects"):
        for line in files[path].decode().splitlines():
            assert line.startswith("#") or len(line.split(" ")) in (2, 3)
            assert "evil" not in line and "javascript" not in line
    ensure_sums(tmp_path / "site")


def test_names_that_differ_in_case_share_a_page_that_asks(free, tmp_path):
    free.set_target(b"Abc", b"https://a.example/upper")
    free.set_target(b"abc", b"https://a.example/lower")
    free.set_target(b"Single", b"https://a.example/single")
    exported(free, tmp_path / "site")
    files = files_of(tmp_path / "site")
    assert files["Abc/index.html"] == files["abc/index.html"]
    for text in (b"https://a.example/upper", b"https://a.example/lower"):
        assert text in files["abc/index.html"]
    assert b"refresh" not in files["abc/index.html"] and b"refresh" in files["Single/index.html"]
    assert b"Abc https://a.example/upper\n" in files["noid-site/redirects.txt"]


def test_a_folder_with_other_files_is_refused(noid, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/thesis.txt").write_text("mine")
    assert "has files that are no site of this program" in noid.refused("export", "--site", str(tmp_path / "site"))
    assert os.listdir(tmp_path / "site") == ["thesis.txt"]


def test_the_site_of_another_minter_is_refused(noid, free, tmp_path):
    exported(noid, tmp_path / "site")
    assert "has the site of another minter" in free.refused("export", "--site", str(tmp_path / "site"))


def test_two_exports_at_once_are_refused(noid, tmp_path):
    (tmp_path / "site").mkdir()
    lock = os.open(tmp_path / "site", os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another export is writing" in noid.refused("export", "--site", str(tmp_path / "site"))
    finally:
        os.close(lock)


def test_a_folder_that_cannot_be_written_is_one_sentence(noid, tmp_path):
    (tmp_path / "file").write_text("")
    assert "could not be written" in noid.refused("export", "--site", str(tmp_path / "file" / "site"))


def test_a_full_disk_is_one_sentence_and_leaves_the_site_as_it_was(noid, tmp_path):
    site = tmp_path / "site"
    (name,) = noid.ids(1)
    exported(noid, site)
    before = files_of(site)
    noid("bind", "set", name, "what", "x" * 20_000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
        message = noid.refused("export", "--site", str(site))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert f"{site} could not be written: File too large" in message
    assert files_of(site) == before


def test_what_a_killed_export_left_is_removed(noid, tmp_path):
    exported(noid, tmp_path / "site")
    (tmp_path / "site/.noid-site-new-1-99999999/ark:").mkdir(parents=True)
    exported(noid, tmp_path / "site")
    assert not list((tmp_path / "site").glob(".noid-site-new-*"))


def test_a_site_in_a_work_tree_of_git_is_committed_and_never_pushed(noid, tmp_path):
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", tmp_path / "site", *words], capture_output=True, text=True, check=True,
                              ).stdout

    (name,) = noid.ids(1)
    assert "git init" in noid.refused("export", "--site", str(tmp_path / "site"), "--git")
    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path / "remote"], check=True)
    subprocess.run(["git", "clone", "--quiet", tmp_path / "remote", tmp_path / "site"], check=True,
                   capture_output=True)
    assert exported(noid, tmp_path / "site", "--git")["Commit"] == "made"
    assert exported(noid, tmp_path / "site", "--git")["Commit"] == "not needed"
    noid("bind", "set", name, "_t", "https://a.example/")
    assert exported(noid, tmp_path / "site", "--git")["Commit"] == "made"
    assert len(git("log", "--oneline").splitlines()) == 2 and git("status", "--porcelain") == ""
    assert not list((tmp_path / "remote/refs/heads").iterdir())


def test_sites_of_all_minters_of_a_folder(tmp_path):
    (tmp_path / "minters").mkdir()
    for name in ("a1", "b2"):
        Noid.created(tmp_path / "minters" / name, *LONG_TERM).close()
    minter = Noid(tmp_path / "minters/a1")
    minter("export", "--site", str(tmp_path / "sites"), "--minters", str(tmp_path / "minters"))
    assert sorted(os.listdir(tmp_path / "sites")) == ["a1", "b2"]
    minter.close()
