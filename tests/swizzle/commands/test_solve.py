"""`swizzle solve`: exit statuses, what is printed, what is written. The engine is replaced only where it says so."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from cuda_out.compile.toolchain import CompileError
from swizzle.commands.run import RunArguments, run
from swizzle.commands.solve import SolveArguments, solve
from swizzle.commands.target import split_target
from swizzle.sketches.sketch import Sketch
from swizzle.solving.search.metasketch import solve as search
from swizzle.solving.solution.answered import fillings_of
from swizzle.solving.solution.saved import load_saved
from swizzle.solving.solution.solution import Limits, Progress, Result
from symbolic.errors import SwizzleError

CASES = Path(__file__).resolve().parents[3] / "case_studies"
SHIFT = """
from swizzle import cuda, f32, parameter, sketch, spec, sw_xform

LANES = parameter("lanes", 8, domain=(4, 8))

@spec
def right_neighbour(x):
    return [x[(i + 1) % LANES] for i in range(LANES)]

@sketch(spec=right_neighbour, block=LANES, warp_size=LANES, x=f32[LANES], y=f32.out[LANES])
def shift(x, y):
    lane = cuda.laneid
    y[lane] = cuda.shfl_sync(cuda.FULL_MASK, x[lane], sw_xform(lane, LANES))

@spec
def three_apart(x):
    return [x[(i * i) % LANES] for i in range(LANES)]

@sketch(spec=three_apart, block=LANES, warp_size=LANES, x=f32[LANES], y=f32.out[LANES])
def squares(x, y):
    lane = cuda.laneid
    y[lane] = cuda.shfl_sync(cuda.FULL_MASK, x[lane], sw_xform(lane, LANES))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of two sketches: `shift` has a solution, `squares` has none."""
    path = tmp_path / "moves.py"
    path.write_text(SHIFT)
    return path


def call(target: object, **options: object) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    status = solve(SolveArguments(str(target), **options), out, err)  # type: ignore[arg-type]
    return status, out.getvalue(), err.getvalue()


def engine(monkeypatch: pytest.MonkeyPatch, answer: Callable[[Result], Result]) -> None:
    """Let the engine give another answer than it would."""

    def solving(sketch: Sketch, limits: Limits, progress: Callable[[Progress], None], *_: object) -> Result:
        progress(Progress("1", "pretending", None, 0, 0.5))
        return answer(search(sketch, limits))

    for caller in ("swizzle.commands.solve", "swizzle.solving.cache.solve"):
        monkeypatch.setattr(f"{caller}.search", solving)


def test_a_solved_sketch(file: Path) -> None:
    """Status 0; the answer on stdout, progress on stderr."""
    status, out, err = call(f"{file}:shift")
    assert status == 0
    assert out.startswith("shift: solved, verified for all inputs\n")
    assert "proved minimal" in out
    assert err.startswith("shift: Space 1 · ")


def test_no_solution(file: Path) -> None:
    """A sketch that cannot work is proved to have no solution: status 1."""
    status, out, _ = call(f"{file}:squares")
    assert (status, out.splitlines()[0]) == (1, "squares: no filling in Space 4 gives the specification's terms")


def test_a_wrong_kernel_without_holes_says_why(file: Path) -> None:
    """There is no filling to speak of: the answer shows what the kernel computes instead."""
    file.write_text(SHIFT.replace("sw_xform(lane, LANES)", "lane"))
    status, out, _ = call(f"{file}:shift", quiet=True)
    lines = out.splitlines()
    assert (status, lines[0]) == (1, "shift: has no holes, and its terms are not the specification's")
    assert lines[1] == "  y[0] is x[0], the specification says x[1]"
    _, out, _ = call(f"{file}:shift", quiet=True, json_object=True)
    assert json.loads(out)["certificate"]["mismatch"][0] == "y[0] is x[0], the specification says x[1]"


def test_certify_says_what_was_confirmed(file: Path) -> None:
    """One line for each claim with the solver that confirmed it, or why there is none."""
    _, out, _ = call(f"{file}:squares", quiet=True, certify=True, solver="z3", space="1")
    assert "\n  certify no filling exists in Space 1: confirmed by cvc5\n" in out
    _, out, _ = call(f"{file}:shift", quiet=True, certify=True)
    assert "\n  certify nothing to confirm: no claim" in out
    assert "\n  certify equal to the specification for all inputs: confirmed on random numbers\n" in out
    _, out, _ = call(f"{file}:shift", quiet=True)
    assert "  certify" not in out


def test_a_solution_file_is_not_solved(tmp_path: Path) -> None:
    """The error says what to do with it."""
    with pytest.raises(SwizzleError) as caught:
        call(tmp_path / "shift.json")
    assert f"swizzle check {tmp_path}/shift.json, or swizzle run" in caught.value.fix


def test_every_sketch_of_a_file(file: Path) -> None:
    """Without a name all sketches are solved; the worst status wins."""
    status, out, _ = call(file, quiet=True)
    assert status == 1
    assert "shift: solved" in out
    assert "squares: no filling in Space 4" in out


def test_json_is_one_object(file: Path) -> None:
    """stdout holds the object and nothing else, even when the sketch's own file prints."""
    file.write_text(SHIFT + "\nprint('hello from the file')\n")
    status, out, err = call(f"{file}:shift", json_object=True, quiet=True)
    answer = json.loads(out)
    assert (status, answer["status"], answer["optimal"], answer["warp_size"]) == (0, "sat", True, 8)
    assert [hole["formula"] for hole in answer["holes"]] == ["(lane + 1) % 8"]
    assert err == "hello from the file\n"


def test_json_wants_one_sketch(file: Path) -> None:
    """Two sketches and --json: the error names both and says how to choose."""
    with pytest.raises(SwizzleError) as caught:
        call(file, json_object=True)
    assert str(caught.value) == (
        f"error: {file} holds 2 sketches: shift, squares\n  expected: one sketch\n  fix: name it: {file}:shift"
    )


def test_parameters_reach_the_sketch(file: Path) -> None:
    """-D changes what is solved."""
    _, out, _ = call(f"{file}:shift", overrides={"lanes": 4}, json_object=True)
    assert json.loads(out)["warp_size"] == 4


def test_all_solutions(file: Path) -> None:
    """--all lists every distinct solution in the object."""
    _, out, _ = call(f"{file}:shift", all_solutions=True, json_object=True)
    answer = json.loads(out)
    assert len(answer["all"]) == answer["solutions"] >= 1


def test_files_are_written(file: Path, tmp_path: Path) -> None:
    """-o DIR gets NAME.cu and NAME.json; the .cu says what was solved and proved."""
    status, out, _ = call(f"{file}:shift", output=tmp_path / "out")
    cu, saved = tmp_path / "out" / "shift.cu", tmp_path / "out" / "shift.json"
    assert status == 0
    assert f"  wrote   {cu}\n  wrote   {saved}\n" in out
    text = cu.read_text()
    assert "__global__" in text
    assert "= (lane + 1) % 8" in text
    assert "Verified for all inputs" in text
    assert json.loads(saved.read_text())["sketch"] == "shift"


MADE = """
from swizzle import cuda, f32, sketch, spec

def made(by):
    @spec
    def scaled(x):
        return [x[i] * by for i in range(32)]

    @sketch(spec=scaled, block=32, x=f32[32], y=f32.out[32])
    def kernel(x, y):
        y[cuda.laneid] = x[cuda.laneid] * by

    return kernel

twice = made(2)
"""


def test_sketches_that_a_function_makes(tmp_path: Path) -> None:
    """A saved one is found by its kernel's name, and two of one name are not written over each other."""
    path, out = tmp_path / "made.py", tmp_path / "out"
    path.write_text(MADE)
    assert call(path, output=out)[0] == 0
    assert load_saved(out / "kernel.json", {}, trust=True)[1].program.name == "kernel"
    path.write_text(f"{MADE}thrice = made(3)\n")
    with pytest.raises(SwizzleError, match="two sketches whose kernels are called kernel"):
        call(path, output=out)
    assert call(path)[0] == 0
    with pytest.raises(SwizzleError, match=r"has no sketch kernel(.|\n)*one of twice, thrice"):
        call(f"{path}:kernel")


def test_a_form_that_cannot_be_made_costs_no_answer(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is printed and the other files are written before the error is raised."""

    def failing(*_: object, **__: object) -> None:
        raise CompileError("no such architecture", "")

    monkeypatch.setattr("cuda_out.compile.toolchain.compile_cuda", failing)
    out, folder = io.StringIO(), tmp_path / "out"
    arguments = SolveArguments(f"{file}:shift", output=folder, quiet=True, emit=("ptx", "cuda"))
    with pytest.raises(CompileError, match="no such architecture"):
        solve(arguments, out, io.StringIO())
    assert "shift: solved, verified for all inputs" in out.getvalue()
    assert sorted(path.name for path in folder.iterdir()) == ["shift.cu", "shift.json"]


def test_nothing_is_written_without_a_solution(file: Path, tmp_path: Path) -> None:
    """Proved to have none: the output folder is not even made."""
    call(f"{file}:squares", output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_best_so_far(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short with a solution in hand: it is printed as not proved minimal, status 3."""
    engine(monkeypatch, lambda result: replace(result, optimal=False, reason="interrupted"))
    status, out, _ = call(f"{file}:shift")
    assert status == 3
    assert "shift: solved, verified for all inputs" in out
    assert "not proved minimal" in out
    assert "reason  interrupted" in out


def test_undecided(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short with nothing in hand: status 3, and the object says unknown and why."""
    nothing = {"status": "unknown", "solutions": (), "optimal": False, "reason": "out of time"}
    engine(monkeypatch, lambda result: replace(result, **nothing))
    status, out, _ = call(f"{file}:shift", json_object=True)
    answer = json.loads(out)
    assert (status, answer["status"], answer["certificate"]["reason"]) == (3, "unknown", "out of time")


def test_limits_reach_the_engine(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every limit of the command line is passed on."""
    seen: list[Limits] = []

    def solving(sketch: Sketch, limits: Limits, *_: object) -> Result:
        seen.append(limits)
        return search(sketch)

    for caller in ("swizzle.commands.solve", "swizzle.solving.cache.solve"):
        monkeypatch.setattr(f"{caller}.search", solving)
    call(f"{file}:shift", space="2", all_solutions=True, timeout=9.0, solver="cvc5", certify=True, memory=5 << 30)
    assert seen == [Limits("2", True, 9.0, "cvc5", True, memory=5 << 30)]


def test_quiet_has_no_news(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """-q leaves stderr empty."""
    engine(monkeypatch, lambda result: result)
    assert call(f"{file}:shift")[2] == "shift: Space 1 · pretending · 0.5 s\n"
    assert call(f"{file}:shift", quiet=True)[2] == ""


@pytest.mark.parametrize("name", ["conv1d.py", "conv1d.swz"])
def test_the_running_example(name: str) -> None:
    """1-D convolution at warp size 32 is solved and proved minimal, by both front doors."""
    status, out, _ = call(CASES / name, json_object=True, quiet=True)
    answer = json.loads(out)
    assert (status, answer["status"], answer["optimal"], answer["warp_size"]) == (0, "sat", True, 32)
    assert answer["cost"] == {"accumulates": 1}
    assert len(answer["holes"]) == 3


def test_one_register_too_few() -> None:
    """The running example with one register per lane cannot work."""
    status, out, _ = call(CASES / "conv1d.py", overrides={"rounds": 1, "warp_size": 8}, quiet=True)
    assert (status, "no filling in Space" in out) == (1, True)


def test_a_target_is_a_file_and_perhaps_a_sketch(tmp_path: Path) -> None:
    """The last colon parts file and sketch, unless a file of the whole name exists."""
    assert split_target("a/b.py") == (Path("a/b.py"), None)
    assert split_target("a/b.py:k") == (Path("a/b.py"), "k")
    assert split_target("a:b/c.py:k") == (Path("a:b/c.py"), "k")
    assert split_target("a:b/c.py") == (Path("a:b/c.py"), None)
    odd = tmp_path / "odd:name"
    odd.write_text("")
    assert split_target(str(odd)) == (odd, None)


def test_emit_writes_the_kinds_asked_for(file: Path, tmp_path: Path) -> None:
    """Each kind is one file; without -o there is nowhere to write them."""
    with pytest.raises(SwizzleError, match="--emit without a folder"):
        call(f"{file}:shift", emit=("header",))
    out = tmp_path / "out"
    status, said, _ = call(f"{file}:shift", output=out, emit=("header",))
    assert status == 0
    assert sorted(path.name for path in out.iterdir()) == ["shift.cuh", "shift.json"]
    text = (out / "shift.cuh").read_text()
    assert "#pragma once" in text
    assert 'extern "C"' not in text
    assert "  sizes   fixed: no access depends on blockIdx, so a grid of more blocks adds nothing (line " in said
    assert "For the sizes below only: no access depends on blockIdx" in text


def test_the_head_says_what_was_proved_and_what_follows(tmp_path: Path) -> None:
    """Hash of the file, parameters, solution, sizes that were proved, lengths that were compared; JSON says it too."""
    file = CASES / "conv1d.py"
    status, said, _ = call(file, output=tmp_path, json_object=True, overrides={"warp_size": 4})
    assert status == 0
    text = " ".join(line.removeprefix("//").strip() for line in (tmp_path / "conv1d.cu").read_text().splitlines())
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    for part in (
        f"from conv1d.py (sha256 of that file: {digest})",
        "with K=3, warp_size=4, warps=2, grid=2, rounds=2",
        "Any length: proved in full for x f32[18], w f32[3], y f32[16].",
        "was compared at n = 16, 24, 1, 7, 9;",
    ):
        assert part in text
    assert json.loads(said)["certificate"]["sizes"] == {
        "any_length": True,
        "lengths": {"n": {"axis": "x", "block": 8, "multiple_of": 1, "at_least": 1, "declared": 16}},
        "shapes": {"x": ["n + 2"], "w": ["3"], "y": ["n"]},
        "specification_compared_at": ["16", "24", "1", "7", "9"],
    }


WARP_64 = """
from swizzle import cuda, i32, sketch, spec, sw_xform

@spec
def next_spec(x):
    return [x[(i + 1) % 64] for i in range(64)]

@sketch(spec=next_spec, block=64, warp_size=64, x=i32[64], y=i32.out[64])
def following(x, y):
    y[cuda.laneid] = cuda.shfl_sync(cuda.FULL_MASK, x[cuda.laneid], sw_xform(cuda.laneid, 64))
"""


def test_a_warp_of_64_is_a_model(tmp_path: Path) -> None:
    """It is solved; to print or run it is refused before anything is solved."""
    path = tmp_path / "following.py"
    path.write_text(WARP_64)
    status, out, _ = call(path)
    assert status == 0 and "(lane" not in out and "xform1 = (cuda.laneid + 1) % 64" in out
    with pytest.raises(SwizzleError) as printing:
        call(path, output=tmp_path / "out")
    with pytest.raises(SwizzleError) as running:
        run(RunArguments(str(path)), io.StringIO(), io.StringIO())
    for error in (printing.value, running.value):
        assert str(error).splitlines()[0].endswith("error: following has warps of 64 lanes, which no NVIDIA GPU has")
        assert "warp size up to 32 for what is printed or run; larger warps are a model to solve" in str(error)
    assert not (tmp_path / "out").exists()


def test_a_naive_solution_is_written_like_any_other(file: Path, tmp_path: Path) -> None:
    """Its solution file holds the expression, node by node, and is read back as the same kernel."""
    status, out, _ = call(f"{file}:shift", template="naive-1", output=tmp_path / "out")
    assert status == 0 and "xform1 = (lane + 1) % 8" in out
    _, solution = load_saved(tmp_path / "out" / "shift.json", {})
    assert [hole.formula for hole in solution.holes] == ["(lane + 1) % 8"]
    assert fillings_of(solution)[0].words() == "element (lane + 1) modulo 8"
