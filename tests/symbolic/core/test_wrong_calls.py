"""Every public name of the core, called with every kind of wrong argument: a SwizzleError, or an answer."""

from __future__ import annotations

import inspect
import itertools
import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

import symbolic
from symbolic import (
    Session,
    SwizzleError,
    bitvector,
    boolean,
    choose,
    function,
    grammar,
    hole,
    integer,
    lifted,
    obligations,
    real,
    soft,
    solve,
)

N, P, R = integer("wrong n"), boolean("wrong p"), real("wrong r")
V, S = bitvector("wrong v", 8), bitvector("wrong s", 4, signed=True)
F = function("wrong f", [integer], integer)


@lifted
def doubled(x: Any) -> Any:
    """A lifted function."""
    return x + x


@grammar
def letter(x: Any) -> Any:
    """A grammar."""
    return choose(x, 1)


WRONG: list[Any] = [
    None, True, 0, -1, 3, 2**70, 1.5, float("nan"), 1j, "", "x", b"x", (), (1, 2), [], [3], {}, {"a": 1}, {1, 2},
    Fraction(1, 3), object(), int, len, N, N + 1, P, R, V, S, F, hole(), soft(P), doubled, letter, lambda x: x,
    solve(N > 3), solve(N > 3, N < 3), range(3), Ellipsis, ValueError("x"),
]  # fmt: skip
NAMES = [name for name in symbolic.__all__ if name not in ("SwizzleError",)]
METHODS = [
    (type(value).__name__, value, name)
    for value in (N, P, R, V)
    for name in dir(type(value))
    if not name.startswith("_") and callable(getattr(value, name)) and name not in ("lift", "like", "formula")
]
OPERATORS: list[Callable[[Any, Any], Any]] = [
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv, operator.pow,
    operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor, operator.eq, operator.ne, operator.lt,
    operator.le, operator.gt, operator.ge,
]  # fmt: skip


def keywords(called: Any) -> list[str]:
    """Return the names of a function's parameters that are given by name."""
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError, NameError):
        return []
    return [each.name for each in parameters if each.kind == each.KEYWORD_ONLY]


def calls(called: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield calls with no argument, each wrong one, each pair, and each by every name."""
    yield "()", called
    for a in WRONG:
        yield f"({a!r})", lambda a=a: called(a)
        for name in keywords(called):
            yield f"({name}={a!r})", lambda a=a, name=name: called(**{name: a})
            yield f"(n > 3, {name}={a!r})", lambda a=a, name=name: called(N > 3, **{name: a})
    for a, b in itertools.product(WRONG[::4], WRONG[1::3]):
        yield f"({a!r}, {b!r})", lambda a=a, b=b: called(a, b)
    for a in WRONG[::3]:
        yield f"({a!r}, 1, n)", lambda a=a: called(a, 1, N)
        yield f"(p, {a!r}, n)", lambda a=a: called(P, a, N)


def raw(found: Iterator[tuple[str, Callable[[], Any]]]) -> list[str]:
    """Return the calls that raise what is no SwizzleError, with what they raise."""
    wrong = []
    for text, call in found:
        with obligations():
            try:
                made = call()
                if isinstance(made, Session):
                    made.__exit__(None, None, None)
            except SwizzleError as error:
                assert str(error), text
            except TypeError as error:
                # Python itself says how many arguments there are, by their names
                if "argument" not in str(error) or "symbolic" in str(error):
                    wrong.append(f"{text}: {type(error).__name__}: {error}")
            except Exception as error:
                wrong.append(f"{text}: {type(error).__name__}: {error}")
    return wrong


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", NAMES)
def test_wrong_arguments_of_public_names(name: str) -> None:
    """Whatever it is given, the answer is no TypeError, AttributeError or KeyError from below."""
    assert raw(calls(getattr(symbolic, name))) == []


@pytest.mark.parametrize(("kind", "value", "name"), METHODS)
def test_wrong_arguments_of_methods(kind: str, value: Any, name: str) -> None:
    """The same of what symbolic values can do."""
    assert raw((f"{kind}.{name}{text}", call) for text, call in calls(getattr(value, name))) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("value", [N, P, R, V, S], ids=["integer", "boolean", "real", "unsigned", "signed"])
def test_wrong_operands(value: Any) -> None:
    """An operator between a symbolic value and anything else, on either side; `==` is as strict as the others."""
    pairs = [(f"{each.__name__}({a!r}, {b!r})", lambda each=each, a=a, b=b: each(a, b))
             for each in OPERATORS for other in WRONG for a, b in ((value, other), (other, value))]  # fmt: skip
    assert raw(iter(pairs)) == []


@pytest.mark.parametrize("outcome", [solve(N > 3), solve(N > 3, N < 3)], ids=["sat", "unsat"])
def test_wrong_questions_to_an_outcome(outcome: Any) -> None:
    """What an outcome is asked for, and a session."""
    found = [(f"[{a!r}]", lambda a=a: outcome[a]) for a in WRONG]
    found += [("broken", lambda: outcome.broken), ("show", outcome.show), ("repr", lambda: repr(outcome))]
    with Session(N > 3) as session:
        for method in (session.add, session.push, session.pop, session.solve, session.solutions):
            found += [(f"{method.__name__}{text}", call) for text, call in calls(method)]
        assert raw(iter(found)) == []
