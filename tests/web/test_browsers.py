"""Commands by URL from a browser that another site led here."""

from __future__ import annotations

import pytest

from support.wsgi import USER, CommandClient

LED_HERE = [
    {"HTTP_SEC_FETCH_SITE": "cross-site"}, {"HTTP_SEC_FETCH_SITE": "same-site"}, {"HTTP_SEC_FETCH_SITE": "odd"},
    {"HTTP_ORIGIN": "https://evil.example"}, {"HTTP_ORIGIN": "null"}, {"HTTP_ORIGIN": "http://id.example.org:8080"},
    {"HTTP_ORIGIN": "http://id.example.org.evil.example"}, {"HTTP_REFERER": "http://evil.example/?id.example.org"},
    {"HTTP_REFERER": "http://id.example.org@evil.example/"}, {"HTTP_REFERER": "nonsense"},
    {"HTTP_SEC_PURPOSE": "prefetch;prerender"}, {"HTTP_PURPOSE": "prefetch"}, {"HTTP_X_MOZ": "prefetch"},
    {"HTTP_X_PURPOSE": "preview"},
]


@pytest.mark.parametrize("variables", LED_HERE, ids=str)
def test_a_browser_request_from_another_site_or_for_prefetching_writes_nothing(
    web: CommandClient, variables: dict[str, str]
) -> None:
    for reply in (web("mint+1", user=USER, **variables), web.post("mint 1\n", **variables)):
        assert reply.status == 403 and reply.ids == []
    assert web("hello", **variables).status == 200
    assert web("mint+1", user=USER).ids == ["kt4x551"]


@pytest.mark.parametrize("variables", [
    {"HTTP_SEC_FETCH_SITE": "none"}, {"HTTP_SEC_FETCH_SITE": "same-origin"}, {"HTTP_ORIGIN": "http://id.example.org"},
    {"HTTP_ORIGIN": "https://ID.example.org:443"}, {"HTTP_REFERER": "https://id.example.org/page?x"},
    {"HTTP_ORIGIN": "http://id.example.org:80", "HTTP_HOST": "ID.example.org"},
    {"HTTP_ORIGIN": "http://id.example.org:8080", "HTTP_HOST": "id.example.org:8080"},
    {"HTTP_ORIGIN": "http://[::1]:8080", "HTTP_HOST": "[::1]:8080"},
], ids=str)
def test_a_browser_request_from_the_same_site_may_write(web: CommandClient, variables: dict[str, str]) -> None:
    assert web("mint+1", user=USER, **variables).status == 200
