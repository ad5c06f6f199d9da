"""Every exception of ours goes from one process to another whole: sweeps and pools hand on what went wrong."""

from __future__ import annotations

import ast
import copy
import pickle
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cuda_out.compile.toolchain import CompileError
from cuda_out.numba.module_text import NotPrinted
from cuda_out.ptx.running.memory import Misaligned, ReadOnly
from cuda_out.tiling.translation import _Stop
from swizzle.sketches.choices import NothingLeftError
from swizzle.strangers.proving.proof import ProofFinding
from swizzle.strangers.proving.running import Undefined
from symbolic.errors import Place, SwizzleError
from symbolic.limits import Interruption, OutOfTime, limited
from symbolic.rewriting.rule import NotApplicable

ROOT = Path(__file__).resolve().parent.parent
CALL = Place("kernel.py", 30, 5, 9)
PLACE = Place("kernel.py", 12, 7, 11, called_from=CALL, function="tile")
MADE: dict[type, Callable[[Any], BaseException]] = {
    SwizzleError: lambda kind: kind("x[9] is out of bounds", place=PLACE, expected="an index below 8", fix="ask first"),
    Interruption: lambda kind: kind("while it propagated"),
    NotPrinted: lambda kind: kind(3, 1, "an assignment"),
    CompileError: lambda kind: kind("kernel.cu(1): error: no such type", "flot x;\n"),
    Undefined: lambda kind: kind(ProofFinding("y[3]", 7, "thread 3", "reads x[9]", ""), True),
    Misaligned: lambda kind: kind("16 bytes at once", "x", 16),
    ReadOnly: lambda kind: kind("x is not to be written", "x"),
    _Stop: lambda kind: kind("a product", PLACE),
    NothingLeftError: lambda kind: kind(SimpleNamespace(rules=(), declared={"BM": 16}), ["both tiles fit"]),
    NotApplicable: lambda kind: kind("4 does not divide n", "divides"),
}
"""How one is made of each class that has an initializer of its own, and of those that inherit it."""


def exceptions() -> Iterator[type[BaseException]]:
    """Yield the classes of exceptions of all modules that mention one."""
    for package in ("symbolic", "swizzle", "cuda_out", "templates", "bench/gpu"):
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.bases]
            if not classes or path.name == "__main__.py":
                continue
            module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
            for node in classes:
                found = getattr(module, node.name)
                if isinstance(found, type) and issubclass(found, BaseException):
                    yield found


def made(kind: type[BaseException]) -> BaseException:
    own = next(parent for parent in kind.__mro__ if "__init__" in vars(parent))
    return kind("why") if own.__module__ == "builtins" else MADE[own](kind)


def test_every_exception_travels_whole() -> None:
    """Its message, its fields with all places, and what was noted beside it; in a copy as well."""
    kinds = list(exceptions())
    assert {*MADE, OutOfTime} <= {*kinds} and len(kinds) > 45
    for kind in kinds:
        error = made(kind)
        error.__notes__ = ["in the sweep's case 7"]  # as Python 3.11's add_note keeps them
        ways = [pickle.loads(pickle.dumps(error, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
        for again in (*ways, copy.copy(error)):
            assert type(again) is kind and again.args == error.args and str(again) == str(error), kind
            assert vars(again) == vars(error), kind


def test_a_limit_that_has_passed_elsewhere_keeps_its_words() -> None:
    """It is not given those of the limit that is open where it arrives."""
    sent = pickle.dumps(OutOfTime("while it was verified"))
    silent = pickle.dumps(OutOfTime())
    with limited(0.0, said="this one's", clock=lambda: 1.0):
        assert str(pickle.loads(sent)) == "while it was verified"
        assert str(pickle.loads(silent)) == ""
