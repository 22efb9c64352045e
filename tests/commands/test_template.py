"""Templates that dbcreate and validate accept and refuse."""

from __future__ import annotations

import pytest


def test_dbcreate_refuses_identifiers_too_long_for_their_check_character(noid):
    assert "too long for its check character" in noid.refused("dbcreate", f".s{'e' * 28}k")
    assert "too long" in noid.refused("dbcreate", f".s{'e' * 22}k", "long", "13030", "a", "b")
    noid("dbcreate", f".s{'e' * 21}k", "long", "13030", "a", "b")


@pytest.mark.parametrize(("template", "good", "bad"), [
    (".zd", ["0", "7", "10", "12345678901234567890"], ["007", "", "x", "1-2"]),
    ("s.zde", ["s0z", "s10z"], ["s0", "s00z", "z0z"]),
])
def test_an_unlimited_template_validates_labels_of_any_length_that_it_can_mint(noid, template, good, bad):
    for identifier in good:
        assert noid("validate", template, identifier) == f"id: {identifier}\n"
    for identifier in bad:
        assert noid.run("validate", template, identifier).returncode == 1
