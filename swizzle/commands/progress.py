"""The progress of a running search: a live view on a terminal, plain lines in a pipe, nothing when quiet.

The answer goes to stdout, progress to stderr, so that a pipe carries the answer alone. The view is drawn by a thread
of its own, only once a search takes longer than a blink, and erased when the search ends.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Final, TextIO

from swizzle.commands.output import beneath
from swizzle.solving.solution.in_words import cost_text, count
from swizzle.solving.solution.solution import Progress

if TYPE_CHECKING:
    from rich.console import Group

BLINK: Final = 0.25
"""Seconds after which a search is worth a view."""
REDRAWN: Final = 0.1
"""Seconds between two drawings: the clock runs on when nothing happens."""
NARROWEST: Final = 40
"""Columns of a terminal for which lines are broken; a narrower one breaks them itself."""


def is_terminal(stream: TextIO) -> bool:
    """Tell whether a stream can redraw a line."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def fitted(text: str, stream: TextIO) -> str:
    """Return a text whose lines fit the terminal that it is written to, broken at spaces; as it is in a pipe."""
    if not is_terminal(stream):
        return text
    width = max(shutil.get_terminal_size().columns, NARROWEST)
    found: list[str] = []
    for line in text.split("\n"):
        margin = " " * (len(line) - len(line.lstrip()))
        wrapper = TextWrapper(width, "", margin + "    ", break_long_words=False, break_on_hyphens=False)
        wrapper.expand_tabs = wrapper.replace_whitespace = False
        found += wrapper.wrap(line) or [""]
    return "\n".join(found)


def wants_colour(stream: TextIO) -> bool:
    """Tell whether to colour what is written here; NO_COLOR (https://no-color.org) switches it off."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def headline(progress: Progress) -> str:
    """Return one line of progress without the time: space, what is being tried, best cost, counterexamples."""
    counterexamples = count(progress.counterexamples, "counterexample")
    parts = [f"Space {progress.space}"]
    if progress.doing not in (f"{progress.counterexamples} counterexamples", counterexamples):
        parts.append(progress.doing)
    if progress.best_cost is not None:
        parts.append(f"best {cost_text(progress.best_cost)}")
    if progress.counterexamples:
        parts.append(counterexamples)
    return " · ".join(parts)


class View(threading.Thread):
    """What a search is doing, in two lines that are redrawn: what is being tried, and what it has come to."""

    def __init__(self, title: str, stream: TextIO) -> None:
        super().__init__(name="view", daemon=True)
        self.title, self.stream = title, stream
        self.started = time.monotonic()
        self.latest: Progress | None = None
        self.candidates = 0
        self._over = threading.Event()

    def update(self, progress: Progress) -> None:
        """Look at the next step. Each counterexample refuted a candidate; each lower cost is one that was right."""
        before = self.latest
        known = before.counterexamples if before else 0  # a new space counts from 0 again
        self.candidates += progress.counterexamples - (known if known <= progress.counterexamples else 0)
        self.candidates += progress.best_cost is not None and progress.best_cost != (before and before.best_cost)
        self.latest = progress

    def run(self) -> None:
        if self._over.wait(BLINK):
            return
        from rich.console import Console
        from rich.live import Live

        console = Console(file=beneath(self.stream))
        with (
            suppress(OSError),
            Live(console=console, auto_refresh=False, transient=True, get_renderable=self.draw) as live,
        ):
            while not self._over.wait(REDRAWN):
                live.refresh()

    def end(self) -> None:
        """Erase the view and let its thread go."""
        self._over.set()
        try:
            self.join()
        except KeyboardInterrupt:
            self.join()
            raise

    def lines(self) -> tuple[str, str]:
        """Return the two lines, without the title."""
        latest, held = self.latest, memory()
        seconds = f"{time.monotonic() - self.started:.1f} s"
        if latest is None:
            return "reading the sketch", " · ".join(filter(None, (seconds, held)))
        best = "no solution yet" if latest.best_cost is None else f"best {cost_text(latest.best_cost)}"
        tried = f"{count(self.candidates, 'candidate')}, {count(latest.counterexamples, 'counterexample')}"
        parts = (seconds, best, tried, held)
        return f"Space {latest.space} · {latest.doing}", " · ".join(filter(None, parts))

    def draw(self) -> Group:
        """Return the view, each line cut to the width of the terminal."""
        from rich.console import Group
        from rich.text import Text

        doing, state = self.lines()
        first = Text.assemble((self.title, "bold"), f"  {doing}", overflow="ellipsis", no_wrap=True)
        return Group(first, Text(f"  {state}", style="dim", overflow="ellipsis", no_wrap=True))


def memory() -> str:
    """Return the memory that this process holds now, or its peak where only that is known; '' where neither is."""
    with suppress(OSError, ValueError, IndexError), open("/proc/self/statm", encoding="ascii") as file:
        return f"{int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') >> 20} MiB"
    with suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return f"{peak >> (20 if sys.platform == 'darwin' else 10)} MiB"
    return ""


@contextmanager
def shown_progress(title: str, stream: TextIO, *, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Give the callback that a search reports to, for as long as the search runs."""
    if quiet:
        yield lambda progress: None
    elif is_terminal(stream):
        view = View(title, stream)
        view.start()
        try:
            yield view.update
        finally:
            view.end()
    else:
        said: list[str] = []

        def say(progress: Progress) -> None:
            line = headline(progress)
            if line not in said[-1:]:
                said.append(line)
                stream.write(f"{title}: {line} · {progress.seconds:.1f} s\n")
                stream.flush()

        yield say
