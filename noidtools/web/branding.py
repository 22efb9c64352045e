"""The look of a site: name, logo, colours, links, language and example, from the file `site.ini` beside its minters.

    [site]
    name = Kerry's Library
    logo = logo.svg
    colour = #7a1f3d
    language = pt

    [links]
    Imprint = https://library.example.org/imprint

Every key may be left out.  The file is read when a server starts.
"""

from __future__ import annotations

import base64
import configparser
import os
import re
from dataclasses import dataclass

from ..errors import UsageError, printable
from ..names import targets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FILE = "site.ini"

# The backgrounds of style.css on which links stand, in the light and in the dark.
LIGHT = ("#ffffff", "#f6f5f1", "#e8f4eb", "#fdf3e0", "#fcebeb")
DARK = ("#14181d", "#1d232a", "#17291d", "#2c2313", "#341a1c")
# What WCAG 2 demands of text at level AA, and what a shade of ours has.
_LEAST_CONTRAST, _GOOD_CONTRAST = 4.5, 6.0
_COLOUR = re.compile("#[0-9a-fA-F]{6}")

_LOGO_TYPES = {".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg",
               ".webp": "image/webp", ".gif": "image/gif"}
# A logo is a part of every page.
_LARGEST_LOGO = 64 << 10
_LARGEST_FILE = 64 << 10
_LONGEST_TEXT = 500
_MOST_LINKS = 12


@dataclass(frozen=True, slots=True)
class Branding:
    """How a site presents itself.

    name         what it is called, in the header of each page
    logo         a `data:` URL; empty for none
    colour       of links and buttons in the light, `#7a1f3d`; empty for ours
    dark_colour  the same in the dark
    about        a sentence about the institution, on the home page
    website      its own address; empty for none
    language     of readers whose browser prefers none that we have
    example      a name to try on the home page; empty for none
    console      whether the home page links to the console: `yes` or `no`
    links        texts and addresses in the footer
    """

    name: str = "Persistent identifiers"
    logo: str = ""
    colour: str = ""
    dark_colour: str = ""
    about: str = ""
    website: str = ""
    language: str = "en"
    example: str = ""
    console: str = "yes"
    links: tuple[tuple[str, str], ...] = ()


def read_branding(folder: str, languages: tuple[str, ...]) -> Branding:
    """The branding in the file of a folder, the default one if it has none.

    Raises UsageError, which names the file and the key, for one that cannot be used.
    """
    path = os.path.join(folder, FILE)
    try:
        with open(path, "rb") as file:
            text = file.read(_LARGEST_FILE + 1).decode()
    except FileNotFoundError:
        return Branding()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{path} cannot be read: {reason}") from None
    if len(text) > _LARGEST_FILE:
        raise UsageError(f"{path} is larger than {_LARGEST_FILE} bytes: it has a few lines only")
    return _File(path, text, languages).branding()


class _File:
    """The text of a file, and how its keys are checked."""

    def __init__(self, path: str, text: str, languages: tuple[str, ...]) -> None:
        self._path = path
        self._languages = languages
        parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), empty_lines_in_values=False)
        parser.optionxform = str  # type: ignore[assignment, method-assign]  # links keep their capitals
        try:
            parser.read_string(text)
        except configparser.Error as error:
            line = f" in line {error.lineno}" if hasattr(error, "lineno") else ""
            raise UsageError(f"{path} cannot be understood{line}: write [site] and [links] in brackets, and below them "
                             "each key once, as name = value") from None
        sections = parser.sections()
        strange = next((name for name in sections if name not in ("site", "links")), None)
        if strange is not None or parser.defaults():
            raise self._refusal(f"[{strange or 'DEFAULT'}]", "there is no such section: known are [site] and [links]")
        self._site = dict(parser["site"]) if "site" in sections else {}
        self._links = dict(parser["links"]) if "links" in sections else {}

    def branding(self) -> Branding:
        checks: dict[str, Callable[[str, str], str]] = {
            "name": self._text, "about": self._text, "website": self._address, "logo": self._logo,
            "colour": self._colour, "dark-colour": self._dark_colour, "language": self._language,
            "example": self._text, "console": self._yes_or_no,
        }
        strange = next((key for key in self._site if key not in checks), None)
        if strange is not None:
            raise self._refusal(strange, f"there is no such key: known are {', '.join(checks)}")
        found = {key.replace("-", "_"): checks[key](key, value) for key, value in self._site.items()}
        if found.get("colour") and not found.get("dark_colour"):
            found["dark_colour"] = _readable(found["colour"], DARK)
        if len(self._links) > _MOST_LINKS:
            raise self._refusal("[links]", f"at most {_MOST_LINKS} links fit in the footer")
        links = tuple((self._text(text, text), self._address(text, value)) for text, value in self._links.items())
        return Branding(**found, links=links)

    def _refusal(self, key: str, sentence: str) -> UsageError:
        return UsageError(f"{self._path}: {printable(key.encode())[:60]}: {sentence}")

    def _text(self, key: str, value: str) -> str:
        if not value or len(value) > _LONGEST_TEXT or not value.isprintable():
            raise self._refusal(key, f"give a text of one line, of 1 to {_LONGEST_TEXT} characters")
        return value

    def _address(self, key: str, value: str) -> str:
        is_path = value.startswith("/") and not value.startswith("//")
        if not (value.startswith(("http://", "https://", "mailto:")) or is_path) or not _is_address(value):
            raise self._refusal(key, f"an address begins with https://, http://, mailto: or /, not {value[:60]!a}")
        return value

    def _yes_or_no(self, key: str, value: str) -> str:
        if value not in ("yes", "no"):
            raise self._refusal(key, f"write yes or no, not {value[:60]!a}")
        return value

    def _language(self, key: str, value: str) -> str:
        if value not in self._languages:
            raise self._refusal(key, f"there are pages in {', '.join(self._languages)}, not in {value[:60]!a}")
        return value

    def _colour(self, key: str, value: str) -> str:
        return self._ensure_readable(key, value, LIGHT, "white")

    def _dark_colour(self, key: str, value: str) -> str:
        return self._ensure_readable(key, value, DARK, "black")

    def _ensure_readable(self, key: str, value: str, backgrounds: tuple[str, ...], word: str) -> str:
        if not _COLOUR.fullmatch(value):
            raise self._refusal(key, f"a colour is written with six digits, as #7a1f3d, not {value[:60]!a}")
        if least_contrast(value, backgrounds) < _LEAST_CONTRAST:
            raise self._refusal(key, f"links in {value} are hard to read on {word}: take a shade such as "
                                f"{_readable(value, backgrounds)}")
        return value.lower()

    def _logo(self, key: str, value: str) -> str:
        """The logo as a `data:` URL: in an image, an SVG runs no script and loads nothing."""
        media_type = _LOGO_TYPES.get(os.path.splitext(value)[1].lower())
        if media_type is None:
            raise self._refusal(key, f"name a file that ends in {', '.join(_LOGO_TYPES)}")
        try:
            with open(os.path.join(os.path.dirname(self._path), value), "rb") as file:
                content = file.read(_LARGEST_LOGO + 1)
        except (OSError, ValueError):
            raise self._refusal(key, f"the file {value[:200]!a} cannot be read") from None
        if not 0 < len(content) <= _LARGEST_LOGO:
            raise self._refusal(key, f"the file has 1 to {_LARGEST_LOGO} bytes, since it is a part of every page")
        return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def _is_address(text: str) -> bool:
    is_plain = text.isprintable() and " " not in text
    return is_plain and (not text.startswith("http") or targets.location(text.encode()) is not None)


# -- contrast (WCAG 2, relative luminance) ---------------------------------------------------------------------------


def least_contrast(colour: str, backgrounds: tuple[str, ...]) -> float:
    """The contrast of a colour with the background from which it differs least, 1 to 21."""
    pairs = (sorted((_luminance(colour), _luminance(background))) for background in backgrounds)
    return min((lighter + 0.05) / (darker + 0.05) for darker, lighter in pairs)


def _luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _readable(colour: str, backgrounds: tuple[str, ...]) -> str:
    """The nearest shade of a colour that can be read well."""
    end = 255 if backgrounds is DARK else 0
    channels = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    shades = ("#" + "".join(f"{round(part + (end - part) * step / 100):02x}" for part in channels)
              for step in range(101))
    return next(shade for shade in shades if least_contrast(shade, backgrounds) >= _GOOD_CONTRAST)
