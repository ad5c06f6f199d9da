"""The lemmas on reductions that the proofs of rules use, each proved by induction by `symbolic.verify`.

A fold is known by its equations: it begins with its start, and one element more is one step more. Elements, operators
and folds are functions of which nothing else is known, over integers that stand for values of any type. Each part of a
proof is an implication; a premise named after a law of operators is an instance of that law, without which the part
fails, which is shown, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from symbolic import all_of, any_of, function, implies, integer, select, verify


class InductionStep(Struct, frozen=True, eq=False):
    """A part of an induction: what it shows, from which premises."""

    name: str
    premises: Mapping[str, Any]
    conclusion: Any

    def status(self, without: str = "") -> str:
        """Return 'proved', or 'refuted' where a counterexample meets the premises, one of them left out."""
        kept = [each for name, each in self.premises.items() if _plain(name) != without]
        return {"unsat": "proved", "sat": "refuted"}.get(
            verify(implies(all_of(*kept), self.conclusion)).status, "unknown"
        )


def _plain(name: str) -> str:
    return name.rstrip("'")


class Lemma(Struct, frozen=True, eq=False):
    """A statement on folds with the steps of its proof."""

    name: str
    statement: str
    steps: tuple[InductionStep, ...]

    @property
    def proved(self) -> bool:
        """Whether every step is proved, and none without a law that it uses."""
        return all(
            step.status() == "proved"
            and all(
                step.status(law) == "refuted" for law in self.laws if law in {_plain(name) for name in step.premises}
            )
            for step in self.steps
        )

    @property
    def laws(self) -> list[str]:
        """The laws of operators that it needs."""
        found = {_plain(name) for step in self.steps for name in step.premises}
        return sorted(found & {"associative", "commutative", "neutral"})


@cache
def lemmas() -> tuple[Lemma, ...]:
    """Return all lemmas."""
    op, x, y, order = (_function(name, places) for name, places in (("op", 2), ("x", 1), ("y", 1), ("order", 1)))
    z, a, k, m, n = (integer(name) for name in "zakmn")
    return (
        _congruence(z, k), _promotion(op, x, z), _in_order(op, x, z), _permutation(op, x, y, order, z),
        _starts(op, x, z), _pointwise(z),
        Lemma("one element", "the fold of one element, from a neutral start, is that element", (
            InductionStep("one step", {
                "empty": _function("S", 1)(0) == z, "step": _function("S", 1)(1) == op(_function("S", 1)(0), x(0)),
                "neutral": op(z, x(0)) == x(0),
            }, _function("S", 1)(1) == x(0)),
        )),
        _iterate(a, m, n),
    )  # fmt: skip


def _function(name: str, places: int) -> Any:
    return function(name, [integer] * places, integer)


def _congruence(z: Any, k: Any) -> Lemma:
    S, T, f, g = _function("S", 1), _function("T", 1), _function("f", 2), _function("g", 2)
    return Lemma("congruence", "folds with equal starts, steps and elements are equal", (
        InductionStep("base", {"S": S(0) == z, "T": T(0) == z}, S(0) == T(0)),
        InductionStep("step", {
            "before": S(k) == T(k), "S": S(k + 1) == f(S(k), k), "T": T(k + 1) == g(T(k), k),
            "equal steps": f(S(k), k) == g(S(k), k),
        }, S(k + 1) == T(k + 1)),
    ))  # fmt: skip


def _promotion(op: Any, x: Any, z: Any) -> Lemma:
    """S(a, b) is the fold of elements a to b, R(i, j) that of j elements of chunk i, C(m) that of m chunks' folds."""
    S, R, C = _function("S2", 2), _function("R2", 2), _function("C", 1)
    a, b, c, i, j, m, n = (integer(name) for name in ["a", "b", "c", "i", "j", "m", "n"])
    return Lemma("promotion", "a fold of folds of chunks is the fold of all elements", (
        InductionStep("a fold and one of no element", {
            "empty": S(b, b) == z, "neutral": op(S(a, b), z) == S(a, b),
        }, op(S(a, b), S(b, b)) == S(a, b)),
        InductionStep("a fold and one of one element more", {
            "before": op(S(a, b), S(b, c)) == S(a, c), "S": S(b, c + 1) == op(S(b, c), x(c)),
            "S'": S(a, c + 1) == op(S(a, c), x(c)),
            "associative": op(op(S(a, b), S(b, c)), x(c)) == op(S(a, b), op(S(b, c), x(c))),
        }, op(S(a, b), S(b, c + 1)) == S(a, c + 1)),
        InductionStep("a chunk, base", {"R": R(i, 0) == z, "S": S(i * n, i * n) == z}, R(i, 0) == S(i * n, i * n + 0)),
        InductionStep("a chunk, step", {
            "before": R(i, j) == S(i * n, i * n + j), "R": R(i, j + 1) == op(R(i, j), x(i * n + j)),
            "S": S(i * n, i * n + j + 1) == op(S(i * n, i * n + j), x(i * n + j)),
        }, R(i, j + 1) == S(i * n, i * n + j + 1)),
        InductionStep("all chunks, base", {"C": C(0) == z, "S": S(0, 0) == z}, C(0) == S(0, 0 * n)),
        InductionStep("all chunks, step", {
            "before": C(m) == S(0, m * n), "C": C(m + 1) == op(C(m), R(m, n)), "chunk": R(m, n) == S(m * n, m * n + n),
            "two folds": op(S(0, m * n), S(m * n, m * n + n)) == S(0, m * n + n),
        }, C(m + 1) == S(0, (m + 1) * n)),
    ))  # fmt: skip


def _starts(op: Any, x: Any, z: Any) -> Lemma:
    """S(b) is the fold of the first b elements, R(j) that of j elements of chunk m, Z(m) that of m starts."""
    S, R, C, Z = _function("S", 1), _function("R", 1), _function("C", 1), _function("Z", 1)
    j, m, n = (integer(name) for name in ["j", "m", "n"])
    here = m * n
    return Lemma("starts", "a fold of folds of chunks is the fold of all elements, and of a start for each chunk", (
        InductionStep("a chunk, base", {"R": R(0) == z}, op(S(here), R(0)) == op(S(here + 0), z)),
        InductionStep("a chunk, step", {
            "before": op(S(here), R(j)) == op(S(here + j), z), "R": R(j + 1) == op(R(j), x(here + j)),
            "S": S(here + j + 1) == op(S(here + j), x(here + j)),
            "associative": op(op(S(here), R(j)), x(here + j)) == op(S(here), op(R(j), x(here + j))),
            "associative'": op(op(S(here + j), z), x(here + j)) == op(S(here + j), op(z, x(here + j))),
            "associative''": op(op(S(here + j), x(here + j)), z) == op(S(here + j), op(x(here + j), z)),
            "commutative": op(z, x(here + j)) == op(x(here + j), z),
        }, op(S(here), R(j + 1)) == op(S(here + j + 1), z)),
        InductionStep("all chunks, base", {
            "C": C(0) == z, "C'": C(1) == op(C(0), R(n)), "S": S(0) == z, "Z": Z(1) == z,
            "chunk": op(S(0), R(n)) == op(S(n), z),
        }, C(1) == op(S(n), Z(1))),
        InductionStep("all chunks, step", {
            "before": C(m) == op(S(here), Z(m)), "C": C(m + 1) == op(C(m), R(n)), "Z": Z(m + 1) == op(z, Z(m)),
            "chunk": op(S(here), R(n)) == op(S(here + n), z),
            "associative": op(op(S(here), Z(m)), R(n)) == op(S(here), op(Z(m), R(n))),
            "associative'": op(op(S(here), R(n)), Z(m)) == op(S(here), op(R(n), Z(m))),
            "associative''": op(op(S(here + n), z), Z(m)) == op(S(here + n), op(z, Z(m))),
            "commutative": op(Z(m), R(n)) == op(R(n), Z(m)),
        }, C(m + 1) == op(S(here + n), Z(m + 1))),
    ))  # fmt: skip


def _pointwise(z: Any) -> Lemma:
    """V(k, i) is element i of the fold of k arrays, S(k) the fold of elements i alone."""
    V, S, f = _function("V", 2), _function("S", 1), _function("f", 3)
    i, k = integer("i"), integer("k")
    return Lemma("pointwise", "element i of a fold of arrays is the fold of elements i", (
        InductionStep("base", {"V": V(0, i) == z, "S": S(0) == z}, V(0, i) == S(0)),
        InductionStep("step", {
            "before": V(k, i) == S(k), "V": V(k + 1, i) == f(V(k, i), k, i), "S": S(k + 1) == f(S(k), k, i),
        }, V(k + 1, i) == S(k + 1)),
    ))  # fmt: skip


def _in_order(op: Any, x: Any, z: Any) -> Lemma:
    """F(v, a, b) is the fold of elements a to b that begins with v, C(m) what m chunks come to."""
    F, C = _function("F", 3), _function("C", 1)
    i, m, n = (integer(name) for name in ["i", "m", "n"])
    here = m * n
    return Lemma("in order", "a fold that goes on in each chunk where it stopped is the fold of all elements", (
        InductionStep("a chunk, base", {"F": F(F(z, 0, here), here, here) == F(z, 0, here)},
                      F(F(z, 0, here), here, here + 0) == F(z, 0, here + 0)),
        InductionStep("a chunk, step", {
            "before": F(F(z, 0, here), here, here + i) == F(z, 0, here + i),
            "F": F(F(z, 0, here), here, here + i + 1) == op(F(F(z, 0, here), here, here + i), x(here + i)),
            "F'": F(z, 0, here + i + 1) == op(F(z, 0, here + i), x(here + i)),
        }, F(F(z, 0, here), here, here + i + 1) == F(z, 0, here + i + 1)),
        InductionStep("all chunks, base", {"C": C(0) == z, "F": F(z, 0, 0) == z}, C(0) == F(z, 0, 0 * n)),
        InductionStep("all chunks, step", {
            "before": C(m) == F(z, 0, here), "C": C(m + 1) == F(C(m), here, here + n),
            "chunk": F(F(z, 0, here), here, here + n) == F(z, 0, here + n),
        }, C(m + 1) == F(z, 0, (m + 1) * n)),
    ))  # fmt: skip


def _permutation(op: Any, x: Any, y: Any, order: Any, z: Any) -> Lemma:
    """S(n) and T(n) are the folds of the first n elements of x, and of y, which is x without element k."""
    S, T = _function("S", 1), _function("T", 1)
    back, rest = _function("back", 1), _function("rest", 1)
    i, j, k, m, n, p = (integer(name) for name in ["i", "j", "k", "m", "n", "p"])

    def inside(at: Any, below: Any) -> Any:
        return all_of(at >= 0, at < below)

    def without(at: Any) -> Any:
        return select(at < p, order(at), order(at + 1))

    def injective(one: Any, other: Any) -> Any:
        alike = all_of(inside(one, n + 1), inside(other, n + 1), order(one) == order(other))
        return implies(alike, one == other)

    def within(at: Any) -> Any:
        return implies(inside(at, n + 1), inside(order(at), n + 1))

    return Lemma("permutation", "the fold of the elements in another order is the fold of the elements", (
        InductionStep("an element is taken out, base", {
            "alike": T(k) == S(k), "S": S(k + 1) == op(S(k), x(k)),
        }, op(T(k), x(k)) == S(k + 1)),
        InductionStep("an element is taken out, step", {
            "before": op(T(m), x(k)) == S(m + 1), "behind": m >= k, "y": y(m) == x(m + 1),
            "T": T(m + 1) == op(T(m), y(m)), "S": S(m + 2) == op(S(m + 1), x(m + 1)),
            "associative": op(op(T(m), x(m + 1)), x(k)) == op(T(m), op(x(m + 1), x(k))),
            "associative'": op(op(T(m), x(k)), x(m + 1)) == op(T(m), op(x(k), x(m + 1))),
            "commutative": op(x(m + 1), x(k)) == op(x(k), x(m + 1)),
        }, op(T(m + 1), x(k)) == S(m + 2)),
        InductionStep("the last element is somewhere", {
            "order": order(back(n)) == n, "back": inside(back(n), n + 1),
        }, any_of(*[all_of(inside(back(n), n + 1), order(back(n)) == n)])),
        InductionStep("without it, the rest is an order of the rest", {
            "p": all_of(inside(p, n + 1), order(p) == n), "within": all_of(within(i), within(i + 1)), "i": inside(i, n),
            "injective": all_of(injective(i, p), injective(i + 1, p)), "rest": rest(i) == without(i),
        }, inside(rest(i), n)),
        InductionStep("in which no element is taken twice", {
            "p": all_of(inside(p, n + 1), order(p) == n), "i": all_of(inside(i, n), inside(j, n)),
            "injective": all_of(injective(i, j), injective(i + 1, j), injective(i, j + 1), injective(i + 1, j + 1)),
            "rest": all_of(rest(i) == without(i), rest(j) == without(j)),
        }, implies(rest(i) == rest(j), i == j)),
        InductionStep("all elements, base", {"S": S(0) == z, "T": T(0) == z}, S(0) == T(0)),
        InductionStep("all elements, step", {
            "before": T(n) == S(n), "taken out": _function("U", 1)(n + 1) == op(T(n), x(order(p))), "p": order(p) == n,
            "S": S(n + 1) == op(S(n), x(n)),
        }, _function("U", 1)(n + 1) == S(n + 1)),
    ))  # fmt: skip


def _iterate(a: Any, m: Any, n: Any) -> Lemma:
    I, f = _function("I", 2), _function("f", 1)  # noqa: E741
    return Lemma("iterate", "m + n rounds are n rounds and then m rounds", (
        InductionStep("base", {"I": I(0, I(n, a)) == I(n, a)}, I(0 + n, a) == I(0, I(n, a))),
        InductionStep("step", {
            "before": I(m + n, a) == I(m, I(n, a)), "I": I(m + n + 1, a) == f(I(m + n, a)),
            "I'": I(m + 1, I(n, a)) == f(I(m, I(n, a))),
        }, I(m + 1 + n, a) == I(m + 1, I(n, a))),
    ))  # fmt: skip


@cache
def proved_lemmas() -> frozenset[str]:
    """Return the names of the lemmas that are proved."""
    return frozenset(lemma.name for lemma in lemmas() if lemma.proved)
