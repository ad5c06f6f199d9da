"""The solver interface: every engine against brute force, cores, models, deadlines, Ctrl-C and the portfolio."""

import itertools
import os
import signal
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pysmt.environment import get_env
from pysmt.typing import INT, BVType

from symbolic.errors import SwizzleError
from symbolic.solve import engines
from symbolic.solve.answer import Model, Sat, Unknown, Unsat
from symbolic.solve.portfolio import _end_with, race
from symbolic.solve.solver import Solver, unchecked_formulas
from tests.ctrl_c import ctrl_c
from tests.slow_cases import slow_unless

m = get_env().formula_manager
SYMBOLS = [m.Symbol(f"solver_test_{i}") for i in range(6)]
BOOLEAN_SOLVERS = ["z3", "cvc5", "cadical", "glucose", "portfolio"]
GENERAL_SOLVERS = ["z3", "cvc5", "portfolio"]


def pigeons(holes, pigeons):
    """Return clauses that put every pigeon in a hole and no two in one: quick to write, slow to refute."""
    at = [[m.Symbol(f"pigeon_{p}_{h}") for h in range(holes)] for p in range(pigeons)]
    apart = [m.Or(m.Not(at[p][h]), m.Not(at[q][h])) for h in range(holes) for p in range(pigeons) for q in range(p)]
    return [m.Or(row) for row in at] + apart


HARD = pigeons(13, 14)


def formulas():
    """Return a strategy for Boolean formulas over SYMBOLS with every connective."""
    leaves = st.sampled_from([*SYMBOLS, m.TRUE(), m.FALSE()])
    return st.recursive(
        leaves,
        lambda f: st.one_of(
            f.map(m.Not),
            st.lists(f, min_size=2, max_size=3).map(m.And),
            st.lists(f, min_size=2, max_size=3).map(m.Or),
            st.tuples(f, f).map(lambda t: m.Implies(*t)),
            st.tuples(f, f).map(lambda t: m.Iff(*t)),
            st.tuples(f, f, f).map(lambda t: m.Ite(*t)),
        ),
        max_leaves=12,
    )


def satisfiable(formulas):
    """Decide by trying every assignment."""
    for bits in itertools.product([False, True], repeat=len(SYMBOLS)):
        model = Model(dict(zip(SYMBOLS, bits, strict=True)).get)
        if all(model.value(f) for f in formulas):
            return True
    return False


@pytest.mark.parametrize("name", slow_unless(BOOLEAN_SOLVERS, lambda name: name != "portfolio"))
def test_agrees_with_brute_force(name):
    """Each engine, fed batch by batch, says sat exactly when an assignment exists, and its model satisfies."""

    @settings(max_examples=4 if name == "portfolio" else 15, deadline=None, derandomize=True)  # it starts processes
    @given(batches=st.lists(st.lists(formulas(), min_size=1, max_size=3), min_size=1, max_size=3))
    def agrees(batches):
        added = []
        with Solver(name, boolean=True) as solver:
            for batch in batches:
                solver.add(batch)
                added += batch
                answer = solver.check()
                assert isinstance(answer, Sat) == satisfiable(added)
                if isinstance(answer, Sat):
                    assert all(answer.model.value(f) for f in added)
                else:
                    assert answer == Unsat(())

    agrees()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", slow_unless(BOOLEAN_SOLVERS, lambda name: name != "portfolio"))
def test_assumptions_and_cores(name):
    """An assumption holds for one check only; a core is a subset of the assumptions that excludes all."""

    @settings(max_examples=5 if name == "portfolio" else 15, deadline=None, derandomize=True)
    @given(formula=formulas(), signs=st.lists(st.booleans(), min_size=6, max_size=6))
    def agrees(formula, signs):
        literals = [s if sign else m.Not(s) for s, sign in zip(SYMBOLS, signs, strict=True)]
        with Solver(name, boolean=True) as solver:
            solver.add([formula])
            answer = solver.check(literals)
            assert isinstance(answer, Sat) == satisfiable([formula, *literals])
            if isinstance(answer, Unsat):
                assert set(answer.core) <= set(literals)
                assert not satisfiable([formula, *answer.core])
            assert isinstance(solver.check(), Sat) == satisfiable([formula])

    agrees()


@pytest.mark.parametrize("name", ["z3", "cadical", "glucose"])
def test_core_leaves_out_what_is_not_needed(name):
    """The engines that give cores give small ones."""
    with Solver(name, boolean=True) as solver:
        solver.add([m.Or(m.Not(SYMBOLS[0]), m.Not(SYMBOLS[3]))])
        answer = solver.check(SYMBOLS)
    assert isinstance(answer, Unsat)
    assert set(answer.core) == {SYMBOLS[0], SYMBOLS[3]}


@pytest.mark.parametrize("name", BOOLEAN_SOLVERS)
def test_model_outlives_the_solver(name):
    """A model keeps its values through later checks and after close; symbols never seen are completed."""
    a, b, unseen = SYMBOLS[:3]
    with Solver(name, boolean=True) as solver:
        solver.add([m.Iff(a, m.Not(b))])
        first = solver.check([a])
        second = solver.check([b])
        assert isinstance(first, Sat) and isinstance(second, Sat)
    assert [first.model.true(s) for s in (a, b, unseen)] == [True, False, False]
    assert [second.model.true(s) for s in (a, b, unseen)] == [False, True, False]
    assert first.model.value(m.And(a, m.Not(b), m.Not(unseen))) is True


@pytest.mark.parametrize("name", GENERAL_SOLVERS)
def test_integers_and_bit_vectors(name):
    """Without `boolean` the engines take integers and bit-vectors, also when the second comes after a check."""
    x, v = m.Symbol("solver_test_x", INT), m.Symbol("solver_test_v", BVType(8))
    with Solver(name) as solver:
        solver.add([m.Equals(m.BVMul(v, m.BV(3, 8)), m.BV(1, 8))])
        answer = solver.check()
        assert isinstance(answer, Sat)
        assert answer.model.value(v) == 171
        solver.add([m.Equals(m.Times(x, m.Int(10**20)), m.Int(-7 * 10**20))])
        answer = solver.check()
        assert isinstance(answer, Sat)
        assert (answer.model.value(x), answer.model.value(v)) == (-7, 171)
        assert answer.model.value(m.Plus(x, m.Int(10**20))) == 10**20 - 7
        solver.add([m.LT(m.Int(0), x)])
        assert solver.check() == Unsat(())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", BOOLEAN_SOLVERS)
def test_deadline_gives_unknown_and_leaves_the_solver_usable(name):
    """A check that runs out of time is unknown; the next check of the same solver works."""
    free = m.Symbol("solver_test_free")
    with Solver(name, boolean=True, timeout=0.1) as solver:
        solver.add([m.Or(free, clause) for clause in HARD])
        answer = solver.check([m.Not(free)])
        assert isinstance(answer, Unknown) and answer.reason
        assert isinstance(solver.check([free], timeout=30), Sat)


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # where Python is deaf to one press
@pytest.mark.parametrize("name", BOOLEAN_SOLVERS)
def test_ctrl_c_interrupts_a_check(name):
    """Ctrl-C during a check raises KeyboardInterrupt here, and the solver can be checked again and closed."""
    free = m.Symbol("solver_test_free")
    with Solver(name, boolean=True) as solver:
        solver.add([m.Or(free, clause) for clause in HARD])
        with pytest.raises(KeyboardInterrupt), ctrl_c(after=0.2):
            solver.check([m.Not(free)], timeout=60)
        assert isinstance(solver.check([free], timeout=30), Sat)
    solver.close()


class Canned:
    """An engine that does in its process whatever it is told."""

    holds_gil = True

    def __init__(self, name, act):
        self.name, self._act = name, act

    def add(self, formulas):
        """Ignore them."""

    def check(self, assumptions, timeout):
        """Do it."""
        return self._act()

    def symbols(self):
        """Return the first symbol."""
        return SYMBOLS[:1]

    def close(self):
        """There is nothing to free."""


def fail():
    """Raise."""
    raise ValueError("broken")


def test_race_ends_when_every_member_is_unknown():
    """Members that give up, break or die make an unknown that names each reason."""
    members = [Canned("a", lambda: Unknown("too hard")), Canned("b", fail), Canned("c", lambda: os._exit(1))]
    answer = race(members, (), None)
    assert isinstance(answer, Unknown)
    assert sorted(answer.reason.split("; ")) == ["a: too hard", "b: ValueError: broken", "c: its process died"]


def test_race_takes_the_first_definite_answer():
    """A member that gave up and one that never ends do not stop the one that knows."""
    knows = Canned("knows", lambda: Sat(Model(lambda symbol: True)))
    members = [Canned("gives up", lambda: Unknown("no")), Canned("sleeps", lambda: time.sleep(60)), knows]
    answer = race(members, (), 30)
    assert isinstance(answer, Sat) and answer.model.true(SYMBOLS[0])


def test_race_kills_what_runs_late(monkeypatch):
    """The deadline holds for a member that does not look at the clock, and no process is left behind."""
    fork, begun = os.fork, []

    def noted():
        begun.append(fork())
        return begun[-1]

    monkeypatch.setattr(os, "fork", noted)
    assert race([Canned("sleeps", lambda: time.sleep(60))], (), 0.1) == Unknown("timeout after 0.1 s")
    assert len(begun) == 1
    with pytest.raises(ChildProcessError):
        os.waitpid(begun[0], os.WNOHANG)


def test_a_sat_solver_refuses_what_is_not_boolean():
    """CaDiCaL without boolean=True is the user's mistake."""
    with pytest.raises(SwizzleError, match="cadical decides Boolean formulas only"):
        Solver("cadical")


def test_unknown_solver():
    """The error lists the names that there are."""
    with pytest.raises(SwizzleError, match="no solver is called 'minisat'"):
        Solver("minisat")


@pytest.mark.parametrize(("name", "package"), [("z3", "z3-solver"), ("cvc5", "cvc5"), ("cadical", "python-sat")])
def test_missing_engine_names_its_package(monkeypatch, name, package):
    """An engine that is not installed is an error that says what to install."""
    monkeypatch.setattr(engines, "find_spec", lambda module: None)
    with pytest.raises(SwizzleError) as caught:
        Solver(name, boolean=True)
    assert str(caught.value) == (
        f"error: the solver {name} is not installed\n"
        f"  expected: the Python package {package}\n"
        f"  fix: pip install {package}"
    )


def test_unchecked_formulas_switches_the_check_back_on():
    """Inside, a wrong type goes unnoticed; afterwards it raises again."""
    x = m.Symbol("solver_test_x", INT)
    with unchecked_formulas():
        m.And(x, m.Int(12345))
    with pytest.raises(Exception, match="not well-formed"):
        m.And(x, m.Int(54321))


@pytest.mark.parametrize("name", ["cadical", "glucose"])
def test_a_sat_solver_behind_pysmt(name):
    """The plugin works through PySMT's own interface too: push, pop, values and models."""
    from symbolic.solve.pysat_engine import PysatSolver

    a, b = SYMBOLS[:2]
    with PysatSolver(get_env(), name) as solver:
        solver.add_assertion(m.Or(a, b))
        solver.push()
        solver.add_assertion(m.Not(a))
        assert solver.solve()
        assert solver.get_value(m.And(b, m.Not(a))).is_true()
        solver.push()
        solver.add_assertion(m.Implies(b, a))
        assert not solver.solve()
        solver.pop(2)
        assert solver.solve([a, m.Not(b)])
        assert solver.get_model().get_value(a).is_true()


@pytest.mark.skipif(sys.platform != "linux", reason="the signal of a parent's death is Linux's")
def test_engines_end_with_the_process_that_races_them() -> None:
    """A parent that SIGKILL ends has no time to end its children."""
    reader, writer = os.pipe()
    parent = os.fork()
    if not parent:
        me = os.getpid()
        if not os.fork():
            _end_with(me)
            os.write(writer, b"x")
            time.sleep(60)
        time.sleep(60)
        os._exit(0)
    os.close(writer)
    assert os.read(reader, 1) == b"x"
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    assert os.read(reader, 1) == b""  # the pipe ends when the last of them is gone
    os.close(reader)
