"""The example Containerfile: its syntax, and the commands that run in it."""

from __future__ import annotations

import json
import subprocess
import sys

import dockerfile_parse
import pytest

from support.http import free_port
from support.process import NOID, wait_until
from support.project import ROOT

INSTRUCTIONS = {"FROM", "COPY", "RUN", "USER", "WORKDIR", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


@pytest.fixture(scope="module")
def instructions() -> dict[str, str]:
    with (ROOT / "packaging" / "Containerfile").open("rb") as file:
        structure = dockerfile_parse.DockerfileParser(fileobj=file).structure
    found = [line for line in structure if line["instruction"] != "COMMENT"]
    assert found[0]["instruction"] == "FROM" and len(found) == len({line["instruction"] for line in found})
    return {line["instruction"]: line["value"] for line in found}


def test_the_containerfile_has_only_known_instructions_and_a_shell_can_read_its_command(instructions):
    assert set(instructions) == INSTRUCTIONS
    subprocess.run(["sh", "-nc", instructions["RUN"]], check=True)


@pytest.mark.slow
def test_the_container_serves_and_its_health_check_tells(instructions, tmp_path):
    port = str(free_port())
    here = {"/srv/noid": str(tmp_path), "0.0.0.0:8080": f"127.0.0.1:{port}"}
    assert json.loads(instructions["ENTRYPOINT"]) == ["noid"]
    words = [here.get(word, word) for word in json.loads(instructions["CMD"])]
    check = json.loads(instructions["HEALTHCHECK"].removeprefix("CMD ").replace("8080", port))
    check[0] = sys.executable

    def is_healthy() -> bool:
        return subprocess.run(check, stderr=subprocess.DEVNULL, check=False).returncode == 0

    subprocess.run([*NOID, "-f", str(tmp_path / "kt5"), "dbcreate", "kt.reeded"], check=True, capture_output=True)
    assert not is_healthy()
    with subprocess.Popen([*NOID, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as served:
        try:
            wait_until(is_healthy, 60)
        finally:
            served.terminate()
