"""Which tests run which functions: a pytest plugin that writes it down, and the choice of tests for a function.

    python -m pytest -p covering tests      # with COVERING=map.json and bench/ on the path

A function is named by its file and its own name. Only tests that pass count. Seconds are of processor time.
"""

from __future__ import annotations

import cProfile
import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

_tests: dict[str, dict[str, Any]] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note each function that is called while a test and its fixtures run."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        codes.add(frame.f_code)

    started, profile = spent(), cProfile.Profile(subcalls=False, builtins=False)
    threading.setprofile(note)  # a profile sees its own thread only
    profile.enable()
    try:
        found = yield
    finally:
        profile.disable()
        threading.setprofile(None)  # type: ignore[arg-type]
    codes.update(entry.code for entry in profile.getstats() if isinstance(entry.code, CodeType))
    root = f"{item.config.rootpath}{os.sep}"
    functions = {f"{c.co_filename[len(root) :]}:{c.co_name}" for c in codes if c.co_filename.startswith(root)}
    kept = sorted(name for name in functions if not name.startswith("tests/"))
    _tests.setdefault(item.nodeid, {}).update(seconds=round(spent() - started, 3), functions=kept)
    return found


def spent() -> float:
    """Return the processor time of this process and of those that it has waited for, in seconds."""
    return time.process_time() + sum(os.times()[2:4])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Forget what did not pass."""
    test = _tests.setdefault(report.nodeid, {})
    test["passed"] = test.get("passed", True) and report.passed


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Add what was found to the map, in which each test file stands with a digest of its text."""
    path = Path(os.environ["COVERING"])
    known = json.loads(path.read_text()) if path.exists() else {}
    for name in {test.split("::")[0] for test in _tests}:
        tests = {
            test.split("::", 1)[1]: {"seconds": found["seconds"], "functions": found["functions"]}
            for test, found in _tests.items()
            if test.split("::")[0] == name and found.get("passed")
        }
        known[name] = {"digest": digest(session.config.rootpath / name), "tests": tests}
    path.write_text(json.dumps(known))


def digest(path: Path) -> str:
    """Return what changes when a file does."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def stale(known: dict[str, Any], root: Path, files: list[str]) -> list[str]:
    """Return the test files that the map does not know as they are."""
    return [file for file in files if known.get(file, {}).get("digest") != digest(root / file)]


def covering(known: dict[str, Any], file: str, function: str, budget: float) -> list[str]:
    """Return the tests that run a function, those of its mirrored test file first, then the quick ones.

    They end where they would take longer than the budget, in seconds. Code outside functions runs when the module is
    imported, so that any test of the module may notice it.
    """
    mirrored = f"tests/{Path(file).parent.as_posix()}/test_{Path(file).name}"
    found: list[tuple[bool, float, str]] = []
    for test_file, about in known.items():
        for test, one in about["tests"].items():
            names = one["functions"]
            inside = f"{file}:{function}" in names
            if inside or (function == "<module>" and any(name.startswith(f"{file}:") for name in names)):
                found.append((test_file != mirrored, one["seconds"], f"{test_file}::{test}"))
    chosen: list[str] = []
    total = 0.0
    for _, seconds, test in sorted(found):
        if chosen and total + seconds > budget:
            continue
        total += seconds
        chosen.append(test)
    return chosen[:MOST_TESTS]


MOST_TESTS = 150
