"""`swizzle sweep`, `swizzle.sweep`: answers are what the commands print; they are kept, shown, and written."""

from __future__ import annotations

import io
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import swizzle
from swizzle.commands.jobs import perform
from swizzle.commands.process import execute
from swizzle.sweeps.asking import jobs_of
from swizzle.sweeps.journal import Record
from swizzle.sweeps.sweep import SweepProgress
from swizzle.sweeps.table import csv_text, failures, figure, of_one_type, parquet_bytes, rows_of, text_table

TWICE = """
from swizzle import cuda, i32, parameter, sketch, spec, sw_xform
N = parameter("N", 4, domain=range(1, 33))
@spec
def same(x): return [x[i] for i in range(N)]
@sketch(spec=same, block=N, x=i32[N], y=i32.out[N])
def turned(x, y): y[cuda.threadIdx.x] = x[sw_xform(cuda.threadIdx.x, N)]
@sketch(spec=same, block=N, x=i32[N], y=i32.out[N])
def copied(x, y): y[cuda.threadIdx.x] = x[cuda.threadIdx.x]
"""
CHOICES = """
from swizzle import choice, cuda, f32, sketch, spec
V = choice("V", (1, 2))
@spec
def same(x): return [x[i] for i in range(32 * V)]
@sketch(spec=same, block=32 * V, x=f32[32 * V], y=f32.out[32 * V])
def copied(x, y): y[cuda.threadIdx.x] = x[cuda.threadIdx.x]
"""
LOOP = """
from swizzle import i32, operator
@operator
def largest(a: i32, b: i32): return a if a > b else b
"""
KERNEL = """
// swizzle prove: --launch 1,4 --args f32[4],f32.out[4]
__global__ void k(const float* x, float* y) { y[threadIdx.x] = 2.0f * x[threadIdx.x]; }
"""


def ran(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return execute(["sweep", *arguments], out, err), out.getvalue(), err.getvalue()


def untimed(answer: Any) -> Any:
    """Leave out what is measured."""
    if isinstance(answer, dict):
        return {name: untimed(value) for name, value in answer.items() if name != "seconds"}
    return [untimed(value) for value in answer] if isinstance(answer, list) else answer


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SWIZZLE_CACHE_DIR", str(tmp_path / "cache"))
    Path("a.py").write_text(TWICE)
    Path("o.py").write_text(LOOP)
    Path("c.py").write_text(CHOICES)
    Path("k.cu").write_text(KERNEL)
    Path("s.py").write_text("def doubled(x): return [2 * x[i] for i in range(4)]\n")
    return tmp_path


def test_answers_are_what_the_commands_print() -> None:
    """Of every command; a mistake is an answer, with what the command says of it."""
    commands = [
        ["solve", "a.py:turned", "-D", "N=3", "--space", "2", "--no-cache"], ["check", "a.py:copied"],
        ["operator", "o.py:largest", "--domain", "integers"], ["prove", "k.cu", "s.py:doubled"],
    ]  # fmt: skip
    lines = [
        {"do": "solve", "target": "a.py:turned", "set": {"N": 3}, "options": {"space": "2"}},
        {"do": "check", "target": "a.py:copied"},
        {"do": "operator", "target": "o.py:largest", "options": {"domain": "integers"}},
        {"do": "prove", "target": "k.cu", "options": {"specification": "s.py:doubled"}},
        {"do": "solve", "target": "a.py:turned", "set": {"M": 3}},
        {"do": "solve", "target": "a.py:turned", "options": {"output": "/tmp"}},
        {"do": "solve", "target": "a.py:turned", "options": {"space": "5"}},
    ]
    Path("jobs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    status, out, _ = ran("jobs.jsonl", "--json", "--workers", "2", "--journal", "j")
    assert status == 0
    records = [json.loads(line) for line in out.splitlines()]
    assert [set(record) for record in records] == [{"key", "asked", "job", "answer", "attempts", "seconds"}] * 7
    for command, record in zip(commands, records, strict=False):
        printed = io.StringIO()
        execute([*command, "--json"], printed, io.StringIO())
        assert untimed(record["answer"]) == untimed(json.loads(printed.getvalue()))
    error = io.StringIO()
    assert execute(["solve", "a.py:turned", "-D", "M=3"], io.StringIO(), error) == 2
    found = [record["answer"]["error"] for record in records[4:]]
    assert error.getvalue().startswith(f"error: {found[0]['found']}\n")
    assert found[1]["found"] == "an option 'output' of solve"
    assert found[2]["found"].startswith("Invalid value for '--space'")
    assert not list(Path("/tmp").glob("turned.*"))


@pytest.mark.slow
def test_a_search_is_a_job() -> None:
    """`swizzle tune`: its status is whether there is a best one, and its cost is that one's."""
    status, out, _ = ran("c.py:copied", "--do", "tune", "--option", "search=bound,random", "--json", "--journal", "j")
    records = [json.loads(line) for line in out.splitlines()]
    printed = io.StringIO()
    execute(["tune", "c.py:copied", "--search", "bound", "--json"], printed, io.StringIO())
    assert status == 0
    assert untimed(records[0]["answer"]) == untimed(json.loads(printed.getvalue()))
    table = ran("c.py:copied", "--do", "tune", "--option", "search=bound,random", "--show", "--journal", "j")[1]
    assert "cost of the best, s" in table
    assert table.startswith("     2  found\n")


def test_a_sweep_in_text_and_files() -> None:
    """Statuses counted, a table of what differs, failures by reason, a figure, CSV; and nothing is asked twice."""
    arguments = ["a.py:turned", "--set", "N=1..3,99", "--option", "space=1,2", "--workers", "2"]
    status, out, err = ran(*arguments, "--show", "--export", "csv", "-o", "out")
    assert (status, err) == (0, "")
    head, table, failed = out.split("\n\n")
    assert head == "     6  sat\n     2  mistake"
    assert [line.split()[:3] for line in table.splitlines()[:3]] == [
        ["N", "space", "status"], ["1", "1", "sat"], ["1", "2", "sat"]
    ]  # fmt: skip
    assert failed.startswith("failed, by reason:\n     2  mistake: ")
    assert "(solve a.py:turned N=99 space=1)" in failed
    ElementTree.fromstring(Path("out/sweep.svg").read_text())
    rows = Path("out/sweep.csv").read_text().splitlines()
    assert rows[0].startswith("do,target,N,space,status,cost accumulates,seconds,attempts,reason,key")
    assert len(rows) == 9
    found = swizzle.sweep("a.py:turned", set={"N": [2, 3]}, options={"space": ["1"]})
    assert [record.attempts for record in found] == [1, 1]
    assert [str(record.seconds) in "".join(rows) for record in found] == [True, True]
    assert "<td>sat</td>" in found._repr_html_()


def test_every_sketch_of_a_file_is_asked() -> None:
    """By the text of the file, which is not run here."""
    Path("a.py").write_text(TWICE + "raise SystemExit(9)\n")
    status, out, _ = ran("a.py", "--json")
    assert status == 0
    assert [json.loads(line)["job"]["target"] for line in out.splitlines()] == ["a.py:turned", "a.py:copied"]
    assert {json.loads(line)["answer"]["status"] for line in out.splitlines()} == {"mistake"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["b.py"], "error: b.py is not there"),
        (["a.py", "--set", "N"], "error: --set N\n"),
        (["a.py", "--engine", "local", "--scheduler", "tcp://h:1"], "error: --scheduler of the engine local"),
        (["a.py", "--export", "xml"], "error: Invalid value for '--export'\n  expected: csv or parquet, not 'xml'"),
        (["a.py", "--journal", "a.py"], "error: the journal a.py: file is not a database"),
    ],
)
def test_mistakes(arguments: list[str], message: str) -> None:
    """One clear error, before anything is run."""
    status, out, err = ran(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith(message)


def test_mistakes_are_said_at_once() -> None:
    """Without --show, too, with their place; what may be asked again is named."""
    Path("b.py").write_text(TWICE + "1 / 0\n")
    status, out, err = ran("b.py:turned", "a.py:turned", "--set", "N=1,2", "--option", "space=7")
    assert (status, err) == (0, "")
    head, failed = out.split("\n\nfailed, by reason:\n")
    assert head == "     4  mistake"
    assert failed.startswith("     4  mistake: Invalid value for '--space': '7' is not one of ")
    assert failed.endswith(" (solve b.py:turned N=1 space=7)\n")
    status, out, err = ran("b.py:turned")
    assert "     1  mistake: b.py:10:1: running the file failed: ZeroDivisionError: division by zero (solve b" in out
    status, out, err = ran("a.py:turned", "--set", "N=32", "--timeout", "0.001", "--journal", "j")
    assert "     1  timeout" in out
    assert out.endswith("\n--rerun timeout asks again, with other limits\n")


def test_what_was_answered_before_is_said() -> None:
    """And what --rerun finds no job for; a file that gives no jobs is no silence."""
    assert ran("a.py:turned", "--set", "N=1")[1:] == ("     1  sat\n", "")
    assert ran("a.py:turned", "--set", "N=1", "--set", "N=2")[1:] == ("     2  sat\n", "answered before: 1 sat\n")
    said = "--rerun timeuot: no job has that answer; answered before: 1 sat\n"
    assert ran("a.py:turned", "--set", "N=1", "--rerun", "timeuot")[2] == said
    Path("none.jsonl").write_text("\n")
    assert ran("none.jsonl") == (0, "     0  jobs\n", "")


def test_a_journal_is_told_without_files() -> None:
    """All that it has, and nothing is run; where it is not there, that is a mistake."""
    ran("a.py:turned", "--set", "N=1,2", "--journal", "j")
    status, out, err = ran("--journal", "j", "--show")
    assert (status, err) == (0, "")
    assert sorted(line.split()[:2] for line in out.splitlines()[3:5]) == [["1", "sat"], ["2", "sat"]]
    status, out, err = ran("--journal", "none", "--show")
    assert (status, out) == (2, "")
    assert err.startswith("error: no FILE, and no journal none to be shown\n")
    assert not Path("none").exists()


def test_files_of_one_name_are_told_apart() -> None:
    """As they were named, in the table, in CSV and as JSON; the same text is asked once."""
    for folder, more in (("one", ""), ("two", "K = 1\n"), ("three", "")):
        Path(folder).mkdir()
        Path(folder, "a.py").write_text(TWICE + more)
    files = [f"{folder}/a.py:turned" for folder in ("one", "two", "three")]
    assert [json.loads(line)["asked"] for line in ran(*files, "--json")[1].splitlines()] == files[:2]
    _, table, err = ran(*files, "--show")
    assert err.startswith("asked once: 1 jobs that are the same as others")
    assert [line.split()[0] for line in table.splitlines()[3:5]] == files[:2]


@pytest.mark.slow
def test_files_that_the_command_line_names_for_options_travel() -> None:
    """`--option specification=`, as in a line."""
    status, out, _ = ran("k.cu", "--do", "prove", "--option", "specification=s.py:doubled", "--json")
    assert status == 0
    assert [json.loads(line)["answer"]["verdict"] for line in out.splitlines()] == ["equal"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"set": {"N": 2.5}}, "the values 2.5 of N"), ({"set": {"N": "2..1"}}, "--set N=2..1"),
        ({"set": {"N": ["1"]}}, r"the values \['1'\] of N"), ({"engine": "ray"}, "the engine 'ray'"),
        ({"engine": "local", "scheduler": "tcp://h:1"}, "--scheduler of the engine local"),
        ({"workers": 0}, "workers=0") , ({"retries": -1}, "retries=-1"), ({"timeout": -1}, "a timeout of -1"),
        ({"memory": "much"}, "a memory limit of 'much'"),
        ({"set": {"N": range(2000), "M": range(2000)}}, "4,000,000 jobs: all combinations of the values"),
    ],
)  # fmt: skip
def test_what_the_function_is_not_given(options: dict[str, Any], message: str) -> None:
    """One error before anything is run, as on the command line."""
    with pytest.raises(swizzle.SwizzleError, match=message):
        swizzle.sweep("a.py:turned", **options)


@pytest.mark.slow
def test_what_the_function_takes() -> None:
    """One value, a text of values, a word of an option, integers of NumPy, a line by itself."""
    import numpy as np

    some = [
        swizzle.sweep("a.py:turned", set={"N": values}, options={"space": "2"})
        for values in (2, "2", [2], np.array([2]), range(2, 3))
    ]
    some.append(swizzle.sweep({"target": "a.py:turned", "set": {"N": 2}, "options": {"space": "2"}}))
    assert len({record.key for result in some for record in result}) == 1
    assert [len(swizzle.sweep("a.py:turned", set={"N": 2}, options={"space": "2"}, rerun="sat, unsat"))] == [1]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ({"target": "-o/tmp/swizzle-made", "text": TWICE}, "swizzle-made is not a sketch file"),
        ({"target": "--trust", "text": TWICE}, "--trust is not a sketch file"),
        ({"target": "k.cu", "do": "prove", "options": {"specification": "--trust"}}, "--trust"),
        ({"target": "s.json", "do": "check", "text": "{}"}, "s.json is a saved solution"),
        ({"target": "a.py", "options": {"pareto": 1}}, "pareto: 1 of solve"),
        ({"target": "a.py", "options": {"pareto": "false"}}, 'pareto: "false" of solve'),
        ({"target": "a.py", "options": {"space": [1, 2]}}, "space: [1, 2] of solve"),
        ({"target": "a.py", "options": {"space": None}}, "space: null of solve"),
        ({"target": "a.py", "options": {"trust": True}}, "an option 'trust' of solve"),
        ({"target": "a.py", "options": {"fill": "a.json"}}, "an option 'fill' of solve"),
        ({"target": "a.py", "do": "run"}, "a job to 'run'"),
    ],
)
def test_a_stranger_s_line_is_no_command_of_its_own(line: dict[str, Any], found: str) -> None:
    """What stands for a file is never an option; an option that is none, or has no value of its kind, is a mistake."""
    with pytest.raises(swizzle.SwizzleError) as error:
        (job,) = jobs_of([line], lambda file, do: [], do="solve", values={}, choices={})
        perform({**job.as_json(), "files": job.files})
    assert found in error.value.found
    assert not Path("/tmp/swizzle-made").exists()


def record(n: int, k: int, status: str | None, seconds: float, reason: str = "") -> Record:
    answer = {"cost": {"accumulates": n}} if status == "sat" else {"reason": reason}
    job = {"do": "solve", "target": "a.py:x", "set": {"n": n, "k": k}, "files": {}}
    return Record("0" * 32, "a.py:x", job, status, answer if status else None, 1 if status else 0, seconds)


def test_a_map_of_two_parameters() -> None:
    """A cell for each pair, grey where there is no answer of the command; a curve where there are few lines."""
    records = [record(n, k, "killed" if n == k else "sat", 0.1 * n) for n in range(1, 9) for k in range(1, 9)]
    drawn = figure(rows_of(records))
    cells = [each for each in ElementTree.fromstring(drawn).iter() if each.tag.endswith("rect") and len(each)]
    assert len(cells) == 64
    assert sum(cell.get("fill") == "#bbbbbb" for cell in cells) == 8
    assert len({cell.get("fill") for cell in cells}) == 9
    assert figure(rows_of(records[:1])) == ""
    curves = figure(rows_of([each for each in records if each.job["set"]["k"] < 4]))
    assert curves.count("<polyline") == 3


def test_tables_of_what_failed_and_of_what_is_open() -> None:
    """Reasons are counted, the most frequent first."""
    records = [
        record(1, 1, "sat", 0.5), record(2, 1, "killed", 0.1, "gone"), record(3, 1, "killed", 0.1, "gone"),
        record(4, 1, "timeout", 9.0, "timeout after 9 s"), record(5, 1, None, 0.0),
    ]  # fmt: skip
    rows = rows_of(records)
    assert failures(rows) == (
        "     2  killed: gone (solve a.py:x n=2 k=1)\n     1  timeout: timeout after 9 s (solve a.py:x n=4 k=1)\n"
    )
    assert [line.split()[:2] for line in text_table(rows).splitlines()] == [
        ["n", "status"], ["1", "sat"], ["2", "killed"], ["3", "killed"], ["4", "timeout"], ["5", "open"]
    ]  # fmt: skip
    assert csv_text(rows).splitlines()[1] == f"solve,a.py:x,1,1,sat,1,0.5,1,,{'0' * 32}"


def test_a_parameter_may_have_the_name_of_a_column() -> None:
    """Or that of an option: each has a column of its own."""
    said = {
        "do": "solve",
        "target": "a.py",
        "set": {"status": 7, "target": 8, "cost": 9},
        "options": {"cost": "shuffles"},
    }
    (row,) = rows_of([Record("0" * 32, "a.py", said, "sat", {"cost": {"shuffles": 3}}, 1, 0.5)])
    assert (row["status"], row["target"], row["seconds"], row["cost shuffles"]) == ("sat", "a.py", 0.5, 3)
    assert (row["set status"], row["set target"], row["cost"], row["option cost"]) == (7, 8, 9, "shuffles")


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1, None, 2], ([1, None, 2], "int64")),
        ([1, 2.5], ([1, 2.5], "float64")),
        ([True, None], ([True, None], "bool")),
        ([True, 3], (["True", "3"], "string")),
        ([1, "all"], (["1", "all"], "string")),
        ([None], ([None], "string")),
    ],
)
def test_a_column_of_a_file_has_one_type(values: list[Any], wanted: tuple[list[Any], str]) -> None:
    """Where values differ, they are texts."""
    assert of_one_type(values) == wanted


@pytest.mark.skipif(find_spec("pyarrow") is not None, reason="pyarrow is installed")
def test_parquet_needs_a_package() -> None:
    """That is said before anything is run."""
    status, out, err = ran("a.py", "--export", "parquet")
    assert (status, out) == (2, "")
    assert err.startswith("error: Parquet needs a package that is not installed\n  expected: pyarrow\n")


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")
def test_parquet_is_read_again(tmp_path: Path) -> None:
    """The columns of CSV, with their types."""
    import pyarrow.parquet

    file = tmp_path / "s.parquet"
    file.write_bytes(parquet_bytes(rows_of([record(1, 2, "sat", 0.5), record(2, 2, "killed", 0.1, "gone")])))
    found = pyarrow.parquet.read_table(file).to_pydict()
    assert (found["n"], found["seconds"], found["reason"]) == ([1, 2], [0.5, 0.1], [None, "gone"])


def test_progress_is_said_in_words() -> None:
    """Rate, time left, statuses."""
    said = str(SweepProgress(50, 100, 2.0, 3720.0, {"sat": 40, "unsat": 10}))
    assert said == "50 of 100 · 2.0 a second · 1 h 2 min left · 40 sat, 10 unsat"
    assert str(SweepProgress(0, 3, 0.0, None, {})) == "0 of 3"
