"""`swizzle operator`: exit statuses, the JSON object, the text, mistakes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from swizzle.commands.process import execute

LOOPS = Path(__file__).resolve().parents[1] / "operators" / "loops.py"
KEYS = {"operator", "status", "words", "laws", "domain", "witness", "seconds", "files"}
LAWS = {"associative", "commutative", "left_identity", "right_identity", "step"}


def call(*arguments: str) -> tuple[int, str, str]:
    """Run a command line in this process; return exit status, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    return execute(["operator", *arguments], out, err), out.getvalue(), err.getvalue()


def test_the_object_of_a_proved_operator() -> None:
    """Its keys and words are those of the contract; its source is Python that runs."""
    status, out, err = call(f"{LOOPS}:best_run", "--json")
    found = json.loads(out)
    assert (status, err) == (0, "") and found.keys() >= KEYS and found["laws"].keys() >= LAWS
    assert (found["operator"], found["status"], found["words"]) == ("best_run", "proved", 4)
    assert found["domain"] == "wrapping 32 bits" and found["witness"] is None and found["files"] == []
    assert found["laws"]["step"] == found["laws"]["associative"] == "proved"
    assert found["laws"]["commutative"] == "refuted" and found["seconds"] < 30
    names: dict[str, object] = {}
    exec(found["source"], names)
    lift, combine, result = (names[name] for name in ("lift", "combine", "result"))
    words = combine(combine(lift(3), lift(-5)), combine(lift(4), lift(2)))  # type: ignore[operator]
    assert result(words) == 6 and combine(names["identity"], words) == words  # type: ignore[operator]


@pytest.mark.slow
def test_a_refuted_operator_has_a_witness() -> None:
    """Wrapping sums under a maximum: exit status 1, numbers, and what to do."""
    status, out, _ = call(f"{LOOPS}:best_suffix_of_any")
    assert status == 1 and out.startswith("best_suffix_of_any: refuted") and " witness " in out
    assert "promise a range, @serial(length=..., where=lambda v: ...), or --domain integers" in out
    status, out, _ = call(f"{LOOPS}:best_suffix_of_any", "--domain", "integers", "--json")
    assert status == 0 and json.loads(out)["domain"] == "integers"


def test_a_loop_of_a_swz_file(tmp_path: Path) -> None:
    """The same answer as for Python's, parameters of the file included."""
    text = (
        'K = parameter("K", 20, domain=range(1, 31))\n\n@serial(length=1 << K, where=lambda v: -1000 <= v <= 1000)\n'
        "def best_suffix(x: i32):\n    here = 0\n    for v in x:\n        here = max(0, here + v)\n    return here\n"
    )
    file, python = tmp_path / "runs.swz", tmp_path / "runs.py"
    file.write_text(text)
    python.write_text(f"from swizzle import i32, parameter, serial\n\n{text}")
    found, same = (json.loads(call(str(each), "--json")[1]) for each in (file, python))
    assert {key: found[key] for key in KEYS - {"seconds"}} == {key: same[key] for key in KEYS - {"seconds"}}
    assert found["source"] == same["source"]
    status, out, _ = call(str(file), "-D", "K=30", "--json")
    found = json.loads(out)
    assert status == 3 and found["status"] == "unknown" and "of 1073741824 elements" in found["witness"]


def test_a_header_is_written(tmp_path: Path) -> None:
    """Where an operator is proved, and no other file."""
    status, out, _ = call(f"{LOOPS}:total", "--emit", "cub", "-o", str(tmp_path / "out"), "--json")
    file = tmp_path / "out" / "total.cuh"
    assert status == 0 and json.loads(out)["files"] == [str(file)]
    assert "struct Combine" in file.read_text()
    status, out, _ = call(f"{LOOPS}:shifted_bits", "-o", str(tmp_path / "none"))
    assert status == 3 and not (tmp_path / "none").exists()
    status, _, err = call(f"{LOOPS}:total", "--emit", "cub")
    assert status == 2 and "--emit without -o" in err
    status, _, err = call(f"{LOOPS}:total", "--emit", "torch", "-o", str(tmp_path))
    assert status == 2 and "expected: some of cub, cuda, triton, numba, jax, separated by commas, not 'torch'" in err


def test_the_text() -> None:
    """What is printed of a sum, but for the time."""
    status, out, _ = call(f"{LOOPS}:total")
    head, *lines = out.splitlines()
    assert status == 0 and head.startswith("total: proved, 1 word, wrapping 32 bits, ")
    assert lines == [
        "  state          s: i32",
        "  found          (+, *) linear",
        "    def lift(v):",
        "        return (v,)",
        "",
        "    def combine(a, b):",
        "        s_a, = a",
        "        s_b, = b",
        "        return (",
        "            s_a + s_b,  # s",
        "        )",
        "",
        "    identity = (0,)",
        "",
        "    def result(words):",
        "        s, = words",
        "        return s",
        "  step           proved",
        "  associative    proved",
        "  left identity  proved",
        "  right identity proved",
        "  commutative    proved",
    ]


def test_mistakes() -> None:
    """No such loop, several for one object, a file of sketches."""
    status, _, err = call(f"{LOOPS}:totle")
    assert status == 2 and "has no serial loop or operator totle" in err and "total" in err
    status, _, err = call(str(LOOPS), "--json")
    assert status == 2 and "one, for one JSON object" in err
    sketches = LOOPS.parents[3] / "case_studies" / "conv1d.py"
    status, _, err = call(str(sketches))
    assert status == 2 and "has no serial loop" in err
    status, _, err = call(str(LOOPS.parents[2] / "explain" / "butterfly.swz"))
    assert status == 2 and "butterfly.swz has no serial loop, and no operator" in err
    status, _, err = call(str(LOOPS.with_suffix(".txt")))
    assert status == 2 and "is not a sketch file" in err
