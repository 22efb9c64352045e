"""The program's own HTTP server, without another in front of it."""

from __future__ import annotations

from support.servers.deployment import Deployment, Resolving


class EmbeddedResolver(Resolving, Deployment):
    """The program's own server, which knows no users."""

    path = ""

    def start(self) -> None:
        self.service = self.run_service("--http", f"127.0.0.1:{self.port}")
        self.wait_until_served()

    def workers(self) -> list[int]:
        return self.service.children()
