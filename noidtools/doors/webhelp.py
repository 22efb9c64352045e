"""What a minter says of itself to somebody who comes by with a browser."""

from __future__ import annotations

from ..answers import Answer, Text
from ..commands.table import COMMANDS, LOCAL

_INTRODUCTION = """\
This is a minter of identifiers.  Commands are given in the query of its address, their words separated by +:

    ?mint+1                                   make an identifier
    ?bind+set+Id+Element+Value                bind a value to an element of an identifier
    ?get+Id+Element                           ask for it
    ?-                                        run the commands in the body of a POST, one a line

Whatever is not a plain letter or digit is best percent-encoded: a blank is %20, a plus sign %2B, a quote %22.
Quotes hold words together as in a shell: 'two+words'.
Answers are labelled lines of text, or JSON if the request says Accept: application/json.
A request with an Idempotency-Key can be repeated for a day: what was done is answered again, not done again.

"""


def explained() -> Answer:
    shown = [f"  {command.usage}\n      {command.summary}\n" for command in COMMANDS.values() if command.kind != LOCAL]
    return Answer(Text(_INTRODUCTION + "".join(shown)))
