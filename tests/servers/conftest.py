"""Fixtures for real servers.  Everything in this folder carries the marker `servers`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.browser import Browser
from support.servers import COMMANDS, INTERFACES, RESOLVERS
from support.servers.deployment import Deployment, Installation, Resolving, Site
from support.servers.machine import Machine
from support.servers.system import MissingError, program
from support.templates import LONG_TERM

FOLDER = Path(__file__).parent
Deploy = Callable[..., Deployment]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.servers)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests that ask for a deployment run with each of DEPLOYMENTS in their file, unless they name others."""
    if "deployment" in metafunc.fixturenames:
        named = [name for mark in metafunc.definition.iter_markers("parametrize")
                 for name in ([mark.args[0]] if isinstance(mark.args[0], str) else mark.args[0])]
        if "deployment" not in named:
            metafunc.parametrize("deployment", list(metafunc.module.DEPLOYMENTS), indirect=True)


@pytest.fixture(scope="session")
def installation() -> Iterator[Installation]:
    """The package installed for the servers' user, once for all tests."""
    try:
        made = Installation()
    except MissingError as missing:
        pytest.fail(str(missing))
    yield made
    made.close()


@pytest.fixture
def machine(installation: Installation) -> Iterator[Machine]:
    """An empty machine on which the program is installed."""
    made = Machine(installation.root)
    yield made
    made.close()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for which all names in .example are this machine; its sessions know nothing of each other."""
    made = Browser(tmp_path_factory.mktemp("browser"), "*.example")
    yield made
    made.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Debian's Chromium, for support.reading; all names in .example are this machine."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)  # as long as every other action of Playwright
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program("chromium-headless-shell"),
                                          args=["--host-resolver-rules=MAP *.example 127.0.0.1"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def site(installation: Installation) -> Iterator[Site]:
    """A folder in which the tests of a file start servers."""
    made = Site(installation)
    yield made
    made.close()


@pytest.fixture(scope="module")
def deploy(site: Site) -> Deploy:
    """Gives a deployment by its name, started when it is first asked for; one that resolves has a minter kt5.

    With `instance` it is another one of the same kind.
    """

    def start(name: str, instance: str = "") -> Deployment:
        full = f"{name}-{instance}" if instance else name
        if full in site.deployments:
            return site.deployments[full]
        deployment = site.add((COMMANDS | RESOLVERS | INTERFACES)[name], full)
        try:
            deployment.start()
        except MissingError as missing:
            pytest.fail(str(missing))
        if isinstance(deployment, Resolving) and not (deployment.minters / "kt5").exists():
            deployment.create("kt5", *LONG_TERM)
            # Most tests change a name, and want to see that at once.
            deployment.noid("-f", "kt5", "resolver", "cache", "0")
        return deployment

    return start


@pytest.fixture
def deployment(request: pytest.FixtureRequest, deploy: Deploy) -> Iterator[Deployment]:
    found = deploy(request.param)
    yield found
    print(found.logs())  # shown when the test has failed
