"""Engines in forked processes: the first definite answer wins, and the deadline is hard.

A child inherits an engine with everything that was fed to it, checks, sends its answer through a pipe as plain
data and is gone. Nothing is pickled on the way in, and what a child learnt is lost with it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import selectors
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from typing_extensions import assert_never

from symbolic.limits import look
from symbolic.solve.answer import Answer, Model, Sat, SolverEngine, Unknown, Unsat
from symbolic.solve.interrupt import BETWEEN

if TYPE_CHECKING:
    from pysmt.fnode import FNode

_PARENT_DEATH_SIGNAL: Final = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


class _Runner(Struct):
    name: str
    process: int
    pipe: int
    received: bytearray = field(default_factory=bytearray)


def race(engines: Sequence[SolverEngine], assumptions: Sequence[FNode], timeout: float | None) -> Answer:
    """Check with every engine at once and return the first sat or unsat; unknown when none has one in `timeout`
    seconds. All children are gone when this returns or raises."""
    deadline = None if timeout is None else time.monotonic() + timeout
    reasons: list[str] = []
    runners: list[_Runner] = []
    try:
        for engine in engines:
            runners.append(_fork(engine, assumptions, timeout))
        with selectors.DefaultSelector() as selector:
            for runner in runners:
                selector.register(runner.pipe, selectors.EVENT_READ, runner)
            while selector.get_map():
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return Unknown(f"timeout after {timeout:g} s")
                look()
                for key, _ in selector.select(BETWEEN if left is None else min(left, BETWEEN)):
                    runner = key.data
                    chunk = os.read(runner.pipe, 1 << 20)
                    if chunk:
                        runner.received += chunk
                        continue
                    selector.unregister(runner.pipe)
                    answer = _unpack(runner, assumptions)
                    if not isinstance(answer, Unknown):
                        return answer
                    reasons.append(answer.reason)
        return Unknown("; ".join(reasons))
    finally:
        for runner in runners:
            _end(runner)


def _fork(engine: SolverEngine, assumptions: Sequence[FNode], timeout: float | None) -> _Runner:
    reader, writer = os.pipe()
    parent = os.getpid()
    with warnings.catch_warnings():
        # Python 3.12 warns of any fork beside other threads; the child only runs the engine and leaves.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process:
        os.close(writer)
        return _Runner(engine.name, process, reader)
    try:
        _end_with(parent)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        gc.disable()
        try:
            message = _pack(engine, engine.check(assumptions, timeout), assumptions)
        except Exception as error:  # an engine that fails must not stop the others
            message = ("unknown", f"{engine.name}: {type(error).__name__}: {error}")
        with open(writer, "wb") as pipe:
            pickle.dump(message, pipe)
    finally:
        os._exit(0)


def _end_with(parent: int) -> None:
    """Let the kernel kill this child when its parent ends, in whatever way: an engine might run on for hours."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it was gone before
            os._exit(0)


def _pack(engine: SolverEngine, answer: Answer, assumptions: Sequence[FNode]) -> tuple[str, Any]:
    match answer:
        case Sat(model):
            return "sat", {symbol.symbol_name(): model.value(symbol) for symbol in engine.symbols()}
        case Unsat(core):
            return "unsat", [i for i, assumption in enumerate(assumptions) if assumption in core]
        case Unknown(reason):
            return "unknown", f"{engine.name}: {reason}"
        case _:
            assert_never(answer)


def _unpack(runner: _Runner, assumptions: Sequence[FNode]) -> Answer:
    try:
        # The bytes come from our own child: pickle is a wire here, never a file.
        status, data = pickle.loads(bytes(runner.received))
    except (EOFError, pickle.UnpicklingError):
        return Unknown(f"{runner.name}: its process died")
    if status == "sat":
        from pysmt.environment import get_env

        manager = get_env().formula_manager
        return Sat(Model({manager.get_symbol(name): value for name, value in data.items()}.get))
    if status == "unsat":
        return Unsat(tuple(assumptions[i] for i in data))
    return Unknown(data)


def _end(runner: _Runner) -> None:
    os.close(runner.pipe)
    os.kill(runner.process, signal.SIGKILL)
    os.waitpid(runner.process, 0)
