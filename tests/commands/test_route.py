"""The command route."""

from __future__ import annotations

ROUTES = b"""
# theses and scans have minters of their own
match ^thesis/        /srv/theses
match '\\.(tif|jp2)$'  http://scans.example.org/noidu
match "(?i)^map of "  'maps and charts'
share one two three
"""


def test_the_first_route_that_matches_decides(noid):
    (noid.folder / "routes").write_bytes(ROUTES)
    assert noid("route", "thesis/17.tif") == "/srv/theses\n"
    assert noid("route", "a/b.tif", "--routes", "routes") == "http://scans.example.org/noidu\n"
    assert noid("route", "Map of Spain", "--routes=routes") == "maps and charts\n"
    assert noid("route", "photo") in ("one\n", "two\n", "three\n")
    assert noid("-f", str(noid.folder), "route", "--", "--routes") in ("one\n", "two\n", "three\n")


def test_a_file_that_cannot_be_read_is_refused(noid):
    assert "cannot be read: No such file" in noid.refused("route", "x", status=1)
    assert "cannot be read" in noid.refused("route", "x", "--routes", ".", status=1)
    assert "Item" in noid.refused("route", status=2)
    assert "Item" in noid.refused("route", "a", "b", status=2)
