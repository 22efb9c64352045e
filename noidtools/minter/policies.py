"""Policies of a minter: who may use which commands through the web, who may see what, and what the minter promises.

Commands are of four access classes: read, mint, bind, admin.  An access rule for each class admits anyone, every user
whom the web server has authenticated, nobody, or the users named.  At the shell the permissions of the files decide,
and access rules do not apply.

The stated policies are the format of labels, which follows from the scheme, and four that an administrator sets: what
identifiers may stand for (association), for how long they are promised to last (persistence), whether minting publishes
identifiers at once or reserves them, and how many one request through the web may mint (mint-limit).

What a user may see of a minter is one decision, for every command and every interface:

    everything  the shell, and users who may administer
    all names   users who may mint or bind: all but who made a change.  Accounts and addresses are personal data
    published   users who may only read: the same, of names that are published or withdrawn.  A reserved name, and
                one that is only held or queued, is answered for as if nothing were known of it
    targets     users who may not read: where names lead, and the tombstones of those that were withdrawn; nothing else

Access rules decide which of the four holds for a user (`AccessPolicy.view`).  In a transaction, `lifecycle.reader_in`
gives the reader through which a user's commands see the minter: what reads through it need not know of views.
"""

from __future__ import annotations

from itertools import islice

from ..codec import pack, split_pair, unpack
from ..errors import ForbiddenError, InvalidError, LoginNeededError, TokenNeededError, UsageError, printable
from . import config
from .schema import BY_IDENTIFIER, BY_PAIR, EVENTS, ensure_not_departed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor

# From the least to the most demanding.
CLASSES = READ, MINT, BIND, ADMIN = "read", "mint", "bind", "admin"

# What a user may see, from the most to the least (see `RestrictedReader`).
EVERYTHING, ALL_NAMES, PUBLISHED, TARGETS = "everything", "all names", "published", "targets"

# The policy on minting: its name in config.py, and its values, of which the first is the default.
INITIAL_STATE = "lifecycle/minting"
PUBLISH, RESERVE = b"publish", b"reserve"


def minting_policy(reader: Reader) -> bytes:
    """PUBLISH or RESERVE: the state that minting gives to identifiers."""
    return RESERVE if config.value(reader, INITIAL_STATE) == RESERVE else PUBLISH


ANYONE, AUTHENTICATED, NOBODY = b"anyone", b"authenticated", b"nobody"
MINT_LIMIT_SETTING = "minting/most"
_PLACES = (*(config.place(f"policy/{name}") for name in CLASSES), config.place(MINT_LIMIT_SETTING))
AUDIENCES = (ANYONE, AUTHENTICATED, NOBODY)

# What the name of a user begins with where an access rule is stored, and where somebody writes the name of a user that
# is also the word for an audience.
_USER = b"user:"
# What the name of a token's user begins with (see tokens.py).
TOKEN_USER = b"token:"
# What the secret of a token begins with, so that one that was published by mistake can be found.
TOKEN_PREFIX = b"noid_"
_LONGEST_USER = 255


class AccessRule:
    """Who may use one class of commands: `word` is one of AUDIENCES, or else `users` are the names of users."""

    __slots__ = ("word", "users")

    def __init__(self, word: bytes = b"", users: tuple[bytes, ...] = ()) -> None:
        self.word = word
        self.users = users

    @classmethod
    def parse(cls, words: list[bytes]) -> AccessRule:
        """Parse the words of a command: one of AUDIENCES, or names of users; `user:NAME` always means a name.

        Raises InvalidError for what is no name of a user, and for a word of AUDIENCES among names.
        """
        if len(words) == 1 and words[0] in AUDIENCES:
            return cls(words[0])
        for word in words:
            if word in AUDIENCES:
                text = word.decode()
                raise InvalidError(f"{text} stands alone, not among names: a user of that name is written user:{text}")
        return cls(users=tuple(sorted({_user_name(word) for word in words})))

    @classmethod
    def unpacked(cls, packed: bytes) -> AccessRule:
        if packed in AUDIENCES:
            return cls(packed)
        return cls(users=tuple(line[len(_USER) :] for line in packed.split(b"\n")))

    @classmethod
    def is_packed(cls, packed: bytes) -> bool:
        """Whether this is a rule as `packed` returns it."""
        try:
            return cls.unpacked(packed).packed() == packed and all(map(_user_name, cls.unpacked(packed).users))
        except InvalidError:
            return False

    def packed(self) -> bytes:
        return self.word or b"\n".join(_USER + user for user in self.users)

    def display(self) -> bytes:
        """The rule as the command prints it and `parse` reads it."""
        return self.word or b" ".join(_USER + user if user in AUDIENCES else user for user in self.users)

    def admits(self, user: bytes) -> bool:
        """Whether the rule admits a user; an empty name is a user who did not log in."""
        if self.word:
            return self.word == ANYONE or (self.word == AUTHENTICATED and bool(user))
        return user in self.users


def _user_name(word: bytes) -> bytes:
    name = word[len(_USER) :] if word.startswith(_USER) else word
    if not 0 < len(name) <= _LONGEST_USER or any(byte < 0x21 or byte == 0x7F for byte in name):
        raise InvalidError(f"a user's name has 1 to {_LONGEST_USER} bytes, and no blanks or control characters")
    return name


# The access rules of a minter unless others are set.
DEFAULTS = {
    READ: AccessRule(ANYONE), MINT: AccessRule(AUTHENTICATED), BIND: AccessRule(AUTHENTICATED),
    ADMIN: AccessRule(NOBODY),
}


# How many identifiers one request may mint unless the policy says otherwise: a whole namespace is used up for good by a
# slip of the keyboard, or by a program that asks again and again.
DEFAULT_MINT_LIMIT = 10_000


class AccessPolicy:
    """The access rules of a minter, by class, and how many identifiers one request may mint, as read in one
    transaction."""

    __slots__ = ("rules", "mint_limit")

    def __init__(self, rules: dict[str, AccessRule], mint_limit: int = DEFAULT_MINT_LIMIT) -> None:
        self.rules = {**DEFAULTS, **rules}
        self.mint_limit = mint_limit

    @classmethod
    def of(cls, reader: Reader) -> AccessPolicy:
        """The access rules of a minter."""
        *packed_rules, limit = reader.get_many(_PLACES)
        rules = {name: AccessRule.unpacked(packed) for name, packed in zip(CLASSES, packed_rules, strict=True)
                 if packed}
        return cls(rules, int(limit or DEFAULT_MINT_LIMIT))

    def ensure(self, command: str, classes: tuple[str, ...], user: bytes) -> None:
        """Check that a user is admitted to all these classes; an empty name is a user who did not log in.

        Raises LoginNeededError if logging in or a token may help, else ForbiddenError.
        """
        for name in classes:
            rule = self.rules[name]
            if rule.admits(user):
                continue
            if user:
                raise ForbiddenError(
                    f"{command} is not open to {printable(user)}: the class {name} is for {_audience(rule)} here")
            if rule.word == NOBODY:
                raise TokenNeededError(f"{command} is not open to anonymous users: the class {name} is for nobody here")
            remedy = "" if name == ADMIN else f"an administrator can open it with 'noid policy {name} anyone'"
            raise LoginNeededError(f"{command} needs a login here", remedy)

    def may_change(self, user: bytes) -> bool:
        """Whether this user may do more than read."""
        rules = self.rules
        return rules[MINT].admits(user) or rules[BIND].admits(user) or rules[ADMIN].admits(user)

    def view(self, user: bytes) -> str:
        """What this user may see through the web: EVERYTHING, ALL_NAMES, PUBLISHED or TARGETS."""
        if not self.rules[READ].admits(user):
            return TARGETS
        if self.rules[ADMIN].admits(user):
            return EVERYTHING
        return ALL_NAMES if self.may_change(user) else PUBLISHED


def set_access(writer: Writer, actor: Actor, name: str, rule: AccessRule | None) -> None:
    """Set the access rule of a class, or with None return to its default."""
    config.change(writer, actor, f"policy/{name}", rule.packed() if rule else None)


def _audience(rule: AccessRule) -> str:
    if rule.word == AUTHENTICATED:
        return "users who have logged in"
    # The names of users are not disclosed to others.
    return "nobody" if rule.word == NOBODY else "certain users only"


# -- stated policies -------------------------------------------------------------------------------------------------

LABEL_FORMAT, ASSOCIATION, PERSISTENCE, MINTING = "label-format", "association", "persistence", "minting"
MINT_LIMIT = "mint-limit"
STATED_POLICIES = (LABEL_FORMAT, MINTING, MINT_LIMIT, ASSOCIATION, PERSISTENCE)
DEFAULT = b"default"
_LONGEST_POLICY = 4096
_LONGEST_LIMIT = 18
_TEXT, _FROM, _UNTIL = (f"commitment/persistence{part}" for part in ("", "-from", "-until"))
PERSISTENCE_DATES = (_FROM, _UNTIL)
_ASSOCIATION = "commitment/association"


class Persistence:
    """The promise that identifiers persist: its text, and from when until when; `until` is empty if no end is set."""

    __slots__ = ("text", "start", "until")

    def __init__(self, text: bytes, start: bytes, until: bytes) -> None:
        self.text = text
        self.start = start
        self.until = until


def persistence(reader: Reader) -> Persistence | None:
    """The promise of persistence, None if there is none."""
    text = config.value(reader, _TEXT)
    if text is None:
        return None
    return Persistence(text, config.value(reader, _FROM) or b"", config.value(reader, _UNTIL) or b"")


def association(reader: Reader) -> bytes | None:
    """The policy on what the identifiers of the minter may stand for, None if it is not stated."""
    return config.value(reader, _ASSOCIATION)


def set_stated_policy(
    writer: Writer, actor: Actor, name: str, value: bytes, start: bytes = b"", until: bytes = b""
) -> None:
    """Set the policy on minting, its limit, association or persistence; the value DEFAULT returns to the default.

    `start` and `until` are for persistence, which is promised from now on without a start; the events keep the promise
    before.  Raises UsageError for a time that would end before it begins, for what minting cannot do and for what is no
    limit, InvalidError for an unsuitable text, ConflictError if the names were handed over.
    """
    ensure_not_departed(writer)
    text = None if value == DEFAULT else value
    if name == MINTING:
        if text not in (None, PUBLISH, RESERVE):
            raise UsageError(f"the policy on minting is publish or reserve, not {printable(value)!r}")
        settings = {INITIAL_STATE: None if text == PUBLISH else text}
    elif name == MINT_LIMIT:
        settings = {MINT_LIMIT_SETTING: None if text is None else b"%d" % as_limit(text)}
    elif text is not None and (not text.strip() or len(text) > _LONGEST_POLICY):
        raise InvalidError(f"a policy is a text of 1 to {_LONGEST_POLICY} bytes")
    elif name == ASSOCIATION:
        settings = {_ASSOCIATION: text}
    else:
        start = start or actor.date()
        if text and until and until < start:
            raise UsageError(f"the time would end ({until.decode()}) before it begins ({start.decode()})")
        settings = {_TEXT: text, _FROM: text and start, _UNTIL: text and (until or None)}
    for setting, new in settings.items():
        if config.value(writer, setting) != new:
            config.change(writer, actor, setting, new)


def as_limit(text: bytes) -> int:
    """How many identifiers may be minted; raises UsageError for what is no number."""
    if not text.isdigit() or len(text) > _LONGEST_LIMIT:
        raise UsageError(f"a limit is a number of identifiers, not {printable(text)[:60]!r}")
    return int(text)


def label_format(minter: Minter) -> bytes:
    """The format of the labels of a minter, which follows from its scheme."""
    form = [f"{name.lower()} {value.decode('utf-8', 'replace')}" for name, value in minter.scheme.form()]
    return f"scheme {minter.scheme.name}; {'; '.join(form)}".encode()


# -- what a user may see ---------------------------------------------------------------------------------------------


class RestrictedReader:
    """A reader of a store in which events have no actor, and in which nothing is stored about names that are not public
    unless `is_public` is None.

    everything  the reader that sees all
    """

    __slots__ = ("everything", "_is_public", "_judged")

    def __init__(self, everything: Reader, is_public: Callable[[Reader, bytes], bool] | None) -> None:
        self.everything = everything
        self._is_public = is_public
        self._judged: dict[bytes, bool] = {}

    @property
    def hides_names(self) -> bool:
        return self._is_public is not None

    def hides(self, identifier: bytes) -> bool:
        """Whether an identifier, as stored, is one that is not public."""
        if self._is_public is None:
            return False
        hidden = self._judged.get(identifier)
        if hidden is None:
            hidden = self._judged[identifier] = not self._is_public(self.everything, identifier)
        return hidden

    def get(self, table: bytes, key: bytes) -> bytes | None:
        value = self.everything.get(table, key)
        return None if value is None or self._hides_item(table, key) else _visible(table, value)

    def get_many(self, places: Sequence[tuple[bytes, bytes]]) -> list[bytes | None]:
        found = self.everything.get_many(places)
        # Nothing is asked about names of which nothing is stored.
        return [None if value is None or self._hides_item(table, key) else _visible(table, value)
                for (table, key), value in zip(places, found, strict=True)]

    def scan(
        self, table: bytes, prefix: bytes = b"", *, after: bytes | None = None, limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[tuple[bytes, bytes]]:
        items = self.everything.scan(table, prefix, after=after, reverse=reverse)
        return islice(((key, _visible(table, value)) for key, value in items if not self._hides_item(table, key)),
                      limit)

    def _hides_item(self, table: bytes, key: bytes) -> bool:
        if table in BY_IDENTIFIER:
            return self.hides(key)
        if table in BY_PAIR:
            identifier = split_pair(key)[0]
            return bool(identifier) and self.hides(identifier)
        return False


def _visible(table: bytes, value: bytes) -> bytes:
    """A stored value, an event without its actor."""
    if table != EVENTS:
        return value
    date, _, *rest = unpack(value)
    return pack([date, b"", *rest])


def hides_names(view: str) -> bool:
    """Whether names that are not public are hidden from a user with this view."""
    return view in (PUBLISHED, TARGETS)


def sees_all_names(reader: Reader) -> bool:
    """Whether the user of a reader may see names that are not public."""
    return not isinstance(reader, RestrictedReader) or not reader.hides_names


def sees_everything(reader: Reader) -> bool:
    """Whether the user of a reader may see all, and who made each change."""
    return everything(reader) is reader


def hides(reader: Reader, identifier: bytes) -> bool:
    """Whether the user of a reader may not see an identifier, because it is not public."""
    return isinstance(reader, RestrictedReader) and reader.hides(identifier)


def everything(reader: Reader) -> Reader:
    """The reader that sees all names: for decisions that must not depend on the user, such as where a name leads."""
    return reader.everything if isinstance(reader, RestrictedReader) else reader
