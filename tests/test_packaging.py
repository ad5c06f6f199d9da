"""What is installed, what is pinned, and what an import costs."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from swizzle.solving.solution.version import __version__

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("swizzle", "symbolic", "templates", "cuda_out")


def configuration() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def requirement_names(text: str) -> set[str]:
    """Return the normalised distribution names of one requirement a line."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    heads = (re.match(r"[A-Za-z0-9._-]+", line) for line in lines)
    return {re.sub(r"[-_.]+", "-", head.group()).lower() for head in heads if head}


def declared_names() -> set[str]:
    """Return every distribution that setup.cfg asks for, extras included."""
    parser = configuration()
    return requirement_names(
        "\n".join([parser["options"]["install_requires"], *parser["options.extras_require"].values()])
    )


def imported_by(statement: str, *candidates: str) -> set[str]:
    """Run a statement in a fresh interpreter and return which of the candidate modules it brought in."""
    program = f"import sys\n{statement}\nprint(*(name for name in {candidates!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module", ["swizzle", "swizzle.solving.solution.solution", "cuda_out.emulate.emulate", "cuda_out.compile.launch"]
)
def test_running_a_solved_kernel_needs_no_solver(module: str) -> None:
    """A GPU machine without PySMT, z3 or cvc5 can run what was solved elsewhere."""
    assert imported_by(f"import {module}", "pysmt", "z3", "cvc5", "pysat", "numba") == set()


def test_layouts_need_no_solver() -> None:
    """They are loaded when they are asked for, with NumPy and nothing else that is heavy."""
    heavy = ("swizzle.layouts", "pysmt", "z3", "cvc5", "pysat", "numba")
    assert imported_by("import swizzle", *heavy) == set()
    assert imported_by("import swizzle; swizzle.layouts.rows()", *heavy) == {"swizzle.layouts"}


def test_the_core_is_loaded_when_it_is_asked_for() -> None:
    """Its face is free; the names bring PySMT's constants, and no engine: those come with the first formula."""
    solvers = ("pysmt", "z3", "cvc5", "pysat")
    assert imported_by("import symbolic", *solvers) == set()
    assert imported_by("from symbolic import *", *solvers) == {"pysmt"}
    assert imported_by("from symbolic import *; integer('x') + 1", *solvers) == {"pysmt", "z3"}  # by PySMT itself


@pytest.mark.parametrize("first", ["bitvector('v', 8)", "hole(width=8)", "function('f', [integer('x')], integer('x'))"])
def test_any_value_may_be_the_first(first: str) -> None:
    """PySMT's types need an environment, which nobody may have loaded yet."""
    assert imported_by(f"from symbolic import *; {first}", "pysmt") == {"pysmt"}


def test_help_on_the_core_needs_no_formula() -> None:
    """Signatures are looked up before PySMT is loaded; the types in them are there."""
    statement = "import inspect; from symbolic.core.outcome import Outcome; inspect.signature(Outcome)"
    assert imported_by(statement, "pysmt", "z3") == set()


def loaded_by(*arguments: str, **environment: str) -> set[str]:
    """Run the command line in a fresh process; return the rooms of ours and the other packages that it loaded.

    What the interpreter had loaded before, and the standard library, do not count.
    """
    program = f"""
import sys
before = {{name.split(".")[0] for name in sys.modules}} | {{"org"}}
from swizzle.commands.process import execute
status = execute({list(arguments)!r}, sys.stdout, sys.stderr)
packages = {{name for name in sys.modules if name.split(".")[0] not in before | sys.stdlib_module_names}}
ours = {{"swizzle", "symbolic", "templates", "cuda_out"}}
rooms = {{name if hasattr(sys.modules[name], "__path__") else name.rpartition(".")[0] for name in packages
         if name.split(".")[0] in ours}}
print(status, *sorted(rooms | {{name.split(".")[0] for name in packages}}), file=sys.stderr)
"""
    environment = {**os.environ, **environment}
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True)
    status, *found = run.stderr.splitlines()[-1].split()
    assert status == "0", run.stderr
    return set(found)


DOOR = {
    *("click", "msgspec", "typing_extensions"),
    *(
        "swizzle",
        "swizzle.commands",
        "swizzle.solving",
        "swizzle.solving.solution",
        "symbolic",
        "symbolic.ir",
        "templates",
    ),
}
"""What the command line itself is made of."""
SEARCHING = {
    *("swizzle.answers", "swizzle.answers.emit", "swizzle.answers.explain", "swizzle.sketches"),
    *(f"swizzle.language{room}" for room in ("", ".source", ".specs", ".frontend")),
    *(f"swizzle.solving.{room}" for room in ("audit", "cache", "costs", "problem", "search")),
    *("symbolic.algebra", "symbolic.values", "symbolic.machine", "symbolic.solve"),
}
TEXT_OF_TILES = {"cuda_out", "cuda_out.tiling", "cuda_out.analysis"}
NUMBERS_AND_CLAUSES = {"numpy", "pysat", "pysolvers", "pyformula", "typing_extensions"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "arguments, environment, more",
    [
        (["--version"], {}, set()),
        (["--help"], {}, set()),
        (["solve", "--help"], {}, set()),
        (["completion", "bash"], {}, set()),
        (
            [],
            {
                "_SWIZZLE_COMPLETE": "bash_complete",
                "COMP_WORDS": "swizzle solve case_studies/conv1d.py:",
                "COMP_CWORD": "2",
            },
            {"swizzle.language", "swizzle.language.source"},
        ),
        (
            ["solve", "case_studies/conv1d.py", "-q", "--no-cache"],
            {},
            SEARCHING | TEXT_OF_TILES | NUMBERS_AND_CLAUSES,
        ),
        (
            ["solve", "case_studies/conv1d.swz", "-q", "--no-cache"],
            {},
            SEARCHING | TEXT_OF_TILES | NUMBERS_AND_CLAUSES | {"symbolic.lifting", "symbolic.core", "cuda_out.devices"},
        ),
    ],
)
def test_what_the_command_line_loads(arguments: list[str], environment: dict[str, str], more: set[str]) -> None:
    """A command loads the rooms that it needs: no numbers for `--help`, no SMT solver and no printers for a search."""
    assert loaded_by(*arguments, **environment) == DOOR | more


def test_a_heavy_import_would_be_seen() -> None:
    """The probe of the two tests above reports what is really imported."""
    assert imported_by("import numpy", "numpy", "z3") == {"numpy"}


def test_every_dependency_is_pinned() -> None:
    """The constraints file names each distribution that setup.cfg asks for, at one version."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert declared_names() <= requirement_names(text)
    assert all("==" in line for line in text.splitlines() if line and not line.startswith("#"))


def test_every_dependency_is_justified() -> None:
    """docs/dependencies.md has a row for each distribution, and for nothing else."""
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    rows = [row.strip("| ").split(" | ") for row in text.splitlines() if row.startswith("|")]
    cells = [row[1] if row[0].startswith("`") else row[0] for row in rows if row[0] not in ("package", "extra")]
    justified = requirement_names("\n".join(cell for cell in cells if not cell.startswith("--")))
    assert justified == declared_names()


def test_every_folder_of_code_is_a_package() -> None:
    """A folder with modules but no `__init__.py` would be left out of the installed packages."""
    folders = {path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_the_packages_are_typed() -> None:
    """Each of the four packages tells type checkers that it has hints."""
    assert all((ROOT / package / "py.typed").exists() for package in PACKAGES)


def test_one_version_everywhere() -> None:
    """The code, setup.cfg and the changelog agree."""
    version = configuration()["metadata"]["version"]
    assert __version__ == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_data_file_is_installed() -> None:
    """Whatever lies beside the modules is matched by a pattern of setup.cfg's package_data; rooms' READMEs are not."""
    data = configuration()["options.package_data"]
    for package in PACKAGES:
        root = ROOT / package
        installed = {path for pattern in data[package].split(",") for path in root.glob(pattern.strip())}
        files = {path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
        code = {path for path in files if path.suffix in (".py", ".pyc")}
        assert files - code - {path for path in files if path.name == "README.md"} <= installed


@pytest.mark.parametrize("command", [("-m", "swizzle", "--version"), ("-c", "import swizzle")])
def test_another_package_of_the_same_name_is_refused_by_name(command: tuple[str, ...], tmp_path: Path) -> None:
    """One message says which, where, and what to do; a folder without `__init__.py` hides nothing."""
    (tmp_path / "templates").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def ran() -> subprocess.CompletedProcess[str]:
        arguments = [sys.executable, *command]
        return subprocess.run(arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert ran().returncode == 0
    (tmp_path / "templates" / "__init__.py").write_text("")
    refused = ran()
    assert f"the package `templates` is found in {tmp_path / 'templates'}" in refused.stderr
    assert "  fix: rename that folder" in refused.stderr
    assert (refused.returncode, refused.stderr[:6]) == (2, "error:") or command[0] == "-c"


def test_a_fork_runs_what_ci_runs_with_each_python_that_is_supported() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    versions = re.search(r"python: \[(.*)\]", workflow)
    assert versions is not None
    supported = re.findall(r"Python :: (3\.\d+)", configuration()["metadata"]["classifiers"])
    assert re.findall(r"\d+\.\d+", versions.group(1)) == supported
    assert "- run: .ci/run" in workflow
