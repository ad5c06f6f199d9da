"""A result as text and as the JSON object of the contract."""

from __future__ import annotations

import json

from msgspec.structs import replace

from swizzle.commands.report import as_json, as_text, coloured
from swizzle.sketches.hole_formula import HoleFormula
from swizzle.solving.solution.solution import Result, Solution
from symbolic.errors import Place
from symbolic.ir.program import Program

PLACE = Place("sketches/shift.py", 12, 9)
PROGRAM = Program("shift", (), (), (), (32, 1, 1), (1, 1, 1), 32, Place("sketches/shift.py", 8, 1))
HOLES = (
    HoleFormula("xform_1", "xform", PLACE, "(lane + 1) % 32", {"c_f": 1}),
    HoleFormula("c", "cond", Place("sketches/shift.py", 14, 20), "lane < 31", {}),
)
CHEAP = Solution(PROGRAM, HOLES, {"accumulates": 1})
DEAR = Solution(PROGRAM, (replace(HOLES[0], formula="(lane + 33) % 32"),), {"accumulates": 3})
SECONDS = {"total": 0.5, "interpret": 0.125, "search": 0.25, "verify": 0.0625}
SAT = Result("shift", "sat", "1", True, (CHEAP, DEAR), 32, SECONDS, {"outputs": 32})
UNSAT = Result("shift", "unsat", "3", False, (), 32, SECONDS)
UNKNOWN = Result("shift", "unknown", "2", False, (), 32, SECONDS, reason="timeout after 5 s")

KEYS = [
    *("sketch", "status", "space", "optimal", "cost", "proved", "solutions"),
    *("holes", "warp_size", "seconds", "cached", "certificate", "files"),
]


def test_the_object_has_exactly_the_keys_of_the_contract() -> None:
    """Every status has the same keys; only --all adds one."""
    for result in (SAT, UNSAT, UNKNOWN):
        assert list(as_json(result, [])) == KEYS
        assert list(as_json(result, [], all_solutions=True)) == [*KEYS, "all"]
        assert list(as_json(result, [])["seconds"]) == ["total", "interpret", "search", "verify"]


def test_a_sat_object() -> None:
    """The best solution's holes and cost, the number of solutions, the files."""
    answer = json.loads(json.dumps(as_json(SAT, ["out/shift.cu"])))
    assert (answer["sketch"], answer["status"], answer["space"], answer["optimal"]) == ("shift", "sat", "1", True)
    assert (answer["cost"], answer["solutions"], answer["warp_size"]) == ({"accumulates": 1}, 2, 32)
    assert answer["holes"][0] == {
        "name": "xform_1",
        "place": "sketches/shift.py:12:9",
        "formula": "(lane + 1) % 32",
    }
    assert (answer["files"], answer["certificate"]) == (["out/shift.cu"], {"outputs": 32})
    assert answer["seconds"] == SECONDS


def test_all_lists_every_solution() -> None:
    """'all' holds each solution's holes and cost, the cheapest first."""
    every = as_json(SAT, [], all_solutions=True)["all"]
    assert [entry["cost"]["accumulates"] for entry in every] == [1, 3]
    assert every[1]["holes"][0]["formula"] == "(lane + 33) % 32"


def test_unsat_and_unknown_objects_have_no_holes() -> None:
    """No solution, no cost; the reason of an unknown is in the certificate."""
    assert as_json(UNSAT, [])["holes"] == []
    assert as_json(UNSAT, [])["cost"] == {}
    assert as_json(UNKNOWN, [])["certificate"] == {"reason": "timeout after 5 s"}


def test_sat_text() -> None:
    """The whole text of a solved sketch."""
    assert as_text(replace(SAT, solutions=(CHEAP,)), ["out/shift.cu", "out/shift.json"]) == (
        "shift: solved, verified for all inputs\n"
        "    xform_1 = (lane + 1) % 32   at sketches/shift.py:12:9\n"
        "    c       = lane < 31         at sketches/shift.py:14:20\n"
        "  cost    1 accumulate, proved minimal in Space 1\n"
        "  time    0.50 s (interpret 0.12, search 0.25, verify 0.06)\n"
        "  wrote   out/shift.cu\n"
        "  wrote   out/shift.json\n"
    )


def test_a_cost_that_was_not_proved_minimal_says_so() -> None:
    """An interrupted search does not claim the optimum, and gives its reason."""
    text = as_text(replace(SAT, optimal=False, reason="interrupted"), [])
    assert "1 accumulate, not proved minimal in Space 1" in text
    assert "  reason  interrupted\n" in text


def test_a_proof_over_all_spaces_says_so() -> None:
    """After --space all the claim is not about one space."""
    assert "1 accumulate, proved minimal over all spaces\n" in as_text(SAT, [], every_space=True)


def test_unsat_and_unknown_text() -> None:
    """What was proved, or how far it came."""
    assert as_text(UNSAT, []).startswith("shift: no filling in Space 3 gives the specification's terms\n")
    assert as_text(UNKNOWN, []).startswith(
        "shift: undecided\n  space   Space 2 was being searched\n  reason  timeout after 5 s\n"
    )


def test_text_of_all_solutions() -> None:
    """--all prints every solution with its cost."""
    text = as_text(SAT, [], all_solutions=True)
    assert "  all     2 distinct solutions\n" in text
    assert "  found   2 distinct solutions; there may be more\n" in as_text(
        replace(SAT, reason="interrupted"), [], all_solutions=True
    )
    assert "  solution 2, 3 accumulates\n    xform_1 = (lane + 33) % 32" in text


def test_colour_touches_the_headline_only() -> None:
    """The rest of the text can be copied from the terminal as it is."""
    head, rest = coloured(as_text(SAT, []), "sat").split("\n", 1)
    assert head == "\x1b[1;32mshift: solved, verified for all inputs\x1b[0m"
    assert "\x1b" not in rest
