"""Commands that create a minter, describe it, and say who may do what: dbcreate, dbinfo, note, policy, token."""

from __future__ import annotations

import os

from .. import dates, times
from ..codec import encode_text
from ..errors import ConflictError, UsageError, printable
from ..minter import Minter, creation, location_of, policies, report, tokens
from ..minter.config import all_notes, put_note
from ..minter.folder import is_served, minters_with_prefix
from ..minter.policies import ADMIN, CLASSES, EVERYTHING, READ, hides_names, minting_policy
from ..minter.report import dump, internals, properties
from ..schemes import scheme_for
from ..store import exists
from .answers import Answer, Fields
from .command import Command, Form, Option, as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..schemes.base import Settings
    from ..store import Reader, Writer
    from .call import Call


# -- dbcreate --------------------------------------------------------------------------------------------------------

_POSITIONAL = ("template", "term", "naan", "naa", "subnaa")
_STORE_OPTIONS = ("store", "read")
# Options that are no settings of a scheme.
_OTHER_OPTIONS = ("label", "same-prefix", *_STORE_OPTIONS)


def _dbcreate(call: Call) -> Answer:
    values = {name: call.option(name) or "" for name in call.options if name not in _OTHER_OPTIONS}
    for name, word in zip(_POSITIONAL, call.words, strict=False):
        # A hyphen stands for the default, so that a later word can follow.
        if word not in (b"", b"-"):
            values[name] = as_text(word, f"the {name}")
    settings = creation.new_settings(values, call.values("label"))
    if not call.flag("same-prefix"):
        _ensure_own_prefix(call.session.dbdir, settings)
    address, read = (call.address(name) for name in _STORE_OPTIONS)
    minter = creation.create(call.session.dbdir, settings, call.actor, address=address, read=read)
    try:
        location = encode_text(minter.store.location)
        return Answer(Fields(("Folder", location), *properties(minter)), spaced=True)
    finally:
        minter.close()


def _ensure_own_prefix(dbdir: str, settings: Settings) -> None:
    """Refuse a minter that would mint the names of another one in the same folder, if that is served."""
    prefix = scheme_for(settings).namespace_prefix
    if not settings["naan"] or not prefix or exists(location_of(dbdir)):
        return
    folder = os.path.dirname(os.path.abspath(dbdir))
    others = minters_with_prefix(folder, prefix) if is_served(folder) else []
    if others:
        raise ConflictError(f"the minter {others[0]} in the same folder has the NAAN and prefix {prefix.decode()}, "
                            "too, and both would mint the same names: choose another prefix, or add --same-prefix")


_CREATION_OPTIONS = (
    Option("--label Label", "a label such as ark:/ before identifiers; answers are written with the first one"),
    Option("--seed N", "a number that selects another random order"),
    Option("--at-last stop|wrap|addN", "what to do when all identifiers are used; addN adds N characters"),
    Option("--scheme noid|ibi|ibip|pilin", "how labels are made"),
    Option("--computer Name", "ibi: the full domain name of the server"),
    Option("--ip Address", "ibip: the address of the server"),
    Option("--port N", "ibi, ibip: the port of the server"),
    Option("--prefix Prefix", "pilin: the Handle prefix"),
    Option("--granularity Seconds", "ibi, ibip: the time between two labels"),
    Option("--patience Seconds", "ibi, ibip, pilin: how long to wait for a label"),
    Option("--store Address", "keep the minter in a PostgreSQL server, as in postgresql://host/database"),
    Option("--read Address", "with --store: a standby of that server, from which resolvers read"),
    Option("--same-prefix", "allow the NAAN and prefix of another minter in the same folder"),
)


# -- dbinfo and note -------------------------------------------------------------------------------------------------


def _full_info(call: Call) -> Answer:
    minter = call.minter
    return _info(call, minter.read(lambda reader: internals(minter, reader)))


def _info(call: Call, more: list[tuple[str, bytes]] | None = None) -> Answer:
    minter = call.minter
    fields = report.properties(minter) + report.status(call.look(report.MinterState))
    if call.session.view != EVERYTHING:
        fields = [field for field in fields if field[0] != "Creator"]
    if not hides_names(call.session.view):
        fields += report.database_status(minter)
    fields += more or []
    notes = (Fields(("Note", printable(name).encode() + b": " + text)) for name, text in minter.read(all_notes))
    return Answer(Fields(*fields), *notes, spaced=True)


def _dump(call: Call) -> Answer:
    return Answer(stream=(Fields(pair) for pair in dump(call.minter)), spaced=True)


def _note(call: Call) -> Answer:
    name, text = call.words
    call.minter.write(lambda writer: put_note(writer, call.actor, name, text))
    return Answer(Fields(("ok", b"note " + name + b" kept")), spaced=True)


# -- policy ----------------------------------------------------------------------------------------------------------


def _show_policy(call: Call) -> Answer:
    minter = call.minter
    stated = minter.read(lambda reader: _policy_fields(call, reader, *policies.STATED_POLICIES))
    return Answer(_access_fields(call, *CLASSES), stated, spaced=True)


def _show_policy_of(call: Call) -> Answer:
    name = call.words[0].decode()
    if name in CLASSES:
        return Answer(_access_fields(call, name), spaced=True)
    return Answer(call.minter.read(lambda reader: _policy_fields(call, reader, name)), spaced=True)


def _access_fields(call: Call, *names: str) -> Fields:
    rules = call.minter.read(policies.AccessPolicy.of).rules
    return Fields(*((name, rules[name].display()) for name in names))


def _set_access(call: Call) -> Answer:
    name, *audience = call.words
    rule = None if audience == [policies.DEFAULT] else policies.AccessRule.parse(audience)
    call.minter.write(lambda writer: policies.set_access(writer, call.actor, name.decode(), rule))
    return _show_policy_of(call)


def _set_commitment(call: Call) -> Answer:
    name, text = call.words
    if text == policies.DEFAULT and call.options:
        raise UsageError("--from and --until need a text, not default")
    start, until = call.start("from"), call.end("until")
    call.minter.write(
        lambda writer: policies.set_stated_policy(writer, call.actor, name.decode(), text, start, until)
    )
    return _show_policy_of(call)


def _policy_fields(call: Call, reader: Reader, *names: str) -> Fields:
    """The stated policies of these names; those without a value are left out, unless it is the only one."""
    fields: list[tuple[str, bytes]] = []
    for name in names:
        if name == policies.LABEL_FORMAT:
            fields.append((name, policies.label_format(call.minter)))
        elif name == policies.MINTING:
            fields.append((name, minting_policy(reader)))
        elif name == policies.MINT_LIMIT:
            fields.append((name, b"%d" % policies.AccessPolicy.of(reader).mint_limit))
        elif name == policies.ASSOCIATION:
            fields.append((name, policies.association(reader) or b""))
        else:
            promise = policies.persistence(reader)
            fields.append((name, promise.text if promise else b""))
            if promise:
                fields += [("persistence-from", promise.start), ("persistence-until", promise.until)]
    return Fields(*((name, value) for name, value in fields if value or len(names) == 1))


_QUOTED = "a text of several words is quoted"
_PROMISES = (policies.ASSOCIATION, policies.PERSISTENCE, policies.MINTING)
_PROMISE_OPTIONS = (
    Option("--from Date", "when the promise begins; now, unless given"),
    Option("--until Date", "when it ends; never, unless given"),
)


def _show_promises(call: Call) -> Answer:
    stated = call.minter.read(lambda reader: _policy_fields(call, reader, *_PROMISES))
    return Answer(stated, spaced=True)


def _promise_forms(*, superseded: bool = False) -> tuple[Form, ...]:
    """The forms that set a promise, of the commands promise and policy."""
    return (
        Form("association Text|default", _set_commitment, ADMIN, too_many=_QUOTED, superseded=superseded),
        Form("persistence Text|default [--from Date] [--until Date]", _set_commitment, ADMIN, too_many=_QUOTED,
             superseded=superseded),
        Form("minting publish|reserve|default", _set_commitment, ADMIN, superseded=superseded),
    )


# -- token -----------------------------------------------------------------------------------------------------------


def _new_token(call: Call) -> Answer:
    classes = [word.strip() for word in (call.option("may") or "").split(",")]
    expires = _end_of_token(call.option("expires"), call.actor.now())
    name = as_text(call.words[1], "the name of a token").encode()
    most, total = (policies.as_limit(text.encode()) if (text := call.option(option)) is not None else None
                   for option in ("most", "total"))

    def work(writer: Writer, secret: bytes = b"") -> bytes:
        return tokens.new_token(writer, call.actor, name, classes, expires, most=most, total=total, secret=secret)

    chosen = call.option("minters")
    secret = call.minter.write(work) if chosen is None else _new_token_for(call, chosen, name, work)
    note = b"it is not shown again: send it as Authorization: Bearer " + secret[:9] + "…".encode()
    return Answer(Fields(("token", secret), ("note", note)), spaced=True)


def _new_token_for(call: Call, chosen: str, name: bytes, work: Callable[[Writer, bytes], bytes]) -> bytes:
    """Make a token that is good for several minters, the folders of which lie side by side."""
    parent = os.path.dirname(os.path.abspath(call.session.dbdir))
    folders = [os.path.join(parent, folder.strip()) for folder in chosen.split(",")]
    minters: list[Minter] = []
    made: list[Minter] = []
    secret = b""
    try:
        for folder in folders:
            minters.append(Minter(folder))
        for minter in minters:
            secret = minter.write(lambda writer: work(writer, secret))  # noqa: B023 - run at once
            made.append(minter)
    except BaseException:
        for minter in made:
            minter.write(lambda writer: tokens.revoke_token(writer, call.actor, name))
        raise
    finally:
        for minter in minters:
            minter.close()
    return secret


def _end_of_token(text: str | None, now: int) -> bytes:
    """The timestamp at which a token ends; empty for never."""
    if text is None:
        return b""
    seconds = times.parse_duration(text)
    if seconds is not None:
        return times.timestamp_after(now, seconds)
    if not text[:4].isdigit():
        raise UsageError(f"a token expires after a time, 365d or 12h, or on a date, 2030-12-31; {text!r} is neither")
    return dates.last_second(text)


def _list_tokens(call: Call) -> Answer:
    def fields(token: tokens.Token) -> Fields:
        expires = token.expires or b"never"
        return Fields(("token", token.name), ("may", ",".join(token.classes).encode()), ("created", token.created),
                      ("expires", expires + b", which is over" if token.is_expired() else expires),
                      *([] if token.most is None else [("most", b"%d in one request" % token.most)]),
                      *([] if token.total is None else [("total", b"%d of %d minted" % (token.minted, token.total))]),
                      ("used", token.used or b"never"))

    found = call.minter.read(tokens.all_tokens)
    if not found:
        return Answer(Fields(("note", b"there are no tokens")), spaced=True)
    return Answer(*(fields(token) for token in found), spaced=True)


def _revoke_token(call: Call) -> Answer:
    name = call.words[1]
    call.minter.write(lambda writer: tokens.revoke_token(writer, call.actor, name))
    return Answer(Fields(("ok", b"token " + name + b" revoked")), spaced=True)


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    Command(
        "dbcreate", "create a minter in Dbdir",
        Form("[Template [Term [NAAN [NAA [SubNAA]]]]] " + " ".join(
            f"[{option.usage}]{'…' if option.name == 'label' else ''}" for option in _CREATION_OPTIONS
        ), _dbcreate),
        options=_CREATION_OPTIONS, shell_only=True, also=("schemes", "mint", "dbinfo"), see="templates.md",
        about="""\
Creates the folder NOID in Dbdir, and Dbdir if it does not exist. Template says what identifiers look like (see noid
help templates); without one the minter accepts any name and mints 0, 1, 2, and so on. Term is long, medium (the
default) or short. NAAN is the number of your name assigning authority, NAA its name, and SubNAA the department that
mints; a long-term minter needs all three. A hyphen skips a word.

Two minters with the same NAAN and prefix would mint the same names. If they are served from one folder, the second is
refused unless you give --same-prefix.

Schemes other than noid make labels from the clock; noid schemes lists their options. With --store the minter is kept in
a PostgreSQL server, and the folder NOID holds its address.
""",
        example="""\
$ noid -f kt5 dbcreate kt.reeded long 13030 cdlib.org dpg | grep -E 'Template|First'
Template: kt.reeded
First: 13030/kt4x551
""",
    ),
    Command(
        "dbinfo", "show the minter's settings and counts",
        Form("[brief]", _info, READ),
        Form("full", _full_info, ADMIN, writes=False),
        Form("dump", _dump, ADMIN, writes=False, streams=True),
        also=("status", "note"), see="tutorial.md#notes-and-the-state-of-the-minter",
        about="""\
full adds the state of the generator and of the database. dump prints every record of the database, except digests of
peppers and stored replies to requests with an Idempotency-Key.
""",
        example="""\
$ noid dbinfo | grep -E 'Template|Drawn|Left'
Template: kt.reeded
Drawn: 3
Left: 2438897
""",
    ),
    Command(
        "note", "store a note with the minter",
        Form("Name Text", _note, ADMIN),
        also=("dbinfo",), see="tutorial.md#notes-and-the-state-of-the-minter", options_before=1,
        about="""\
A note of the same name is replaced. dbinfo shows all notes.
""",
        example="""\
$ noid note owner 'digital collections'
ok: note owner kept

""",
    ),
    Command(
        "policy", "show or set who may do what on the web",
        Form("", _show_policy, ADMIN, writes=False),
        Form(f"{'|'.join((*CLASSES, policies.MINT_LIMIT, policies.LABEL_FORMAT))}", _show_policy_of, ADMIN,
             writes=False, too_many="the label format follows from the template and is not set by hand"),
        Form("|".join(_PROMISES), _show_policy_of, ADMIN, writes=False, superseded=True),
        Form(f"{'|'.join(CLASSES)} anyone|authenticated|nobody|default|User…", _set_access, ADMIN),
        Form("mint-limit N|default", _set_commitment, ADMIN),
        *_promise_forms(superseded=True),
        options=_PROMISE_OPTIONS,
        also=("token", "promise"), see="web-interface.md#who-may-do-what",
        about="""\
Every command belongs to an access class: read, mint, bind or admin. Each class is open to anyone, to authenticated
users, to the users you name, or to nobody; write user:NAME if a user has one of these words as a name. At the shell,
file permissions decide instead.

mint-limit is how many identifiers one request may mint through the web, 10000 unless set. label-format shows what
labels look like, which follows from the template. The word default restores a setting.
""",
        example="""\
$ noid policy mint alice bob
mint: alice bob

$ noid policy mint default
mint: authenticated

""",
    ),
    Command(
        "promise", "show or set what the minter promises about its names",
        Form("", _show_promises, ADMIN, writes=False),
        Form("|".join(_PROMISES), _show_policy_of, ADMIN, writes=False),
        *_promise_forms(), options=_PROMISE_OPTIONS, also=("quality", "custodian", "policy"),
        see="citing-verifying-describing.md#what-authorities-state",
        about="""\
association says what the names are for, and persistence for how long they are promised to last. minting says whether a
minted name is published at once or reserved until it is published. The word default restores a setting.
""",
        example="""\
$ noid promise persistence 'for as long as the library exists' --until 2126
persistence: for as long as the library exists
persistence-from: …
persistence-until: 21261231235959

""",
    ),
    Command(
        "token", "manage access tokens for programs",
        Form("new Name --may Classes [--expires Time] [--most N] [--total N] [--minters Names]", _new_token),
        Form("list", _list_tokens, writes=False),
        Form("revoke Name", _revoke_token),
        options=(
            Option("--may Classes", "the access classes it is for, as in mint,bind"),
            Option("--expires Time", "after a time such as 12h or 365d, or on a date; never, unless given"),
            Option("--most N", "how many identifiers it may mint in one request, at most the mint-limit of the policy"),
            Option("--total N", "how many identifiers it may mint in all; in each minter, if it is for several"),
            Option("--minters Names", "make it valid for these minters, as in kt5,fk4, whose folders are side by side"),
        ),
        shell_only=True, also=("policy", "serve"), see="web-interface.md#tokens",
        about="""\
new prints the secret once; the minter keeps only its hash. A program sends it in the header Authorization: Bearer, or
as the password of a Basic login with the token's name as the user. It may use the classes it was made for and those
open to anyone, whatever the policy says about users. The history names it as token:NAME.

list shows each token with the hour of its last use. revoke ends a token at once.
""",
        example="""\
$ noid token new catalogue --may mint,bind --expires 365d | cut -c 1-12 | head -n 1
token: noid_
$ noid token list | grep -E 'token|may|used'
token: catalogue
may: mint,bind
used: never
$ noid token revoke catalogue
ok: token catalogue revoked

""",
    ),
)
