"""Progress of a search: where it goes, and when it is silent."""

from __future__ import annotations

import io
import time

import pytest

from swizzle.commands import progress
from swizzle.commands.progress import fitted, headline, shown_progress, wants_colour
from swizzle.solving.solution.solution import Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


SEARCHING = Progress("1", "searching", None, 0, 0.25)
LOWERING = Progress("2", "lowering the cost", {"accumulates": 5}, 3, 1.5)


def test_a_headline_says_space_doing_cost_and_counterexamples() -> None:
    """Every field has its words; what is not known yet is left out."""
    assert headline(SEARCHING) == "Space 1 · searching"
    assert headline(LOWERING) == "Space 2 · lowering the cost · best 5 accumulates · 3 counterexamples"


def test_a_pipe_gets_plain_lines_once_each() -> None:
    """Piped progress is lines without escapes; the same step twice is one line."""
    stream = io.StringIO()
    with shown_progress("conv1d", stream, quiet=False) as listener:
        listener(SEARCHING)
        listener(SEARCHING)
        listener(LOWERING)
    assert stream.getvalue().splitlines() == [
        "conv1d: Space 1 · searching · 0.2 s",
        "conv1d: Space 2 · lowering the cost · best 5 accumulates · 3 counterexamples · 1.5 s",
    ]


def test_quiet_is_silent() -> None:
    """With -q not a character is written, terminal or not."""
    for stream in (io.StringIO(), Terminal()):
        with shown_progress("conv1d", stream, quiet=True) as listener:
            listener(LOWERING)
        assert stream.getvalue() == ""


def test_the_view_waits_for_a_search_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that is over in a blink leaves a terminal alone; a longer one is drawn and wiped."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    quick, slow = Terminal(), Terminal()
    monkeypatch.setattr(progress, "BLINK", 60.0)
    with shown_progress("conv1d", quick, quiet=False) as listener:
        listener(LOWERING)
    assert quick.getvalue() == ""
    monkeypatch.setattr(progress, "BLINK", 0.0)
    with shown_progress("conv1d", slow, quiet=False) as listener:
        listener(LOWERING)
        while "best 5 accumulates" not in slow.getvalue():
            time.sleep(0.01)
    assert slow.getvalue().endswith("\x1b[2K")


def test_the_view_counts_candidates() -> None:
    """One for each counterexample, of every space, and one for each solution that was cheaper."""
    view = progress.View("conv1d", io.StringIO())
    assert view.lines()[0] == "reading the sketch"
    seen = [(0, None), (1, None), (3, None), (3, 6), (4, 6), (4, 5), (0, 5), (2, 5)]
    tried = []
    for counterexamples, cost in seen:
        view.update(Progress("1", "searching", cost and {"accumulates": cost}, counterexamples, 0.1))
        tried.append(view.candidates)
    assert tried == [0, 1, 3, 4, 5, 6, 6, 8]
    doing, state = view.lines()
    assert doing == "Space 1 · searching"
    assert "s · best 5 accumulates · 8 candidates, 2 counterexamples" in state


@pytest.mark.parametrize(
    ("term", "no_colour", "expected"), [("xterm", "", True), ("xterm", "1", False), ("dumb", "", False)]
)
def test_colour_is_for_terminals_that_want_it(
    monkeypatch: pytest.MonkeyPatch, term: str, no_colour: str, expected: bool
) -> None:
    """NO_COLOR and a dumb terminal switch colour off; a pipe never has it."""
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("NO_COLOR", no_colour)
    assert wants_colour(Terminal()) is expected
    assert wants_colour(io.StringIO()) is False


def test_counterexamples_are_said_once() -> None:
    """The search's own count of them is not repeated, and one is not several."""
    assert headline(Progress("1", "1 counterexamples", None, 1, 0.1)) == "Space 1 · 1 counterexample"
    assert (
        headline(Progress("1", "3 counterexamples", {"accumulates": 5}, 3, 0.1))
        == "Space 1 · best 5 accumulates · 3 counterexamples"
    )
    assert headline(Progress("1", "searching", None, 0, 0.1)) == "Space 1 · searching"


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_lines_fit_a_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal no line is wider, what goes on is indented, and no word is lost; in a pipe nothing changes."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    text = "k: no filling\n  tried\n    " + " ".join(f"word{n}" for n in range(40)) + "   at k.py:1:2\n"
    shown = fitted(text, Terminal())
    assert shown.split() == text.split()
    assert shown.startswith("k: no filling\n  tried\n    word0 word1") and shown.endswith("\n")
    lines = shown.splitlines()
    assert max(map(len, lines)) <= columns
    assert {len(line) - len(line.lstrip()) for line in lines[3:]} == {8}
    assert fitted(text, io.StringIO()) == text
