"""News from a running search: live on a terminal, plain lines in a pipe, nothing when quiet.

The answer goes to stdout, news go to stderr, so that a pipe or `--json` carries the answer alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.text import Text

    from swizzle.solution import Progress


def is_terminal(stream: TextIO) -> bool:
    """Tell whether a stream can redraw a line."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def wants_colour(stream: TextIO) -> bool:
    """Tell whether to colour what is written here; NO_COLOR (https://no-color.org) switches it off."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def headline(progress: Progress) -> str:
    """Return one line of news without the time: space, what is being tried, best cost, counterexamples."""
    counterexamples = count(progress.counterexamples, "counterexample")
    parts = [f"Space {progress.space}"]
    if progress.doing not in (f"{progress.counterexamples} counterexamples", counterexamples):
        parts.append(progress.doing)
    if progress.best_cost is not None:
        parts.append(f"best {count(progress.best_cost, 'accumulate')}")
    if progress.counterexamples:
        parts.append(counterexamples)
    return " · ".join(parts)


def count(number: int, noun: str) -> str:
    """Return '1 output' or '3 outputs'.

    >>> count(1, "output"), count(3, "output")
    ('1 output', '3 outputs')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class _Ticker:
    """What rich redraws: the latest news and a clock that runs between two of them."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.started = time.monotonic()
        self.latest: Progress | None = None

    def __rich__(self) -> Text:
        from rich.text import Text

        seconds = time.monotonic() - self.started
        news = headline(self.latest) if self.latest else "reading the sketch"
        return Text.assemble((self.title, "bold"), f"  {news} · {seconds:.1f} s", overflow="ellipsis", no_wrap=True)


@contextmanager
def news(title: str, stream: TextIO, *, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Give the callback that a search reports to, for as long as the search runs."""
    if quiet:
        yield lambda progress: None
    elif is_terminal(stream):
        from rich.console import Console
        from rich.live import Live

        ticker = _Ticker(title)

        def tick(progress: Progress) -> None:
            ticker.latest = progress

        with Live(ticker, console=Console(file=stream), refresh_per_second=10, transient=True):
            yield tick
    else:
        said: list[str] = []

        def say(progress: Progress) -> None:
            line = headline(progress)
            if line not in said[-1:]:
                said.append(line)
                stream.write(f"{title}: {line} · {progress.seconds:.1f} s\n")
                stream.flush()

        yield say
