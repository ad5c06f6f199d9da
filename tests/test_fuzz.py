"""Case studies and wrong sketches, mutated at random: whatever a file holds, the command line ends in order."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from swizzle.commands.cli import execute
from tests.mutations import as_swz, mutated

ROOT = Path(__file__).resolve().parent.parent
CASES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "case_studies").iterdir() if path.is_file()}
SOURCES = {
    **CASES,
    **{f"{Path(name).stem}_as.swz": as_swz(text) for name, text in CASES.items() if name.endswith(".py")},
    **{path.name: path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "errors").glob("*.swz")},
}
ROUNDS = 25
"""Of each seed; thousands of them, with other seeds, take minutes and find nothing either."""


@pytest.mark.parametrize("seed", range(6))
def test_no_text_makes_a_traceback(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status 0, 1, 2 or 3; one message for a mistake, with its place wherever there is one."""
    monkeypatch.chdir(tmp_path)
    for number in range(ROUNDS):
        rng = random.Random(f"{seed}-{number}")
        name, text = rng.choice(sorted(SOURCES.items()))
        file = Path(f"mutant{Path(name).suffix}")
        file.write_text(mutated(text, rng), encoding="utf-8")
        small = ["-D", "warp_size=4"] if 'parameter("warp_size"' in text else []
        command = ["solve", "--timeout", "0.2", "--no-cache"] if rng.random() < 0.5 else ["check"]
        out, err = io.StringIO(), io.StringIO()
        status = execute([*command, str(file), "-q", *small], out, err)
        told = f"seed {seed}, number {number}: {name}\n{err.getvalue()}"
        assert status in (0, 1, 2, 3), told
        assert "Traceback" not in err.getvalue() and "internal error" not in err.getvalue(), told
        if status == 2:
            assert "error: " in err.getvalue().splitlines()[0], told
            assert "\n  expected: " in err.getvalue() or "\n  fix: " in err.getvalue(), told


def test_mutants_are_not_their_sources() -> None:
    """Texts differ from seed to seed; a Python case study reads as a `.swz` file with its holes marked."""
    texts = {mutated(CASES["conv1d.swz"], random.Random(seed)) for seed in range(50)}
    assert len(texts) > 40
    assert as_swz(CASES["conv1d.py"]).count("?sw_") == 3
