"""The policies of a minter: who may use which commands through the web, and what it promises.

Commands are of four access classes: read, mint, bind and admin.  For each class a minter stores who may use it: anyone,
every user the web server has authenticated, nobody, or the users named.  At the shell the permissions of the files
decide, not these.
"""

from __future__ import annotations

from ..clock import timestamp
from ..errors import ForbiddenError, InvalidError, LoginNeededError, UsageError, printable
from . import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor


# From the least to the most demanding.
CLASSES = READ, MINT, BIND, ADMIN = "read", "mint", "bind", "admin"
ANYONE, AUTHENTICATED, NOBODY = b"anyone", b"authenticated", b"nobody"
AUDIENCES = (ANYONE, AUTHENTICATED, NOBODY)

# Before the name of a user, where it is stored, and where it is one of the words above.
_USER = b"user:"
_LONGEST_USER = 255


class AccessRule:
    """Who may use one class of commands: one of the words, or users by name."""

    __slots__ = ("word", "users")

    def __init__(self, word: bytes = b"", users: tuple[bytes, ...] = ()) -> None:
        self.word = word
        self.users = users

    @classmethod
    def parse(cls, words: list[bytes]) -> AccessRule:
        """From words as a person writes them: one of the three, or names; `user:NAME` always means a name."""
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

    def packed(self) -> bytes:
        return self.word or b"\n".join(_USER + user for user in self.users)

    def display(self) -> bytes:
        """As a person writes it; the inverse of `parse`."""
        return self.word or b" ".join(_USER + user if user in AUDIENCES else user for user in self.users)

    def admits(self, user: bytes) -> bool:
        """Whether this user may; an empty name is somebody who did not log in."""
        if self.word:
            return self.word == ANYONE or (self.word == AUTHENTICATED and bool(user))
        return user in self.users

    def login_helps(self) -> bool:
        return self.word not in (ANYONE, NOBODY)


def _user_name(word: bytes) -> bytes:
    name = word[len(_USER) :] if word.startswith(_USER) else word
    if not 0 < len(name) <= _LONGEST_USER or any(byte < 0x21 or byte == 0x7F for byte in name):
        raise InvalidError(f"a user's name has 1 to {_LONGEST_USER} bytes, and no blanks or control characters")
    return name
DEFAULTS = {
    READ: AccessRule(ANYONE), MINT: AccessRule(AUTHENTICATED), BIND: AccessRule(AUTHENTICATED),
    ADMIN: AccessRule(AUTHENTICATED),
}


class AccessPolicy:
    """The rules of one minter, as they are at one moment."""

    __slots__ = ("rules",)

    def __init__(self, rules: dict[str, AccessRule]) -> None:
        self.rules = {**DEFAULTS, **rules}

    @classmethod
    def of(cls, reader: Reader) -> AccessPolicy:
        stored = config.values(reader, "policy")
        return cls({name: AccessRule.unpacked(packed) for name, packed in stored.items() if name in CLASSES})

    def ensure(self, command: str, classes: tuple[str, ...], user: bytes) -> None:
        """Refuse a command of these classes to a user who is not admitted to all of them, and say who is."""
        for name in classes:
            rule = self.rules[name]
            if rule.admits(user):
                continue
            needed = f"{command} is of the class {name}, which here is for {_audience(rule)}"
            if user or not rule.login_helps():
                who = printable(user) or "somebody who did not log in"
                raise ForbiddenError(f"{needed}, and not for {who}")
            raise LoginNeededError(f"{needed}: log in first")


def set_access(writer: Writer, actor: Actor, name: str, rule: AccessRule | None) -> None:
    """Set the rule of a class, or with None go back to its default."""
    config.change(writer, actor, f"policy/{name}", rule.packed() if rule else None)


def _audience(rule: AccessRule) -> str:
    if rule.word == AUTHENTICATED:
        return "users who have logged in"
    # The names are not shown to others.
    return "nobody" if rule.word == NOBODY else "certain users only"


# -- stated policies -------------------------------------------------------------------------------------------------
#
# The label format follows from the scheme.  The others are texts and choices that an administrator sets: what the names
# are for, for how long they last, and whether minting publishes at once or reserves.

LABEL_FORMAT, ASSOCIATION, PERSISTENCE, MINTING = "label-format", "association", "persistence", "minting"
STATED_POLICIES = (LABEL_FORMAT, MINTING, ASSOCIATION, PERSISTENCE)
PUBLISH, RESERVE = b"publish", b"reserve"

# The name of the setting that has RESERVE where minting reserves.
INITIAL_STATE = "lifecycle/minting"
DEFAULT = b"default"
_LONGEST_POLICY = 4096
_TEXT, _FROM, _UNTIL = (f"commitment/persistence{part}" for part in ("", "-from", "-until"))
_ASSOCIATION = "commitment/association"


class Persistence:
    """The promise that names last: in words, and for which time.  `until` is empty where no end is set."""

    __slots__ = ("text", "start", "until")

    def __init__(self, text: bytes, start: bytes, until: bytes) -> None:
        self.text = text
        self.start = start
        self.until = until


def persistence(reader: Reader) -> Persistence | None:
    text = config.value(reader, _TEXT)
    if text is None:
        return None
    return Persistence(text, config.value(reader, _FROM) or b"", config.value(reader, _UNTIL) or b"")


def set_persistence(writer: Writer, actor: Actor, text: bytes, start: bytes = b"", until: bytes = b"") -> None:
    """Commit to persistence; what was promised before is kept in the record."""
    _ensure_text(text)
    start = start or timestamp(actor.now())
    if until and until < start:
        raise UsageError(f"the time would end ({until.decode()}) before it begins ({start.decode()})")
    for name, value in ((_TEXT, text), (_FROM, start), (_UNTIL, until or None)):
        _change(writer, actor, name, value)


def clear_persistence(writer: Writer, actor: Actor) -> None:
    for name in (_TEXT, _FROM, _UNTIL):
        _change(writer, actor, name, None)


def association(reader: Reader) -> bytes | None:
    """On what things the minter's identifiers may stand for."""
    return config.value(reader, _ASSOCIATION)


def set_association(writer: Writer, actor: Actor, text: bytes | None) -> None:
    if text is not None:
        _ensure_text(text)
    _change(writer, actor, _ASSOCIATION, text)


def minting_policy(reader: Reader) -> bytes:
    """Whether minting publishes at once or reserves."""
    return RESERVE if config.value(reader, INITIAL_STATE) == RESERVE else PUBLISH


def set_minting_policy(writer: Writer, actor: Actor, choice: bytes) -> None:
    if choice not in (PUBLISH, RESERVE):
        raise UsageError("minting can publish at once or reserve: say policy minting publish|reserve, not "
                         f"{printable(choice)!r}")
    _change(writer, actor, INITIAL_STATE, None if choice == PUBLISH else choice)


def set_stated_policy(
    writer: Writer, actor: Actor, name: str, value: bytes, start: bytes = b"", until: bytes = b""
) -> None:
    """Set the policy on minting, association or persistence; the word default goes back to the default.

    The dates are for persistence alone.
    """
    default = value == DEFAULT
    if name == MINTING:
        set_minting_policy(writer, actor, PUBLISH if default else value)
    elif name == ASSOCIATION:
        set_association(writer, actor, None if default else value)
    elif default:
        clear_persistence(writer, actor)
    else:
        set_persistence(writer, actor, value, start, until)


def label_format(minter: Minter) -> bytes:
    """Which labels there can be, from the scheme."""
    form = [f"{name.lower()} {value.decode('utf-8', 'replace')}" for name, value in minter.scheme.form()]
    return f"scheme {minter.scheme.name}; {'; '.join(form)}".encode()


def _change(writer: Writer, actor: Actor, name: str, new: bytes | None) -> None:
    if config.value(writer, name) != new:
        config.change(writer, actor, name, new)


def _ensure_text(text: bytes) -> None:
    if not text.strip() or len(text) > _LONGEST_POLICY:
        raise InvalidError(f"a policy is a text of 1 to {_LONGEST_POLICY} bytes")
