"""The benchmark runner measures real processes, refuses a wrong answer, goes on where it was, and draws its charts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

from swizzle.sweeps.charts import line_chart
from swizzle.sweeps.journal import Journal
from swizzle.sweeps.process import answered
from swizzle.sweeps.worker import JobAnswer

ROOT = Path(__file__).resolve().parent.parent
ANCHORS = json.loads((ROOT / "bench" / "anchors.json").read_text())
PARTS = {"interpret": 0.1, "search": 0.2, "verify": 0.1, "total": 0.4}


@pytest.fixture(scope="module")
def runner() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / "bench"))
    import run

    yield run
    sys.path.remove(str(ROOT / "bench"))
    for name in ("run", "report", "benchmarks", "kept", "luck"):
        sys.modules.pop(name, None)


def test_every_benchmark_has_its_sketch(runner: ModuleType) -> None:
    """Names are distinct and files exist; what is known of others belongs to a kernel that is measured."""
    names = [benchmark.name for benchmark in runner.BENCHMARKS]
    assert len(set(names)) == len(names)
    assert all((ROOT / benchmark.sketch.split(":")[0]).exists() for benchmark in runner.BENCHMARKS)
    assert set(ANCHORS["rows"]) <= {benchmark.kernel for benchmark in runner.BENCHMARKS}
    (conv,) = [b for b in runner.BENCHMARKS if b.name == "conv1d K=5 [3]"]
    assert conv.arguments == ["solve", "case_studies/conv1d.py", "-D", "K=5", "--space", "3", "--json"]


def test_one_benchmark(runner: ModuleType) -> None:
    """A run gives times, memory and an answer; a given solution is checked; both give one line of the table."""
    benchmark = next(b for b in runner.BENCHMARKS if b.name == "conv1d K=3 [first]")
    check_s = runner.time_to_check(benchmark, 1)
    row = runner.summary(benchmark, [runner.run_once(benchmark.arguments)], check_s=check_s)
    assert row["wall_s"] > row["seconds"]["total"] > 0
    assert check_s > 0
    assert row["peak_mib"] > 10
    line = sys.modules["report"].table([row], ANCHORS)[-1]
    assert line.startswith("| conv1d K=3 | first | sat, proved minimal | 1 | ")
    assert line.endswith("| 8 |  |")


def process(runner: ModuleType, **answer: Any) -> Any:
    full = {"status": "sat", "space": "1", "optimal": True, "cost": {"accumulates": 1}, "solutions": 1} | answer
    return runner.Run(0, 1.5, 50.0, json.dumps({**full, "seconds": PARTS, "certificate": {}}), "")


def test_a_wrong_answer_ends_the_measurement(runner: ModuleType) -> None:
    """A row that expects unsat does not time a sat; an answer must not change; a crash is shown."""
    benchmark = runner.BENCHMARKS[0]
    with pytest.raises(SystemExit, match="expected unsat, the answer is sat"):
        runner.summary(replace(benchmark, statuses=("unsat",)), [process(runner)])
    with pytest.raises(SystemExit, match="the answer changed between runs"):
        runner.summary(benchmark, [process(runner), process(runner, cost={"accumulates": 2})])
    with pytest.raises(SystemExit, match="exit status 70\nno room"):
        runner.summary(benchmark, [runner.Run(70, 1.0, 50.0, "", "no room")])


def test_an_interrupted_measurement_goes_on(runner: ModuleType, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    """Rows that are there are not measured again, unless the code is another; at the end everything is written."""
    asked: list[str] = []

    def run_once(arguments: list[str], cache: str | None = None) -> Any:
        asked.append(" ".join(arguments))
        if arguments[0] == "check" or "-o" in arguments:
            return runner.Run(0, 0.5, 40.0, json.dumps({"files": ["k.cu", "k.json"]}), "")
        wanted = next(b for b in runner.BENCHMARKS if b.arguments == arguments)
        return process(runner, status=wanted.statuses[0] if wanted.statuses else "sat")

    results = tmp_path / "bench" / "results" / "synthesis.json"
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "anchors.json").write_text(json.dumps(ANCHORS))

    def in_this_process(journal: Journal, call: str, workers: int, shared: bool) -> Iterator[JobAnswer]:
        while asked := journal.claim(workers):
            (job,) = asked
            said = answered(runner.answer_job, json.loads(job.text))
            found = JobAnswer(job.key, said["status"], json.dumps(said["answer"]), said["seconds"], 1)
            assert journal.answered(found)
            yield found

    monkeypatch.setattr(runner, "run_once", run_once)
    monkeypatch.setattr(runner, "drive", in_this_process)
    monkeypatch.setattr(runner, "pace", lambda: 0.5)
    monkeypatch.setattr(runner, "fingerprint", lambda runs: "this code")
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "RESULTS", results)
    monkeypatch.setattr(runner, "UNFINISHED", results.with_name("unfinished.sqlite"))
    assert runner.main(["--only", "stencil1d [", "--runs", "2"]) == 0
    assert not results.exists()
    before = len(asked)
    assert runner.main(["--only", "stencil1d [", "--runs", "2"]) == 0
    assert len(asked) == before
    with monkeypatch.context() as changed:
        changed.setattr(runner, "fingerprint", lambda runs: "other code")
        assert runner.main(["--only", "stencil1d [", "--runs", "2"]) == 0
        assert len(asked) == 2 * before
    assert runner.main(["--only", "stencil1d [first]", "--runs", "2", "--partial"]) == 0
    assert f"2 of the {len(runner.BENCHMARKS)} rows were measured." in (tmp_path / "docs" / "benchmarks.md").read_text()
    assert runner.main(["--runs", "1"]) == 0
    written = json.loads(results.read_text())
    assert [row["name"] for row in written["benchmarks"]] == [b.name for b in runner.BENCHMARKS]
    page = (tmp_path / "docs" / "benchmarks.md").read_text()
    assert "| aos_sum:crc struct_size=2 | naive-2 | sat, proved minimal |" in page
    assert "| (680) |  |" in page
    for name in ("growth-warp.svg", "growth-struct.svg"):
        ElementTree.parse(tmp_path / "docs" / "images" / name)
        assert f"images/{name}" in page
    assert not results.with_name("unfinished.sqlite").exists()
    with pytest.raises(SystemExit, match="no row's name contains 'nothing'"):
        runner.main(["--only", "nothing"])


def test_a_chart_is_drawn_to_scale(runner: ModuleType) -> None:
    """A tenfold value is one decade higher, and a line without a value for a tick leaves it out."""
    text = line_chart("t", "x", (4, 8, 16), {"a<b": {4: 0.1, 8: 1.0, 16: 10.0}, "c": {4: 0.1}})
    root = ElementTree.fromstring(text)
    circles = [(float(c.get("cx", "")), float(c.get("cy", ""))) for c in root.iter() if c.tag.endswith("circle")]
    assert len(circles) == 4
    ys = [y for _, y in circles[:3]]
    assert ys[0] - ys[1] == pytest.approx(ys[1] - ys[2], abs=0.2)
    assert ys[0] > ys[1]
    assert circles[3] == circles[0]


def test_luck_keeps_each_run(runner: ModuleType, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    """What is kept is not run again; the table has the worst over the median."""
    import luck

    asked: list[tuple[str, str, int]] = []

    def one(form: str, space: str, seed: int, options: Any) -> dict[str, Any]:
        asked.append((form, space, seed))
        return {"answer": "sat", "seconds": 3.0 if seed == 1 else 2.0}

    monkeypatch.setattr(luck, "_run", one)
    options = ["--forms", "shared", "--spaces", "1", "--results", str(tmp_path / "luck.json")]
    luck.main([*options, "--seeds", "1"])
    luck.main([*options, "--seeds", "3"])
    assert asked == [("shared", "1", seed) for seed in (0, 1, 2)]
    assert capsys.readouterr().out.splitlines()[-1] == "| shared, Space 1 | sat | 3 | 2.0 | 3.0 | 1.50 |"
