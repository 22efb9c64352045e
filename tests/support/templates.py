"""Words with which tests create minters."""

from __future__ import annotations

# A long-term minter; its first identifiers are 13030/kt4x551 and 13030/kt154d9.
LONG_TERM = ("kt.reeded", "long", "13030", "cdlib.org", "dpg")
# One with check characters; its first identifiers are 13030/f54x54g11 and 13030/f5154dn7k.
CHECKED = ("f5.reedeedk", "long", "13030", "cdlib.org", "oac")
# Minters whose labels are made from the time.
IBI = ("--scheme", "ibi", "--computer", "mtc-m18.sid.inpe.br", "--port", "80")
IBIP = ("--scheme", "ibip", "--ip", "150.163.34.243", "--port", "800")
PILIN = ("--scheme", "pilin", "--prefix", "102.100.272")

# The words of dbcreate for minters of labels made from place and time.
SCHEMES = {
    "ibi": ("--scheme", "ibi", "--computer", "mtc-m18.sid.inpe.br", "--granularity", "0.01"),
    "ibip": ("--scheme", "ibip", "--ip", "150.163.34.243", "--port", "800", "--granularity", "0.01"),
    "pilin": ("--scheme", "pilin", "--prefix", "102.100.272", "--label", "hdl:"),
}
# What names begin with that a web server has to be told of, as its configuration wants it.
PREFIXES = r"kt|102\.100\.272/"
