"""`swizzle explain`: exit statuses, text and JSON object; `Result.explain`; the hint that `swizzle solve` gives."""

import io
import json
import re
from pathlib import Path

import pytest

from swizzle import SwizzleError, load, solve
from swizzle.commands.process import execute
from swizzle.solving.solution.solution import Result
from tests.patience import be_patient

FOLDER = Path(__file__).resolve().parents[2] / "explain"
CONV = Path(__file__).resolve().parents[3] / "case_studies" / "conv1d.py"


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    be_patient(monkeypatch)


def call(*arguments: str) -> tuple[int, str, str]:
    """Run a command line in this process; return exit status, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    return execute(arguments, out, err), out.getvalue(), err.getvalue()


def shape(text: str) -> str:
    """Blank out numbers: which of several smallest conflicts is told depends on the solver."""
    return re.sub(r"\d+", "#", text)


def test_the_whole_text() -> None:
    """What cannot be produced, why, what forbids it, what was tried."""
    status, out, err = call("explain", "-q", "--space", "3", str(FOLDER / "butterfly.swz"))
    path = FOLDER / "butterfly.swz"
    assert (status, err) == (1, "")
    assert shape(out) == shape(
        "kernel: no filling in Space 3 gives the specification's terms\n"
        "  cannot be produced together, though any fewer can\n"
        f"    y[0] of lane 0, which should be x[5]   at {path}:9:5\n"
        f"    y[1] of lane 1, which should be x[4]   at {path}:9:5\n"
        f"    y[7] of lane 7, which should be x[2]   at {path}:9:5\n"
        "  because\n"
        "    xform1 would have to be 5 at lane = 0, 4 at lane = 1 and 2 at lane = 7;"
        " no function of ?sw_xform in Space 3 is\n"
        "  forbidden by\n"
        f"    xform1 = ?sw_xform(lane, 8)   at {path}:9:55\n"
        "  tried\n"
        "    Space 4: solvable in Space 4\n"
        "    any function of lane as xform1 (line 9): solvable,"
        " for example lane ^ 5\n"
    )


def test_a_kernel_at_warp_size_32() -> None:
    """The paper's convolution with one register: what is missing, who has it, and two ways to get it."""
    status, out, _ = call("explain", "-q", str(CONV), "-D", "rounds=1", "-D", "grid=1", "-D", "warps=2")
    assert status == 1
    assert re.search(r"y\[\d+\] of lane 3[01] of warp [01], which should be w\[0\]\*x", out)
    assert re.search(r"it needs x\[(32|64)\](?: and x\[(33|65)\])?; whatever the holes are, only x\[(0|32)\] to", out)
    assert "] is held by inp[0] of lane 0 of warp 1" in out or "to x[63] can reach it" in out
    assert "one more register in inp, 2 instead of 1 (line 30), filled by one more round: solvable in Space 1" in out
    assert "-D rounds=2: solvable in Space 1" in out
    assert "-D K=2; " in out and "do not help" in out


def test_a_sketch_with_a_solution() -> None:
    """It is said, and the exit status is 0."""
    status, out, _ = call("explain", "-q", str(FOLDER / "needs_space_2.swz"))
    assert (status, out.splitlines()[0]) == (0, "kernel: has a solution, so there is nothing to explain")
    assert "cond1 = i > 2" in out


def test_undecided() -> None:
    """Where solving takes too long there is nothing to explain yet, and the exit status is 3."""
    status, out, _ = call("explain", "-q", str(FOLDER / "butterfly.swz"), "--timeout", "0.000001")
    assert (status, out.splitlines()[0]) == (3, "kernel: undecided, so there is nothing to explain yet")


def test_a_kernel_without_holes(tmp_path: Path) -> None:
    """What it computes instead is said."""
    path = tmp_path / "wrong.swz"
    text = (FOLDER / "butterfly.swz").read_text(encoding="utf-8").replace("?sw_xform(lane, 8)", "lane ^ 4")
    path.write_text(text, encoding="utf-8")
    status, out, _ = call("explain", "-q", str(path))
    assert (status, out.splitlines()[0]) == (1, "kernel: has no holes, and its terms are not the specification's")
    assert "y[0] of lane 0, which should be x[5]" in out
    assert "it is x[4]\n" in out


def test_json() -> None:
    """One object holds what the text says."""
    status, out, _ = call("explain", "-q", "--json", "--space", "3", str(FOLDER / "out_of_bounds.swz"))
    found = json.loads(out)
    assert (status, found["status"], found["space"], found["minimal"], found["smallest"]) == (
        1,
        "unsat",
        "3",
        True,
        True,
    )
    assert [o["cell"] for o in found["outputs"]] == ["y[0]"]
    assert [(b["kind"], b["name"], b["place"].rpartition(".swz")[2]) for b in found["blamed"]] == [
        ("hole", "xform1", ":9:18"),
        ("rule", "bounds", ":9:9"),
    ]
    tried = [(t["kind"], t["verdict"]) for t in found["tried"]]
    assert tried == [("space", "solvable"), ("hole", "solvable")]
    assert found["reasons"] and not found["holes"]


def test_news_go_to_stderr() -> None:
    """What is being looked for is told where the answer is not."""
    _, out, err = call("explain", str(FOLDER / "never_stored.swz"))
    assert "looking for what cannot be produced" in err
    assert "looking for" not in out


def test_solve_points_to_explain() -> None:
    """The last line of a proof that none exists is the command that explains it; it works as it stands."""
    path = FOLDER / "too_few_rounds.swz"
    _, out, _ = call("solve", "-q", str(path), "-D", "rounds=1", "--space", "1")
    hint = out.splitlines()[-1].split()
    assert hint == ["why", "swizzle", "explain", str(path), "-D", "rounds=1", "--space", "1"]
    assert call(*hint[2:], "-q")[0] == 1


def test_result_explain() -> None:
    """From Python: the result of a solve explains itself; one without its sketch says so."""
    (sketch,) = load(FOLDER / "too_few_accumulates.swz")
    found = solve(sketch).explain(timeout=60)
    assert [o.cell for o in found.outputs] == ["y[0]"]
    assert {t.kind for t in found.trials if t.verdict == "solvable"} == {"iteration", "accumulate"}
    assert "3 terms, and only 2 accumulates" in str(found)
    with pytest.raises(SwizzleError, match="does not know its sketch"):
        Result("k", "unsat", "3", False, (), 32, {}).explain()
