"""`swizzle tune`: exit statuses, the JSON object, files, and one clear error for each mistake."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from swizzle.commands.process import execute
from swizzle.commands.tune import TuneArguments
from swizzle.derive.tuning import static_cost

COPY = """
V = choice("V", (1, 2, 4))
SKEW = choice("SKEW", (0, 1))
require(V <= 2 or SKEW == 0, "narrow")

@spec
def doubled(x):
    return [2 * v for v in x]

@sketch(spec=doubled, block=32, x=f32[32 * V], y=f32.out[32 * V])
def copy(x, y):
    first = cuda.grid(1) * V
    for m in range(V):
        y[first + m] = 2 * x[(first + m + SKEW) % (32 * V)]
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(static_cost, "_compiled", lambda program, sizes, arch: None)
    path = tmp_path / "copy.swz"
    path.write_text(COPY)
    return path


def call(*arguments: str | Path) -> tuple[int, str, str]:
    """Run a command line in this process; return exit status, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    return execute(["tune", *map(str, arguments)], out, err), out.getvalue(), err.getvalue()


def test_a_proved_candidate(file: Path, tmp_path: Path) -> None:
    """The keys are those of the contract; progress is not beside JSON."""
    status, out, err = call(file, "-o", tmp_path / "out", "--json")
    found = json.loads(out)
    assert (status, err) == (0, "")
    assert found.keys() >= {"space", "device", "tried", "cut", "proved", "best", "optimal", "files"}
    assert found["space"].keys() == {"hash", "choices", "count"} and found["space"]["choices"] == 2
    assert found["space"]["count"] == {"estimate": 5, "low": 5, "high": 5}
    assert found["device"]["name"] == "h100" and found["tried"] == 5 and found["proved"] == 3
    assert found["best"].keys() >= {"decisions", "bound", "static", "measured"}
    assert found["best"]["decisions"] == {"V": 4, "SKEW": 0} and found["best"]["measured"] is None
    assert found["optimal"] == "proved by the model"
    assert all(Path(each).exists() for each in found["files"]) and len(found["files"]) == 4


def test_words_progress_a_table_and_a_figure(file: Path, tmp_path: Path) -> None:
    """The answer is on stdout; a line for each candidate, with all so far, on stderr."""
    figure, exported = tmp_path / "f.svg", tmp_path / "kt.json"
    status, out, err = call(file, "--table", "--plot", figure, "--export", f"kernel-tuner={exported}")
    assert status == 0
    assert out.startswith("copy: V = 4, SKEW = 0\n  proved  equal to the specification for all inputs\n")
    assert "not measured" in out and "| 4 | 0 |" in out and f"  wrote   {figure}" in out
    assert len(err.splitlines()) == 5 and "tried 5, cut 0, proved 3, best" in err
    assert figure.read_text().startswith("<svg") and json.loads(exported.read_text())["kernel_name"] == "copy"


def test_no_candidate_is_right(file: Path) -> None:
    """All were tried: exit status 1, and why each is not right."""
    status, out, _ = call(file, "--fix", "SKEW=1", "-q")
    assert status == 1 and "copy: no candidate is proved, of 2 that were tried" in out
    assert "the specification says" in out


def test_nothing_is_left(file: Path) -> None:
    """Exit status 1, with the least set of rules and their lines."""
    status, out, err = call(file, "--fix", "V=4", "--fix", "SKEW=1")
    assert (status, out) == (1, "")
    assert ":4:1: error: no values are left for V, SKEW" in err
    assert "line 4: narrow; V = 4 is set; SKEW = 1 is set" in err
    status, out, _ = call(file, "--fix", "V=4", "--fix", "SKEW=1", "--json")
    assert status == 1 and json.loads(out)["error"]["rules"][0] == "line 4: narrow"


def test_stopped_before_one_is_found(file: Path) -> None:
    """Exit status 3: one is tried, which is not right."""
    status, out, _ = call(file, "--fix", "SKEW=1", "--budget", "candidates:1", "-q")
    assert status == 3 and "the budget of 1 candidates is spent" in out


def test_count_and_explain(file: Path) -> None:
    """How many, what each requirement leaves, and why a value is not left; nothing is tried."""
    status, out, err = call(file, "--count", "--explain", "--fix", "SKEW=1")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "copy: 2 candidates in 2 choices, counted",
        "V: 1, 2",
        "  4 is not left: line 4: narrow; SKEW = 1 is set",
        "SKEW: 1",
        "  0 is not left: SKEW = 1 is set",
        "line 4: narrow: leaves 5 of 6 combinations of V, SKEW",
        "bound: at least 0 s: nothing is known of a sketch before all its parameters are chosen",
    ]
    status, out, _ = call(file, "--count", "--json")
    assert json.loads(out)["space"]["count"]["low"] == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--device", "h10"], "there is no device 'h10'"),
        (["--budget", "soon"], "a budget of 'soon'"),
        (["--export", "tuner.json"], "--export tuner.json"),
        (["--fix", "W=1"], "declares no parameter W"),
        (["--fix", "V=3"], "the value given of V is 3"),
    ],
)
def test_a_mistake_is_one_error(file: Path, arguments: list[str], said: str) -> None:
    """Exit status 2."""
    status, out, err = call(file, *arguments)
    assert (status, out) == (2, "") and said in err and "fix:" in err


HEAD = "from swizzle import accumulator, choice, cuda, f32, parameter, require, sketch, spec\n"
TWICE = (
    HEAD
    + """{choices}

@spec
def doubled(x):
    return [2 * v for v in x]

@sketch(spec=doubled, block=32, x=f32[32 * V], y=f32.out[32 * V])
def twice(x, y):
    for m in range(V):
        y[cuda.threadIdx.x + 32 * m] = 2 * x[cuda.threadIdx.x + 32 * m]
"""
)


@pytest.mark.parametrize(
    ("choices", "line"),
    [
        ('V = choice("V", (1, 2))\nW = choice("V", (1, 2, 3))', 3),
        ('V = choice("V", (1, 2))\nW = parameter("V", 1, domain=(1, 2))', 2),
        ('W = parameter("V", 1, domain=(1, 2))\nV = parameter("V", 2, domain=(1, 2))\nU = choice("U", (1, 2))', 3),
    ],
)
def test_a_name_is_declared_once(tmp_path: Path, choices: str, line: int) -> None:
    """Of choices and parameters; what comes second would silently stand for both."""
    path = tmp_path / "twice.py"
    path.write_text(TWICE.format(choices=choices))
    status, out, err = call(path, "--count")
    assert (status, out) == (2, "") and f":{line}:1: error: the parameter V is declared twice" in err


def test_one_sketch_is_meant(tmp_path: Path) -> None:
    """A name that the file does not have, and none where it has several, are told before anything is tried."""
    path, text = tmp_path / "twice.py", TWICE.format(choices='V = choice("V", (2, 4))')
    path.write_text(text + text[text.index("@sketch") :].replace("def twice", "def thrice"))
    for target, said in ((f"{path}:nothing", "has no sketch nothing"), (path, "holds 2 sketches: twice, thrice")):
        for flag in ("--count", "--explain", "-q"):
            status, out, err = call(target, flag)
            assert (status, out) == (2, "") and said in err
    path.write_text(text.replace("(2, 4)", "(0, 2)"))
    assert call(path, "--count")[:2] == (0, "twice: 2 candidates in 1 choice, counted\n")  # of 0 there is no kernel


def test_a_requirement_that_cannot_be_computed_says_so(tmp_path: Path) -> None:
    """It leaves the values out, in the list of what is left, and where nothing is."""
    path = tmp_path / "twice.py"
    choices = 'V = choice("V", (0, 1, 2))\nrequire(64 % V == 0, "divides")'
    path.write_text(TWICE.format(choices=choices))
    status, out, _ = call(path, "--explain")
    assert status == 0 and "leaves 2 of 3 combinations of V; cannot be computed with V = 0: " in out
    path.write_text(TWICE.format(choices=choices.replace("(0, 1, 2)", "(0,)")))
    status, _, err = call(path, "--count")
    assert status == 1 and "line 3: divides cannot be computed with V = 0: " in err


def test_a_choice_is_set_once(file: Path) -> None:
    """`-D` and `--fix` may say the same."""
    status, _, err = call(file, "--fix", "V=2", "-D", "V=4")
    assert status == 2 and "V is given twice: -D V=4 and --fix V=2" in err
    assert call(file, "--fix", "V=2", "-D", "V=2", "--count")[0] == 0


def test_a_number_of_workers_asks_for_processes() -> None:
    """Without an engine they are those of this machine, with a scheduler those of Dask."""
    for given, engine in (
        ({"workers": 2}, "local"),
        ({"scheduler": "tcp://a:1"}, "dask"),
        ({"engine": "dask"}, "dask"),
    ):
        elsewhere = TuneArguments("a.py", **given).elsewhere  # type: ignore[arg-type]
        assert elsewhere is not None and elsewhere.engine == engine
    assert TuneArguments("a.py").elsewhere is None


LOOPS = (
    HEAD
    + """
N = parameter("N", 4096, domain=range(1, 1 << 31))

@spec
def added(x):
    return [x[i] + 1 for i in range(N)]

@sketch(spec=added, block=1, x=f32[N], y=f32.out[N])
def add(x, y):
    for i in range(N):
        y[i] = x[i] + 2
"""
)


def test_a_kernel_that_is_wrong_has_no_schedules(tmp_path: Path) -> None:
    """It is looked at as it is written, however long its loops are, and is said once: exit status 1."""
    path = tmp_path / "add.py"
    path.write_text(LOOPS)
    status, out, err = call(path)
    assert (status, err) == (1, "") and out.startswith(
        "add: the kernel as it is written is not equal to its specification, and so no schedule is: y[0] is 2.0 + x[0],"
    )
    assert json.loads(call(path, "--json")[1])["tried"] == 0


def test_a_kernel_with_neither_choices_nor_loops(tmp_path: Path) -> None:
    """What would help is named: both of them."""
    path = tmp_path / "twice.py"
    path.write_text(TWICE.format(choices="V = 2"))
    status, _, err = call(path, "--count")
    assert status == 2 and 'declare a choice, `V = choice("V", (1, 2, 4))`' in err
