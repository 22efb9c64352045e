"""Labels in front of identifiers."""

from __future__ import annotations


def test_labels_are_stripped_from_requests_and_the_first_is_added_to_answers(noid):
    noid("dbcreate", "--label", "ark:/", "--label", "urn:x:", "f5.reedeedk", "long", "13030", "a", "b")
    assert noid("mint", "1") == "id: ark:/13030/f54x54g11\n\n"
    noid("bind", "set", "urn:x:13030/f54x54g11", "e", "v")
    assert noid("get", "13030/f54x54g11", "e") == "v\n"
    assert noid("fetch", "ark:/13030/f54x54g11").startswith("id:    ark:/13030/f54x54g11 hold\n")
    assert noid("validate", "-", "ark:/13030/f54x54g11") == "id: ark:/13030/f54x54g11\n"


def test_the_longest_label_is_stripped(noid):
    noid("dbcreate", "--label", "ark:", "--label", "ark:/", ".sdd")
    noid("bind", "set", "ark:/01", "e", "v")
    assert noid("get", "ark:01", "e") == noid("get", "01", "e") == "v\n"
