"""A model of the original noid: what its commands do to its database, as far as minting depends on it.

It was written from what the original was observed to do, oddities included, and shares no code with the package: the
importer is tested against it.
"""

from __future__ import annotations

ALPHABETS = {"d": "0123456789", "e": "0123456789bcdfghjkmnpqrstvwxz"}
COUNTERS = 293
NO_DATE = "0" * 14


class PerlNoid:
    """A minter of the original, with its database as a dictionary of text, and a clock of fourteen digits."""

    def __init__(self, mask: str, term: str = "medium", naan: str = "", prefix: str = "") -> None:
        self.now = 20200101000000
        self.mask = mask
        total = 1
        for letter in mask[1:].rstrip("k"):
            total *= len(ALPHABETS[letter])
        self.total = -1 if mask[0] == "z" else total
        self.first = f"{naan}/{prefix}" if naan else prefix
        self.db = {
            ":/version": "0.424", ":/template": f"{prefix}.{mask}", ":/prefix": prefix, ":/mask": mask,
            ":/genonly": "1",
            ":/longterm": "1" if term == "long" else "", ":/wrap": "1" if term == "short" else "", ":/naan": naan,
            ":/naa": "example.org", ":/subnaa": "test", ":/firstpart": self.first, ":/total": str(self.total),
            ":/oatop": str(self.total), ":/addcheckchar": "1" if mask[-1] == "k" else "",
            ":/generator_type": "random" if mask[0] == "r" else "sequential", ":/held": "0", ":/queued": "0",
            ":/fseqnum": "1", ":/gseqnum": "1", ":/gseqnum_date": "0", ":/erc": "",
            ":/padwidth": str(len(mask) + (16 if mask[0] == "z" else 2)),
        }
        self._start_counters()

    def items(self) -> dict[bytes, bytes]:
        """The database, for a dump."""
        return {key.encode(): value.encode() for key, value in self.db.items()}

    def _number(self, name: str, change: int = 0) -> int:
        """A number of the database, after the change was added to it."""
        self.db[f":/{name}"] = str(int(self.db[f":/{name}"]) + change)
        return int(self.db[f":/{name}"])

    def _start_counters(self) -> None:
        self.db[":/oacounter"] = "0"
        size = int(self.total / COUNTERS + 1)
        self.db[":/percounter"] = str(size)
        names: list[str] = []
        left = self.total
        while left > 0:
            names.append(f"c{len(names)}")
            self.db |= {f":/{names[-1]}/top": str(min(size, left)), f":/{names[-1]}/value": "0"}
            left -= size
        self.db |= {":/saclist": "".join(f"{name} " for name in names), ":/siclist": ""}

    # -- minting -------------------------------------------------------------------------------------------------

    def mint(self) -> str | None:
        """The next identifier, None if none is left."""
        return self._from_queue() or self._drawn()

    def _from_queue(self) -> str | None:
        while True:
            keys = [key for key in self.db if key.startswith(":/q/")]
            if not keys:
                self.db[":/fseqnum"] = "1"
                return None
            key = min(keys)
            if int(key[4:18]) > self.now:
                return None
            identifier = self.db.pop(key)
            self._number("queued", -1)
            letter = self._letter(identifier)
            if f"{identifier}\t:/h" not in self.db and letter not in ("i", "u"):
                return self._circulate(identifier, "i" + letter)

    def _drawn(self) -> str | None:
        while True:
            seed = self._number("oacounter")
            number = self._draw(seed)
            if number is None:
                return None
            identifier = self._label(number)
            letter = self._letter(identifier)
            reissue = letter != "i" or (self.db[":/wrap"] and not self.db[":/longterm"])
            if f"{identifier}\t:/h" not in self.db and letter not in ("q", "u") and reissue:
                return self._circulate(identifier, "i" + letter)

    def _draw(self, seed: int) -> int | None:
        if self.total != -1 and seed >= self.total:
            if not self.db[":/wrap"]:
                return None
            self._start_counters()
        if self.mask[0] != "r":
            return self._number("oacounter", 1) - 1
        active = self.db[":/saclist"].split()
        state = ((seed & 0xFFFFFFFF) << 16) + 0x330E
        state = (state * 0x5DEECE66D + 0xB) & (1 << 48) - 1
        name = active[int(state / 2**48 * len(active))]
        value = self._number(f"{name}/value", 1)
        self._number("oacounter", 1)
        if value >= self._number(f"{name}/top"):
            self.db[":/saclist"] = "".join(f"{other} " for other in active if other != name)
            self.db[":/siclist"] += f" {name}"
        return value + int(name[1:]) * self._number("percounter")

    def _label(self, number: int) -> str:
        letters = list(self.mask[1:].rstrip("k"))
        text = ""
        while letters or (number and self.mask[0] == "z"):
            alphabet = ALPHABETS[letters.pop() if letters else self.mask[1]]
            number, digit = divmod(number, len(alphabet))
            text = alphabet[digit] + text
        text = self.first + text
        if self.mask[-1] != "k":
            return text
        alphabet = ALPHABETS["e"]
        return text + alphabet[sum(place * max(0, alphabet.find(c)) for place, c in enumerate(text, 1)) % len(alphabet)]

    def _letter(self, identifier: str) -> str:
        """The newest letter of its circulation record; the original forgets the others when it writes the next."""
        return self.db.get(f"{identifier}\t:/c", "")[:1]

    def _circulate(self, identifier: str, letters: str) -> str:
        if letters[0] == "i" and self.db[":/longterm"]:
            self.hold(identifier)
        self.db[f"{identifier}\t:/c"] = f"{letters}|{self.now}|alice/staff|{self.db[':/oacounter']}"
        return identifier

    # -- holds and the queue -------------------------------------------------------------------------------------

    def hold(self, identifier: str) -> None:
        self.db[f"{identifier}\t:/h"] = "1"
        self._number("held", 1)

    def release(self, identifier: str) -> None:
        self.db.pop(f"{identifier}\t:/h", None)
        self._number("held", -1)

    def queue(self, when: str, identifier: str) -> None:
        """`when` is first, lvf, delete or a date; what the original refuses changes nothing."""
        letter = self._letter(identifier)
        if f"{identifier}\t:/h" in self.db or (letter == "q") != (when == "delete"):
            return
        self._circulate(identifier, ("u" if when == "delete" else "q") + letter)
        sequence = 0
        date = when if when.isdigit() else NO_DATE
        if when == "first":
            sequence = self._number("fseqnum", 1) - 1
        elif when.isdigit():
            if int(date) > self._number("gseqnum_date"):
                self.db |= {":/gseqnum": "1", ":/gseqnum_date": date}
            sequence = self._number("gseqnum", 1) - 1
        self._number("queued", 1)
        padded = identifier.removeprefix(self.first).rjust(self._number("padwidth"), "0")
        self.db[f":/q/{date}/{sequence:06}/{padded}"] = identifier
