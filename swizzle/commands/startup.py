"""What the process of the command line is given before anything else is imported; no other process is touched.

Every process that imports Swizzle is asked whether the packages that it will import are ours.

Ctrl-C while it starts ends in status 3 and one word, not in a traceback from the middle of an import. That guard ends
when work begins, as work has orderly ends of its own. And NumPy's linear algebra, which nothing of ours uses, starts
no threads: they would spin while NumPy is imported, a fifth of the processor time of a small solve.
"""

from __future__ import annotations

import _thread
import gc
import math
import os
import signal
import sys
import threading
import time
from importlib.util import find_spec
from types import FrameType

STARTED = time.monotonic()
"""When this process began, but for what Python itself needed."""
MOMENT = 0.5  # seconds
_last_interrupt = -math.inf


def _leave(number: int, frame: FrameType | None) -> None:
    """Leave at once: nothing was begun that needs an end."""
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(3)


def is_command_line() -> bool:
    """Tell whether this process is `swizzle ...` or `python -m swizzle ...` (also while the latter is being found)."""
    first = sys.argv[0] if sys.argv else ""
    name = os.path.splitext(os.path.basename(first))[0]
    return name == "swizzle" or (first == "-m" and sys.orig_argv[1:3] == ["-m", "swizzle"])


def guard() -> None:
    """Let Ctrl-C end the command line's process at once, until `work_begins`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        try:
            signal.signal(signal.SIGINT, _leave)
        except ValueError:  # not the main thread
            return


def work_begins() -> None:
    """From here on Ctrl-C is a KeyboardInterrupt again; one that Python could not raise comes again."""
    if is_command_line():
        gc.freeze()
        gc.set_threshold(
            100_000, 50, 20
        )  # tables of terms have no cycles, and looking for some took a third of the time
        gc.enable()
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _again


def _interrupt(*_: object) -> None:
    """Raise KeyboardInterrupt, but not twice in a moment: `timeout` sends the same one to a process and to its group.

    What was found would be lost, if the second came while it is being put away.
    """
    global _last_interrupt
    now = time.monotonic()
    if now - _last_interrupt > MOMENT:
        _last_interrupt = now
        raise KeyboardInterrupt


def _again(unraisable: sys.UnraisableHookArgs) -> None:
    """Interrupt again soon, when Ctrl-C came while an object was being finalised and would be lost."""
    global _last_interrupt
    if unraisable.exc_type is KeyboardInterrupt:
        _last_interrupt = -math.inf
        threading.Timer(0.02, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(unraisable)


def refuse_others() -> None:
    """Refuse to run where another package is found under the name of one of ours, which would fail in odd ways later.

    Raises ImportError; on the command line, it is one message and status 2.
    """
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for name in ("symbolic", "templates", "cuda_out"):
        found = sys.modules[name].__spec__ if name in sys.modules else find_spec(name)
        at = os.path.dirname(found.origin) if found and found.origin else ""
        if os.path.dirname(os.path.realpath(at)) != os.path.realpath(home):
            message = (
                f"the package `{name}` is found in {at or 'no file'}, where Swizzle has one of that name in {home}\n"
                f"  expected: Swizzle's own package\n"
                f"  fix: rename that folder, run from another folder, or uninstall the other `{name}` (docs/install.md)"
            )
            if is_command_line():
                sys.stderr.write(f"error: {message}\n")
                sys.exit(2)
            raise ImportError(message)


refuse_others()
if is_command_line():
    guard()
    gc.disable()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
