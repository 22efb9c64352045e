"""The console as somebody sees it who clicks: pages, their links and their forms, over WSGI without a browser."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from noidtools.minter.folder import MinterFolder
from noidtools.web.site import Site
from support.served import Served
from support.wsgi import Response, call

HOST = "id.example"


class Form:
    """A form: where it is sent, its fields in order, and the fields that its buttons add, by their texts."""

    def __init__(self, attributes: dict[str, str | None], page: str) -> None:
        self.action = attributes.get("action") or page
        self.method = (attributes.get("method") or "get").upper()
        self.is_upload = attributes.get("enctype") == "multipart/form-data"
        self.fields: list[list[str]] = []
        self.checkboxes: list[tuple[str, str]] = []
        self.buttons: dict[str, tuple[str, str] | None] = {}


class _Reader(HTMLParser):
    """Reads links, forms and text; a text area begins after its first line feed, as in browsers."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self._page = page
        self.forms: list[Form] = []
        self.links: list[tuple[str, str]] = []
        self.words: list[str] = []
        self._open: Form | None = None
        self._texts: list[list[str]] = []
        self._select = ""
        self._skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, value = given.get("name") or "", given.get("value") or ""
        if tag in ("style", "script"):
            self._skipped += 1
        elif tag == "form":
            self._open = Form(given, self._page)
            self.forms.append(self._open)
        elif tag in ("a", "button", "textarea", "option"):
            has_value = "value" if "value" in given else ""
            self._texts.append([tag, given.get("href") or name, value, "selected" if "selected" in given else "",
                                has_value, ""])
        elif tag == "select":
            self._select = name
        if tag == "input" and self._open is not None and name:
            if given.get("type") in ("checkbox", "radio"):
                self._open.checkboxes.append((name, value or "on"))
                if "checked" in given:
                    self._open.fields.append([name, value or "on"])
            elif given.get("type") != "file":
                self._open.fields.append([name, value])

    def handle_endtag(self, tag: str) -> None:
        if tag in ("style", "script"):
            self._skipped -= 1
        elif tag == "form":
            self._open = None
        elif self._texts and self._texts[-1][0] == tag:
            self._close(*self._texts.pop())
        elif tag == "select":
            self._select = ""

    def _close(self, tag: str, name: str, value: str, selected: str, has_value: str, text: str) -> None:
        words = " ".join(text.split())
        chosen = value if has_value else words
        if tag == "a":
            self.links.append((words, name))
        elif self._open is not None and tag == "button":
            self._open.buttons[words] = (name, value) if name else None
        elif self._open is not None and tag == "textarea":
            self._open.fields.append([name, text.removeprefix("\n").replace("\n", "\r\n")])
        elif self._open is not None and tag == "option" and self._select:
            known = next((field for field in self._open.fields if field[0] == self._select), None)
            if known is None:
                self._open.fields.append([self._select, chosen])
            elif selected:
                known[1] = chosen

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.words.append(data)
            for one in self._texts:
                one[5] += data


class Page:
    """A page of the console, and what can be done on it."""

    def __init__(self, client: ConsoleClient, url: str, response: Response) -> None:
        self._client = client
        self.url = url
        self.response = response
        self.status = response.status
        reader = _Reader(url)
        if response.headers.get("content-type", "").startswith("text/html"):
            reader.feed(response.text)
        self.forms, self.links = reader.forms, reader.links
        self.text = " ".join("".join(reader.words).split())

    def has_link(self, text: str) -> bool:
        return any(text == words for words, _ in self.links)

    def has_button(self, text: str) -> bool:
        return any(text in form.buttons for form in self.forms)

    def follow(self, text: str) -> Page:
        """The page to which the first link with this text leads."""
        found = [url for words, url in self.links if words == text]
        assert found, (text, self.links, self.text)
        return self._client.get(found[0])

    def submit(self, button: str, files: dict[str, bytes] | None = None, **fields: str | list[str]) -> Page:
        """The page that follows the button of this text, after the fields were filled in."""
        found = [form for form in self.forms if button in form.buttons]
        assert found, (button, [list(form.buttons) for form in self.forms], self.text)
        form = found[0]
        pairs = [list(pair) for pair in form.fields]
        for name, value in fields.items():
            values = [value] if isinstance(value, str) else value
            pairs = [pair for pair in pairs if pair[0] != name] + [[name, one] for one in values]
        pressed = form.buttons[button]
        if pressed:
            pairs.append(list(pressed))
        return self._client.send(form, [(name, value) for name, value in pairs], files or {})

    def set_value(self, element: str, value: str) -> None:
        """In a form of elements, fill in the value of an element; a new one goes into the first empty row."""
        for form in self.forms:
            for place, (name, text) in enumerate(form.fields):
                if name == "element" and text in (element, ""):
                    form.fields[place][1] = element
                    form.fields[place + 1][1] = value
                    return
        raise AssertionError(element, [form.fields for form in self.forms])


class ConsoleClient:
    """Somebody at the console: a user of the web server, or with a token; cookies are kept."""

    def __init__(self, folder: Path | Site, user: str = "", *, scheme: str = "http") -> None:
        self.application = folder if isinstance(folder, Site) else Site(MinterFolder(str(folder)))
        self.user = user
        self.cookies: dict[str, str] = {}
        self._scheme = scheme

    def as_user(self, user: str) -> ConsoleClient:
        """Somebody else at the same site."""
        return ConsoleClient(self.application, user, scheme=self._scheme)

    def get(self, url: str, **headers: str) -> Page:
        return self._page("GET", url, b"", "", headers)

    def send(self, form: Form, pairs: list[tuple[str, str]], files: dict[str, bytes]) -> Page:
        if form.method == "GET":
            return self.get(f"{form.action.partition('?')[0]}?{urlencode(pairs)}")
        if form.is_upload:
            return self.post(form.action, *multipart(pairs, files))
        return self.post(form.action, urlencode(pairs).encode(), "application/x-www-form-urlencoded")

    def post(self, url: str, body: bytes, kind: str = "application/x-www-form-urlencoded", **headers: str) -> Page:
        return self._page("POST", url, body, kind, {"HTTP_ORIGIN": f"{self._scheme}://{HOST}", **headers})

    def _page(self, method: str, url: str, body: bytes, kind: str, headers: dict[str, str]) -> Page:
        for _ in range(5):
            response = self.request(method, url, body, kind, headers)
            if response.status != 303:
                return Page(self, url, response)
            method, body, kind, url, headers = "GET", b"", "", response.headers["location"], {}
        raise AssertionError(f"{url} redirects without end")

    def request(self, method: str, url: str, body: bytes = b"", kind: str = "", headers: dict[str, str] | None = None
                ) -> Response:
        """The response to one request; redirects are not followed."""
        parts = urlsplit(url)
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": parts.path, "QUERY_STRING": parts.query,
            "SERVER_NAME": HOST, "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": HOST,
            "REMOTE_ADDR": "192.0.2.1", "CONTENT_LENGTH": str(len(body)), "wsgi.version": (1, 0),
            "wsgi.url_scheme": self._scheme, "wsgi.input": io.BytesIO(body), "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True, "wsgi.multiprocess": True, "wsgi.run_once": False,
            "HTTP_ACCEPT": "text/html", "HTTP_USER_AGENT": "Mozilla/5.0",
            **({"CONTENT_TYPE": kind} if kind else {}), **({"REMOTE_USER": self.user} if self.user else {}),
            **({"HTTP_COOKIE": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
               if self.cookies else {}), **(headers or {}),
        }
        response = call(self.application, environ)
        self._keep(response.headers.get("set-cookie", ""))
        return response

    def _keep(self, header: str) -> None:
        if header:
            name, _, value = header.partition(";")[0].partition("=")
            if re.search(r"Max-Age=0\b", header):
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value


class ServedConsole(ConsoleClient):
    """Somebody at the console of a running server, who has logged in with a token."""

    def __init__(self, served: Served, secret: str) -> None:
        super().__init__(Site(MinterFolder("")))
        self._served = served
        self.get("/console/login").submit("Log in", secret=secret)

    def request(self, method: str, url: str, body: bytes = b"", kind: str = "", headers: dict[str, str] | None = None
                ) -> Response:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent = {"Host": HOST, "Accept": "text/html", "Cookie": cookies}
        if method == "POST":
            sent |= {"Content-Type": kind, "Origin": f"http://{HOST}"}
        reply = self._served.get(url, method, body or None, **sent)
        self._keep(reply.headers.get("set-cookie", ""))
        return Response(str(reply.status), list(reply.headers.items()), reply.body, "")


def multipart(pairs: list[tuple[str, str]], files: dict[str, bytes]) -> tuple[bytes, str]:
    """The body and the type of a form with files, as browsers send it."""
    boundary = "----boundary7MA4YWxkTrZu0gW"
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
             for name, value in pairs]
    parts += [f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}.csv"\r\n'
              "Content-Type: text/csv\r\n\r\n".encode() + content + b"\r\n" for name, content in files.items()]
    return b"".join(parts) + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"
