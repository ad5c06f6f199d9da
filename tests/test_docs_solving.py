"""docs/solving.md is true: every sketch and command on the page gives what the page shows."""

import doctest
import io
import itertools
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from swizzle import maximum, minimum, solve, where
from swizzle.commands.process import execute
from swizzle.language.element_types import MAX_ELEMENTS
from swizzle.sketches.declaration import MAX_GRID_THREADS, MAX_SHARED, MAX_THREADS
from swizzle.sketches.loading import load
from swizzle.solving.solution.solution import Limits
from symbolic.algebra.datum import Datum
from symbolic.algebra.terms import Terms
from symbolic.errors import Place
from symbolic.ir.program import Hole
from templates.chooser import ColumnChooser, OneChoice
from templates.cond import Cond, Part
from templates.holes import HOLE_KINDS, SPACES, Point
from templates.naive import naive_xform
from templates.registry import template
from templates.template import Template
from templates.xform import Xform
from tests.templates.conditions import every_condition

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "solving.md").read_text(encoding="utf-8")
SKETCHES = dict(re.findall(r"^```python (\w+\.py)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
CONSOLES = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def rows_below(header: str) -> list[list[str]]:
    """Return the cells of the table with this header, without its backquotes."""
    _, _, rest = PAGE.partition(f"{header}\n")
    lines = itertools.takewhile(lambda line: line.startswith("|"), rest.splitlines()[1:])
    found = [[cell.strip(" `") for cell in line.strip("| ").split(" | ")] for line in lines]
    assert found, f"no table {header}"
    return found


def untimed(text: str) -> str:
    """Blank out every measured time."""
    text = re.sub(r"^  time .*$", "  time", text, flags=re.MULTILINE)
    return re.sub(r'("(?:total|interpret|search|verify)": )[\d.e-]+', r"\1_", text)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's sketches and the case studies in it."""
    for name, text in SKETCHES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "case_studies", tmp_path / "case_studies", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("console", CONSOLES)
def test_each_command_prints_what_the_page_says(console: str, workplace: Path) -> None:
    """What follows each `$` is what the command prints, but for the times; `; echo $?` shows its exit status."""
    printed = []
    for command in re.findall(r"^\$ (.*)$", console, re.MULTILINE):
        program, *arguments = command.removesuffix("; echo $?").split()
        assert program == "swizzle"
        out, err = io.StringIO(), io.StringIO()
        status = execute(arguments, out, err)
        printed.append(f"$ {command}\n{out.getvalue()}" + (f"{status}\n" if command.endswith("; echo $?") else ""))
    assert untimed("".join(printed)) == untimed(console)


def test_the_sessions_print_what_the_page_says() -> None:
    """The tables of the primitives are computed."""
    (text,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest(text, {}, "solving.md", None, 0)
    report: list[str] = []
    outcome = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert outcome.attempted >= 6
    assert not outcome.failed, "".join(report)


def test_the_laws_are_those_of_terms() -> None:
    """Each row of the table of terms is the same term, or is not, as it says."""
    terms = Terms()
    names = {name: Datum(terms, terms.atom(name, 0)) for name in "xyz"}
    rows = rows_below("| one term | another | the same? |")
    assert len(rows) >= 15
    for *pair, verdict in rows:
        values = [eval(text, {"minimum": minimum, "maximum": maximum, "where": where, **names}) for text in pair]
        left, right = (v.term if isinstance(v, Datum) else terms.const(v) for v in values)
        assert (verdict == "yes") is (left == right), pair


def test_the_tables_of_conditions_are_right() -> None:
    """The formulas have the values that are shown, and their space is the smallest that holds them."""
    points: list[Point] = [(i,) for i in range(8)]
    header = f"| `i` | {' | '.join(map(str, range(8)))} | space |"
    conditions, parts = PAGE.split(header)[1:]
    shown = re.findall(r"^\| `([^`]+)` \| (.*) \| (\d) \|$", conditions.split("###")[0], re.MULTILINE)
    assert len(shown) == 3
    for formula, cells, space in shown:
        values = [bool(eval(formula, {"i": i})) for i in range(8)]
        assert values == [cell == "yes" for cell in cells.split(" | ")]
        assert space == next(s for s in SPACES if Cond(1, points, s).simplest(points, values) is not None)
    shown = re.findall(r"^\| `([^`]+)` \| (.*) \| (\d) \|$", parts.split("###")[0], re.MULTILINE)
    assert len(shown) == 2
    for formula, cells, space in shown:
        numbers = [eval(formula, {"i": i}) for i in range(8)]
        assert numbers == [int(cell) for cell in cells.split(" | ")]
        size = max(numbers) + 1
        assert space == next(s for s in SPACES if Part(size, 1, points, s).simplest(points, numbers) is not None)


@pytest.mark.slow
def test_the_spaces_have_as_many_functions() -> None:
    """The distinct functions of each space are counted one by one."""
    lanes: list[Point] = [(i,) for i in range(8)]
    pairs: list[Point] = [(i, k) for i in range(8) for k in range(4)]

    def functions(of: Template, points: list[Point]) -> int:
        return len({tuple(of.at(OneChoice(c), p) for p in points) for c in itertools.product(*of.components)})

    header = "| space | `?sw_cond(i)` | `?sw_cond(i, k)` | `?sw_xform(i, 8)` | `?sw_xform(i, 8, k)` |"
    *papers, last = rows_below(header)
    for space, row in zip(SPACES, papers, strict=False):
        made = [
            functions(Cond(1, lanes, space), lanes),
            functions(Cond(2, pairs, space), pairs),
            functions(Xform(8, lanes, space), lanes),
            functions(Xform(8, pairs, space), pairs),
        ]
        assert row == [space, *map(str, made)]
    in_space_4 = [len(every_function(points)) for points in (lanes, pairs)]
    conditions = [len(every_condition(points)) for points in (lanes, pairs)]
    assert last == ["4", *map(str, [*conditions, *in_space_4])]


def every_function(points: list[Point]) -> set[bytes]:
    """Return the functions of a hole of Space 4: the paper's, and the maps of bits by their definition."""
    hole = Hole("xform1", "xform", 8, ("i", "k")[: len(points[0])], Place("-", 1, 1))
    paper = template(hole, points, "3")
    found = {
        np.array([paper.at(OneChoice(c), p) for p in points]).tobytes() for c in itertools.product(*paper.components)
    }
    bits = [
        [(point[0] | sum(point[1:]) << 3) >> j & 1 for j in range(3 + 2 * (len(points[0]) > 1))] for point in points
    ]
    matrices = np.array(bits).T  # a line for each bit of the arguments
    for c, *columns in itertools.product(range(8), repeat=1 + len(matrices)):
        found.add(
            np.bitwise_xor.reduce(
                [np.full(len(points), c), *(m * v for m, v in zip(matrices, columns, strict=True))]
            ).tobytes()
        )
    return found


def test_the_naive_template_has_as_many_functions() -> None:
    """Depths 1 and 2 are counted one by one."""
    lanes: list[Point] = [(i,) for i in range(8)]
    pairs: list[Point] = [(i, k) for i in range(8) for k in range(4)]
    rows = rows_below("| template | different `?sw_xform(i, 8)` | different `?sw_xform(i, 8, k)` |")
    for (name, *counts), depth in zip(rows, (1, 2), strict=True):
        assert name == f"naive-{depth}"
        for points, arguments, count in ((lanes, ("i",), counts[0]), (pairs, ("i", "k"), counts[1])):
            made = naive_xform(Hole("xform1", "xform", 8, arguments, Place("-", 1, 1)), tuple(points), depth)
            rows_of = ColumnChooser.everything(made.components)
            values = [made.at(rows_of, p) for p in points]
            table = np.stack([np.array(v.values)[v.codes] for v in values])
            assert len(np.unique(table, axis=1).T) == int(count)


def test_the_limits_are_those_of_the_front_end() -> None:
    """The table of sizes has the numbers that the front end enforces."""
    shown = [int(limit) for _, limit in re.findall(r"^\| ([^|]+) \| (\d+) \|$", PAGE, re.MULTILINE)[:6]]
    holes = [HOLE_KINDS[kind].largest for kind in ("xform", "part")]
    assert shown == [*holes, MAX_THREADS, MAX_GRID_THREADS, MAX_SHARED, MAX_ELEMENTS]


def test_all_finds_the_solutions_in_the_table(workplace: Path) -> None:
    """`--all` lists four fillings of edge.py, and Space 1 has none."""
    (edge,) = load(workplace / "edge.py")
    found = solve(edge, Limits(all_solutions=True)).solutions
    assert [s.cost["accumulates"] for s in found] == [2, 2, 3, 3]
    table = [[*(h.formula for h in s.holes), str(s.cost["accumulates"])] for s in found]
    assert sorted(table) == sorted(rows_below("| `cond1` | `cond2` | cost |"))
    assert solve(edge, Limits(space="1")).status == "unsat"


def test_all_counts_what_runs(workplace: Path) -> None:
    """Of first.py, Space 1 has one solution, and eight functions that serve it; Space 2 has two."""
    (first,) = load(workplace / "first.py")
    (one,) = solve(first, Limits(space="1", all_solutions=True)).solutions
    assert one.holes[1].formula in ("i <= 0", "i == 0")
    asked = [sw for sw in itertools.product(range(8), repeat=2) if sw[1] == 7]  # c_f and c
    assert len({tuple((c_f * i + c) % 8 for i in range(8)) for c_f, c in asked}) == 8
    both = solve(first, Limits(space="2", all_solutions=True)).solutions
    assert {s.holes[1].formula for s in both} == {one.holes[1].formula, "i <= 1"}
    assert "7 - 6 * i" in {s.holes[0].formula for s in both}


def test_every_key_of_the_json_object_is_explained() -> None:
    """The table has the keys of the example, and those that only some answers have."""
    explained = {row[0] for row in rows_below("| key | meaning |")}
    shown = set(re.findall(r'^  "(\w+)":', "".join(CONSOLES), re.MULTILINE)) - {"certificate"}
    assert shown <= explained
    parts = (
        "cancelling",
        "proved",
        "floor",
        "left_open",
        "verified",
        "confirmed",
        "tried",
        "counted_again",
        "counted_once",
        "reason",
        "mismatch",
        "sizes",
        "homes",
        "no_table",
        "pads",
        "front",
    )
    extra = {"certificate." + key for key in parts}
    assert explained - shown == extra | {"all", "front"}


def test_the_links_lead_somewhere() -> None:
    """Every link of the page names a file beside it, or a heading of its own."""
    assert re.findall(r"\]\(#([^)]+)\)", PAGE) == [
        "conditions-in-space-4",
        "families-on-request",
        "costs",
        "formulas",
        "the-cache",
        "costs",
    ]
    assert all(f"\n### {title}\n" in PAGE for title in ("The cache", "Formulas", "Families on request"))
    assert [
        link for link in re.findall(r"\]\(([^)]+)\)", PAGE) if not (ROOT / "docs" / link.split("#")[0]).exists()
    ] == []
