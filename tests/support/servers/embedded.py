"""The program's own HTTP server, without another in front of it."""

from __future__ import annotations

from support.servers.deployment import USER, Deployment, Resolving


class Embedded(Deployment):
    """The program's own server.  It checks no passwords, so the tests name the user as a proxy would."""

    path = ""

    def start(self) -> None:
        self.service = self.run_service("--http", f"127.0.0.1:{self.port}", "--proxy", "127.0.0.1",
                                        "--user-header", "X-Remote-User")
        self.wait_until_served()

    def credentials(self, user: str = USER) -> list[str]:
        return ["--header", f"X-Remote-User: {user}"]

    def login_header(self) -> bytes:
        return f"X-Remote-User: {USER}\r\n".encode()

    def workers(self) -> list[int]:
        return self.service.children()


class EmbeddedResolver(Resolving, Embedded):
    """The program's own server."""
