"""A worker process of `noid serve`: its application, and its end if the process that started it is killed."""

from __future__ import annotations

import os
import signal
import threading
import time

from ..minter.folder import MinterFolder, SingleMinter
from ..store.locks import lock_file
from ..web.group_commit import WriterSlots
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

# Seconds between two looks at the parent process, and at the slots.
_INTERVAL = 1.0
_SLOT_INTERVAL = 0.005


def make_application(settings: dict[str, Any]) -> Site:
    """The application of a worker process."""
    minters = MinterFolder(settings["minters"]) if settings["minters"] else SingleMinter(settings["dbdir"])
    trust = Trust(proxies=tuple(settings["proxies"]), user_header=settings["user_header"], user=settings["user"])
    return Site(minters, trust=trust, challenge=settings["challenge"], largest_body=settings["largest_body"],
                metrics=_metrics(settings["slow"], trust), commands=settings["commands"],
                interfaces=settings["interfaces"], slots=_slots(settings["threads"], settings["processes"]))


def _slots(threads: int, processes: int) -> WriterSlots | None:
    """Slots for all but one of the threads of this process, or of the processes if it has one thread."""
    folder = os.environ.get(METRICS_FOLDER)
    if threads > 1:
        return WriterSlots(threads - 1)
    return ProcessSlots(folder, processes - 1) if folder and processes > 1 else None


class ProcessSlots(WriterSlots):
    """Slots for processes that share a folder: files that they lock.  The system frees those of a process that dies."""

    def __init__(self, folder: str, count: int) -> None:
        super().__init__(count)
        self._paths = [os.path.join(folder, f"writer-{number}") for number in range(count)]
        self._path_again = os.path.join(folder, "writer-again")
        self._held = self._held_again = -1

    def _acquire(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while True:
            self._held = next((held for path in self._paths if (held := lock_file(path)) is not None), -1)
            if self._held >= 0 or time.monotonic() >= deadline:
                return self._held >= 0
            time.sleep(_SLOT_INTERVAL)

    def _release(self) -> None:
        os.close(self._held)

    def _begin_again(self) -> bool:
        held = lock_file(self._path_again)
        self._held_again = -1 if held is None else held
        return held is not None

    def _end_again(self) -> None:
        os.close(self._held_again)


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
