"""A worker process of `noid serve`: its application, and its end if the process that started it is killed."""

from __future__ import annotations

import os
import signal
import threading
import time

from ..minter.folder import MinterFolder, SingleMinter
from ..web.request import Trust
from ..web.site import Site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..web.metrics import RequestMetrics

# Variables that the worker processes get: the number of their parent process, and that of prometheus_client, the folder
# in which they keep their counts.
PARENT = "NOID_SERVE_PARENT"
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"

# Seconds between two looks at the parent process.
_INTERVAL = 1.0


def make_application(settings: dict[str, Any]) -> Site:
    """The application of a worker process."""
    minters = MinterFolder(settings["minters"]) if settings["minters"] else SingleMinter(settings["dbdir"])
    trust = Trust(proxies=tuple(settings["proxies"]), user_header=settings["user_header"], user=settings["user"])
    return Site(minters, trust=trust, challenge=settings["challenge"], largest_body=settings["largest_body"],
                metrics=_metrics(settings["slow"], trust), commands=settings["commands"], threads=settings["threads"],
                interfaces=settings["interfaces"])


def _metrics(slow: float, trust: Trust) -> RequestMetrics | None:
    try:
        from ..web.metrics import RequestMetrics
    except ModuleNotFoundError:
        return None  # prometheus_client is not installed: /metrics says so
    return RequestMetrics(slow, trust)


def stop_with_parent() -> None:
    """Stop this worker, as by SIGTERM, if the `noid serve` that started it is killed."""
    parent = os.environ.pop(PARENT, "")

    def watch() -> None:
        while os.getppid() == int(parent):
            time.sleep(_INTERVAL)
        os.kill(os.getpid(), signal.SIGTERM)

    if parent:
        threading.Thread(target=watch, daemon=True).start()
