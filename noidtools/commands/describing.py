"""Commands that describe names and minters: citations, RDF, contexts, the form of identifiers and their schemes."""

from __future__ import annotations

import os
from contextlib import closing

from ..codec import encode_text
from ..description import RDF_FORMATS, ensure_rdf_format
from ..errors import ConflictError, ForbiddenError, NoMinterError, UsageError
from ..minter import Minter, config, contexts, identifiers, schema
from ..minter.contexts import citation_forms, compare_names, withdrawal_note
from ..minter.identifiers import identify, validate_form, validate_own, without_context
from ..minter.policies import ADMIN, READ
from ..names import citation, without_inflection
from ..schemes import NAMES, form_of, read_form, scheme_class
from ..schemes.base import pairtree_path
from ..times import SECOND, iso_datetime, timestamp
from .answers import ELEMENT_LABEL, Answer, Fields, PreparedRecord, Values, separated
from .command import Command, Form, Option, as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..store import Reader, Writer
    from .answers import Line
    from .call import Call


# -- cite and same ---------------------------------------------------------------------------------------------------


def _cite(call: Call) -> Answer:
    if call.flag("qr") and not call.session.local:
        raise ForbiddenError("--qr writes a file on the server: it is for the shell, not for the web")
    minter = call.minter
    forms, withdrawn = call.read(lambda reader: (
        citation_forms(minter, reader, call.words[0]), withdrawal_note(minter, reader, call.words[0])
    ))
    for path in call.values("qr"):
        chosen = dict(reversed(forms))
        citation.qr(path, chosen.get("web") or chosen["canonical"])
        forms.append(("qr", path.encode()))
    notes = [Fields(("note", withdrawn.encode()))] if withdrawn else []
    record = PreparedRecord([(form.encode(), text, 0) for form, text in forms],
                            [{"form": form, "text": text} for form, text in forms])
    return Answer(record, *notes, spaced=True)


def _same(call: Call) -> Answer:
    first, second = call.words
    try:
        minter, now = call.minter, timestamp(call.actor.now())
        alike, why, senses = call.read(lambda reader: compare_names(minter, reader, first, second, now))
    except NoMinterError:
        # Names can be compared without a minter; one only adds its own context and what is claimed of it.
        (alike, why), senses = citation.same(first, second, read_form=read_form), []
    lines = [(b"same", b"yes" if alike else b"no", 0), *((b"sense", sense.encode(), 0) for sense in senses),
             *((b"why", sentence.encode(), 0) for sentence in why)]
    data = {"same": alike, **({"senses": senses} if senses else {}), "why": why}
    return Answer(PreparedRecord(lines, [data]), spaced=True, failed=not alike)


# -- describe --------------------------------------------------------------------------------------------------------


def _describe(call: Call) -> Answer:
    from ..description import gatherer, rdf  # which double the time that the other commands of this chapter take

    form = ensure_rdf_format(call.option("format") or "turtle")
    minter = call.minter
    if not call.words:
        facts = call.read(lambda reader: gatherer.gather_minter(minter, reader))
        text = rdf.minter_document(facts, form)
    else:
        name_facts = call.read(lambda reader: gatherer.gather_text(minter, reader, call.words[0]))
        text = rdf.name_document(name_facts, form)
    # Each line is a value, because writers indent all lines of a value but the first.
    lines = [(b"", line, 0) for line in text.removesuffix(b"\n").split(b"\n")]
    return Answer(PreparedRecord(lines, [{"format": RDF_FORMATS[form], "document": text}]))


def _describe_text(call: Call) -> Answer:
    """What `describe` writes as RDF, for people."""
    from ..description import formats, gatherer, missing

    if not call.words:
        return Answer(Fields(*((name, ", ".join(values)) for name, values in _own_properties(call).items())),
                      spaced=True)
    facts = call.read(lambda reader: gatherer.gather_text(call.minter, reader, call.words[0]))
    elements, support = formats.displayed_elements(facts), formats.support_pairs(facts)
    lines: list[Line] = [(encode_text(name), encode_text(missing.readable(value)), ELEMENT_LABEL)
                         for name, value in elements.items()]
    lines += [(encode_text(name), encode_text(value), 0) for name, value in support]
    return Answer(PreparedRecord(lines, [{"elements": elements, **dict(support)}]), spaced=True)


def _own_properties(call: Call) -> dict[str, tuple[str, ...]]:
    return _properties_of(call.minter, call.read)


def _properties_of(minter: Minter, read: Callable[[Callable[[Reader], object]], Any]) -> dict[str, tuple[str, ...]]:
    from ..description import comparison, gatherer, rdf

    facts = read(lambda reader: gatherer.gather_minter(minter, reader))
    return comparison.system_properties(rdf.describe_minter(facts), "the minter")


def _compare(call: Call) -> Answer:
    """What differs between this minter and another one, or a system that a file of RDF describes."""
    from ..description import comparison

    here, other = _own_properties(call), call.option("compare") or ""
    if os.path.isdir(other):
        with closing(Minter(other)) as minter:
            there = _properties_of(minter, minter.read)
    else:
        there = comparison.system_properties(comparison.read_graph(other), other)
    found = comparison.compare(here, there)
    lines = [("same", ", ".join(found.same))] if found.same else []
    for name, sides in found.differs.items():
        lines += [("differs", name), *((where, ", ".join(values)) for where, values in sides.items() if values)]
    for label, only in (("only here", found.only_here), ("only there", found.only_there)):
        lines += [(label, f"{name}: {', '.join(values)}") for name, values in only.items()]
    return Answer(PreparedRecord([(label.encode(), encode_text(text), 0) for label, text in lines],
                                 [found._asdict()]), spaced=True)


# -- context ---------------------------------------------------------------------------------------------------------


def _set_context_resolvers(call: Call) -> Answer:
    addresses = [] if call.words[1:] == [b"-"] else call.words[1:]
    call.minter.write(lambda writer: contexts.set_resolvers(writer, call.actor, addresses))
    return _show_context(call)


def _set_site(call: Call) -> Answer:
    _set_context_resolvers(call)
    return _show_site(call)


def _show_site(call: Call) -> Answer:
    addresses = call.minter.read(identifiers.resolvers)
    if not addresses:
        return Answer(Fields(("note", "no address is set: use site url Url")), spaced=True)
    return Answer(Fields(*(("url", address) for address in addresses)), spaced=True)


def _set_context_purpose(call: Call) -> Answer:
    text = b"" if call.words[1] == b"-" else call.words[1]
    call.minter.write(lambda writer: contexts.set_purpose(writer, call.actor, text))
    return _show_context(call)


def _change_context_alias(call: Call) -> Answer:
    if len(call.values("authority")) > 1:
        raise UsageError("one claim is made by one authority: use context alias From To --authority Who for each")
    alias, target = (as_text(word, "the label of a context") for word in call.words[1:])
    authority = call.option("authority") or ""
    change = contexts.remove_context_alias if call.flag("remove") else contexts.add_context_alias

    def work(writer: Writer) -> None:
        change(writer, call.actor, alias, target, authority)

    call.minter.write(work)
    return _show_context(call)


def _show_context(call: Call) -> Answer:
    """The labels of the minter, its purpose, the resolvers, and the claims about the context."""
    minter = call.minter
    purpose, resolvers, claims = minter.read(lambda reader: (
        contexts.purpose(reader), identifiers.resolvers(reader), contexts.context_aliases(reader)
    ))
    lines = [*((b"label", label, 0) for label in minter.labels), *([(b"purpose", purpose, 0)] if purpose else []),
             *((b"resolver", address, 0) for address in resolvers)]
    for claim in claims:
        text = f"{claim.alias} is {claim.target}, according to {claim.authority} since "
        lines.append((b"alias", text.encode() + claim.since, 0))
    if not lines:
        return Answer(Fields(("note", b"nothing is set")), spaced=True)
    aliases = [{"alias": claim.alias, "target": claim.target, "authority": claim.authority, "since": claim.since}
               for claim in claims]
    return Answer(PreparedRecord(lines, [{
        "labels": minter.labels, **({"purpose": purpose} if purpose else {}), "resolvers": resolvers,
        "aliases": aliases,
    }]), spaced=True)


# -- schemes, decode, granularity, patience --------------------------------------------------------------------------


def _schemes(call: Call) -> Answer:
    return separated(
        Fields(("scheme", name), ("summary", scheme_class(name).summary),
               ("options", " ".join(f"--{option}" for option in scheme_class(name).options)))
        for name in NAMES)


def _decode(call: Call) -> Answer:
    (raw,) = call.words
    try:
        minter = call.minter
        label = call.read(lambda reader: identify(minter, reader, raw)).key
    except NoMinterError:
        label = raw  # a label means the same everywhere; a minter only strips what it puts in front
    label = without_context(without_inflection(label))
    return Answer(Fields(*form_of(label).decode(label)), spaced=True)


def _show_timing(call: Call) -> Answer:
    """The setting of the generator that the command is named after."""
    name, minter = call.command.name, call.minter
    value = dict(call.read(lambda reader: schema.generator_of(minter.scheme, reader)).status()).get(name.capitalize())
    if value is None:
        raise ConflictError(f"this minter has no {name}: its labels are not made from the time")
    return Answer(Fields((name, value)), spaced=True)


def _adjust_timing(call: Call) -> Answer:
    """Change the setting of the generator that the command is named after."""
    minter, name, (value,) = call.minter, call.command.name, call.words
    before, after = minter.write(lambda writer: config.adjust_generator(minter, writer, call.actor, name, value))
    return Answer(Fields(("ok", b"%b is %b, was %b" % (name.encode(), after, before))), spaced=True)


def _show_clock(call: Call) -> Answer:
    minter = call.minter
    if not minter.scheme.timed:
        raise ConflictError("this minter needs no clock: its labels are not made from the time")
    status = dict(call.read(lambda reader: schema.generator_of(minter.scheme, reader)).status())
    last = [("last", status["Last"])] if "Last" in status else []
    return Answer(Fields(("clock", iso_datetime(call.actor.now() // SECOND)), *last), spaced=True)


def _reset_clock(call: Call) -> Answer:
    minter = call.minter
    before, after = minter.write(lambda writer: config.reset_clock(minter, writer, call.actor))
    return Answer(Fields(("ok", b"labels go on from %b; what was made up to %b is skipped" % (after, before))),
                  spaced=True)


# -- validate and path -----------------------------------------------------------------------------------------------


def _validate(call: Call) -> Answer:
    form, *ids = call.words
    if form == b"-":
        minter = call.minter
        verdicts = call.read(lambda reader: validate_own(minter, reader, ids))
    else:
        verdicts = validate_form(as_text(form, "the template"), ids, _naan(call))
    lines = [(b"id", identifier, 0) if fault is None else (b"iderr", fault.encode(), 0)
             for identifier, fault in verdicts]
    data = [{"id": identifier, "valid": fault is None, **({"fault": fault.encode()} if fault else {})}
            for identifier, fault in verdicts]
    return Answer(PreparedRecord(lines, data), failed=any(fault for _, fault in verdicts))


def _naan(call: Call) -> str:
    """The NAAN of the minter, empty if there is none: templates can be tried without a minter."""
    try:
        return call.minter.settings["naan"]
    except NoMinterError:
        return ""


def _path(call: Call) -> Answer:
    (raw,) = call.words
    try:
        minter = call.minter
        made = minter.scheme.path(call.read(lambda reader: identifiers.identify(minter, reader, raw)).key)
    except NoMinterError:
        # The path depends on the identifier alone; a minter only adds what it knows of labels and spellings.
        made = pairtree_path(raw)
    return Answer(Values([(b"path", made)]))


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    Command(
        "cite", "print a name as it is cited, linked and spoken",
        Form("Id [--qr File]…", _cite, READ),
        options=(Option("--qr File", "write a QR code of the link to an .svg or .png file; at the shell only"),),
        also=("same", "context"), see="citing-verifying-describing.md#cite",
        about="""\
Any spelling of the name will do. A mistyped name is refused, and a pepper is never printed. A note tells if the name
was withdrawn. Links need a public address: see noid help site.
""",
        example="""\
$ noid cite 13030/kt4x551 | grep -E 'canonical|info|encoded'
canonical: ark:/13030/kt4x551
info: info:ark/13030/kt4x551
encoded: ark%3A%2F13030%2Fkt4x551
""",
    ),
    Command(
        "same", "tell whether two spellings are the same name",
        Form("Name Name", _same, READ),
        also=("cite", "validate"), see="citing-verifying-describing.md#same-or-not", fails="they are not",
        about="""\
Works without a minter. With one, its own context and the relations that are stored there are taken into account. Two
different names may still be related, as an alias, synonyms, homologues or a realisation are; each such relation has a
line of its own and does not change the exit status.
""",
        example="""\
$ noid same ark:/13030/kt4-x551 ARK:13030/kt4x551 | grep same:
same: yes
""",
    ),
    Command(
        "describe", "describe an identifier or the minter in RDF or for people",
        Form("[Id] [--format turtle|json-ld|xml]", _describe, READ,
             too_many="describe takes one identifier, or none for the minter"),
        Form("[Id] --text", _describe_text, READ),
        Form("--compare Other", _compare, shell_only=True),
        options=(Option("--format turtle|json-ld|xml", "turtle, unless given"),
                 Option("--text", "for people: the properties in words"),
                 Option("--compare Other", "what differs between the minter and another one, or the system that a file "
                                           "of RDF describes")),
        also=("fetch", "relations"), see="citing-verifying-describing.md#describe",
        about="""\
The terms are those of the Identifier Systems ontology. Elements whose names begin with _ and values of more than a
megabyte are left out. Needs the extra noidtools[rdf].

With --text the properties are printed in words: whose names they are, what is promised, what can be done. --compare
compares them with those of another minter, which is a folder, or of any system that a file describes in the terms of
the ontology: which are the same, which differ, and which only one of the two has.
""",
        example="""\
$ noid describe 13030/kt4x551 | grep noid:value
    noid:value "On the origin of species" .
    noid:value "1859" .
    noid:value "Darwin" .
""",
    ),
    Command(
        "context", "show or change the labels, resolvers and purpose of the names",
        Form("", _show_context, ADMIN, writes=False),
        Form("alias From To --authority Who [--remove]", _change_context_alias, ADMIN),
        Form("resolver -|Url…", _set_context_resolvers, ADMIN, superseded=True),
        Form("purpose Text", _set_context_purpose, ADMIN, too_many="a text of several words is quoted"),
        options=(
            Option("--authority Who", "who claims that the two labels are of one context"),
            Option("--remove", "remove the claim"),
        ),
        also=("site", "same"), see="citing-verifying-describing.md#contexts",
        about="""\
purpose says what the names are for; a hyphen removes that. alias records that a context has another label, so that
names under both are the same.
""",
        example="""\
$ noid context purpose 'books and their chapters'
purpose: books and their chapters

""",
    ),
    Command(
        "site", "show or set the public address at which names resolve",
        Form("[url]", _show_site, READ),
        Form("url -|Url…", _set_site, ADMIN),
        also=("cite", "resolver", "setup"), see="citing-verifying-describing.md#contexts",
        about="""\
Links and QR codes begin with the first address. Of several, all are recognised when somebody asks for a name by its
address. A hyphen removes them.
""",
        example="""\
$ noid site url https://id.example.org/
url: https://id.example.org/

$ noid cite 13030/kt4x551 | grep web
web: https://id.example.org/ark:/13030/kt4x551
""",
    ),
    Command(
        "schemes", "list the ways in which labels can be made",
        Form("", _schemes, READ), also=("dbcreate", "decode"), see="time-labels.md#create-and-mint",
        example="""\
$ noid schemes | grep scheme
scheme: noid
scheme: ibi
scheme: ibip
scheme: pilin
""",
    ),
    Command(
        "decode", "show what an IBI, IBIp or PILIN label says",
        Form("Label", _decode, READ), also=("schemes",), see="time-labels.md",
        about="""\
Works without a minter. It prints the scheme, and the server and the time from which the label was made.
""",
        example="""\
$ noid decode 102.100.272/RPLZ54PQH
id: 102.100.272/RPLZ54PQH
scheme: pilin
prefix: 102.100.272
time: 2007-12-19T23:44:55.269Z
milliseconds: 13417400695269

""",
    ),
    Command(
        "granularity", "show or set the time between two labels made from the clock",
        Form("", _show_timing, READ), Form("Seconds", _adjust_timing, ADMIN),
        also=("patience", "clock"), see="time-labels.md",
        example="""\
$ noid -f ibi dbcreate --scheme ibi --computer mtc-m18.sid.inpe.br > /dev/null
$ noid -f ibi granularity
granularity: 1

$ noid -f ibi granularity 0.1
ok: granularity is 0.1, was 1

""",
    ),
    Command(
        "patience", "show or set how long minting waits for the clock",
        Form("", _show_timing, READ), Form("Seconds", _adjust_timing, ADMIN),
        also=("granularity", "clock"), see="time-labels.md",
        about="""\
If the wait would be longer, minting is refused as busy and no identifier is used.
""",
        example="""\
$ noid -f ibi dbcreate --scheme ibi --computer mtc-m18.sid.inpe.br > /dev/null
$ noid -f ibi patience 5
ok: patience is 5, was 30

""",
    ),
    Command(
        "clock", "show or reset the clock from which labels are made",
        Form("", _show_clock, READ), Form("reset", _reset_clock, ADMIN),
        also=("granularity", "patience"), see="time-labels.md#how-time-is-given-out",
        about="""\
last is the time of the last label. If it is in the future because the clock was ahead, minting is refused until then.
Once the clock is right, reset lets minting continue from now. No label is given twice: those that were already made for
the future are skipped when their time comes.
""",
        example="""\
$ noid -f ibi dbcreate --scheme ibi --computer mtc-m18.sid.inpe.br > /dev/null
$ noid -f ibi clock
clock: …

$ noid -f ibi clock reset
error: no identifier lies in the future of the clock, which shows …Z: there is nothing to reset
""",
    ),
    Command(
        "validate", "check the form of identifiers",
        Form("Template|Scheme|- Id…", _validate, READ),
        also=("same", "verify"), see="tutorial.md#check-what-was-typed", fails="an identifier is not valid",
        about="""\
Name a template or a scheme, or write a hyphen for the minter's own. Only the form is checked, and the check character
if there is one, not whether the identifier was minted. A valid identifier is printed as the minter writes it. It may
begin with a label or the address of a resolver, but hyphens, blanks and other spellings that other commands accept are
errors here. In a minter with a NAAN, templates are checked with the NAAN, too.
""",
        example="""\
$ noid validate - 13030/kt4x551 13030/kt4y551
id: 13030/kt4x551
iderr: 13030/kt4y551: character 2 after the prefix is 'y', not one of 0123456789bcdfghjkmnpqrstvwxz
""",
    ),
    Command(
        "path", "print the folder path made from an identifier",
        Form("Id", _path, READ), also=("mint",), see="tutorial.md#folders-for-identifiers",
        about="""\
The folders are made of the characters of the identifier, two at a time; an IBI name has its four folders. The path is
safe for any identifier. Works without a minter.
""",
        example="""\
$ noid path xv8t984
xv/8t/98/4/
""",
    ),
)
