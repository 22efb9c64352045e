"""Ctrl-C at a chosen moment: KeyboardInterrupt exactly where a signal's handler could raise it."""

from __future__ import annotations

import ctypes
import dis
import functools
import os
import signal
import sys
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any

from noidtools import store

_STORE = os.path.dirname(store.__file__) + os.sep

# Instructions of CPython in which, or in the functions that they call, the handlers of signals are run.
_HANDLING = {"CALL", "CALL_KW", "CALL_FUNCTION_EX", "BEFORE_WITH", "WITH_EXCEPT_START", "JUMP_BACKWARD"}

# Notes a signal as the system does, without running a line of Python, in which it would be handled at once.
_note_signal = ctypes.pythonapi.PyErr_SetInterrupt
_note_signal.argtypes, _note_signal.restype = [ctypes.py_object] * 3, None


@functools.cache
def _before_handling(code: CodeType) -> set[int]:
    """The offsets of the instructions that precede one in which signals are handled."""
    instructions = list(dis.get_instructions(code))
    return {first.offset for first, second in zip(instructions, instructions[1:], strict=False)
            if second.opname in _HANDLING}


class Interruption:
    """Interrupts the main thread in the code of the store or of one more file, at the n-th moment at which a signal is
    handled there.

    error  what was raised by the code that was interrupted, with its traceback; None if there was no such moment, or
           nothing was raised
    """

    def __init__(self, moment: int, file: str) -> None:
        self._left = moment
        self._file = file
        self.place = ""
        self.error: BaseException | None = None

    def __enter__(self) -> Interruption:
        self._handler = signal.signal(signal.SIGINT, self._handle)
        sys.settrace(self._trace)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> bool:
        sys.settrace(None)
        signal.signal(signal.SIGINT, self._handler)
        self.error = error
        return isinstance(error, KeyboardInterrupt)

    @property
    def came(self) -> bool:
        return bool(self.place)

    def _trace(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        if event == "call":
            if not frame.f_code.co_filename.startswith((_STORE, self._file)):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode" and frame.f_lasti in _before_handling(frame.f_code):
            self._left -= 1
            if not self._left:
                self.place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                frame.f_trace = _note_signal  # called before the next instruction
                return _note_signal
        return self._trace

    def _handle(self, _: int, __: FrameType | None) -> None:
        sys.settrace(None)
        raise KeyboardInterrupt
