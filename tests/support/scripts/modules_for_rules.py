"""Prints which slow modules are loaded when a rule is passed over by its literal start."""

import sys

from noidtools.rules import RuleSet

RuleSet([(b"^a", b"")]).first(b"b")
print(*sorted({"pcre2", "re", "typing", "enum"} & {*sys.modules}))
