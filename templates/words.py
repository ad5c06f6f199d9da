"""How a chosen function reads in words: 'rotate by k', 'fan by 3 in groups of 8', 'keep when lane < 32 - k'.

The words of a `?sw_xform` say from where places are filled: 'fan by 3, then rotate by k' fills place i with element
`(3 * i + k) mod n`. They are made from the template's constants, and mean exactly this, on n elements:

| words | place i takes element |
|---|---|
| as it is | i |
| rotate by R | (i + R) mod n |
| reverse | n - 1 - i |
| fan by c | c * i mod n |
| fan by c, one further after every d | (c * i + i // d) mod n |
| transpose a p x q matrix | i % p * q + i // p |
| broadcast element R | R mod n |
| X, then Y | Y(X(i)): X gives a number, and Y is applied to that |
| X in groups of g | X on each run of g neighbours, n being g there |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import assert_never

from symbolic.ir.program import Hole
from templates.holes import CondChoice, XformChoice
from templates.primitives import xform


@dataclass(frozen=True, slots=True)
class Filling:
    """What one hole became: `constants` are the template's, by name, as `templates.formula.constants` gives them."""

    hole: Hole
    constants: Mapping[str, int]

    def apply(self, arguments: Sequence[Any]) -> Any:
        """Return the hole's values on lanes of its arguments."""
        hole = self.hole
        match hole.kind:
            case "xform":
                named, k = self._xform(), arguments[1] if len(arguments) > 1 else 0
                amount = k * named.c_r + (k // named.d_r if named.d_r else 0) + named.c
                return xform(named.gs, named.c_f, named.d_f, named.wrap, amount, arguments[0])
            case "cond":
                return self._condition("").holds(arguments)
            case "part":
                value: Any = hole.size - 1
                for j in reversed(range(hole.size - 1)):
                    value = np.where(self._condition(f"_{j}").holds(arguments), j, value)
                return value
            case _:
                assert_never(hole.kind)

    def words(self) -> str:
        """Return what the hole does, in words."""
        hole, names = self.hole, [_atom(text) for text in self.hole.arguments]
        match hole.kind:
            case "xform":
                return _xform_words(hole.size, self._xform(), names)
            case "cond":
                when = _condition_words(self._condition(""), names)
                return when if when in ("always", "never") else f"keep when {when}"
            case "part":
                return _part_words([_condition_words(self._condition(f"_{j}"), names) for j in range(hole.size - 1)])
            case _:
                assert_never(hole.kind)

    def _xform(self) -> XformChoice:
        c = self.constants
        return XformChoice(c["gs"], c["c_f"], c["d_f"], bool(c["wrap"]), c["c_r"], c["d_r"], c["c"])

    def _condition(self, suffix: str) -> CondChoice:
        left, sign, right, equal, negated, threshold = (
            self.constants[name + suffix] for name in ("left", "sign", "right", "equal", "negated", "threshold")
        )
        return CondChoice(left, sign, right, "==" if equal else "<=", bool(negated), threshold)


def _xform_words(n: int, named: XformChoice, names: Sequence[str]) -> str:
    gs, c_f, d_f = named.gs, named.c_f % named.gs, named.d_f
    step, inner = gs // d_f, gs // d_f if named.wrap else gs
    k, offset, spread = names[1] if len(names) > 1 else "", named.c, ""
    if d_f == gs and c_f == 0 and inner == gs:
        amount = _amount(named, k, offset, gs)
        return _grouped([f"broadcast element {amount}"], gs, n)
    if d_f == gs and c_f == gs - 1 and gs > 2 and inner == gs:
        spread, offset = "reverse", offset + 1
    elif d_f == gs and c_f != 1 % gs:
        spread = f"fan by {c_f}"
    elif d_f < gs and c_f == step % gs:
        spread = f"transpose a {d_f} x {step} matrix"
    elif d_f < gs:
        spread = f"fan by {c_f}, one further after every {d_f}"
    amount = _amount(named, k, offset, inner)
    turn = "" if amount == "0" else f"rotate by {amount}" + ("" if inner == gs else f" in groups of {inner}")
    return _grouped([part for part in (spread, turn) if part], gs, n)


def _grouped(parts: Sequence[str], gs: int, n: int) -> str:
    if not parts or gs == 1:
        return "as it is"
    if gs == n:
        return ", then ".join(parts)
    return f"in groups of {gs}: {', then '.join(parts)}" if len(parts) > 1 else f"{parts[0]} in groups of {gs}"


def _amount(named: XformChoice, k: str, offset: int, m: int) -> str:
    """Return by how much to rotate modulo m: `k`, `-k`, `2 * k + 3`, `k // 4 + 1`."""
    if m == 1:
        return "0"
    terms = []
    if k:
        terms.append((_near(named.c_r, m), k))
        if named.d_r:
            terms.append((1, f"{k} // {named.d_r}"))
    return _sum([(factor, text) for factor, text in terms if factor], _near(offset, m))


def _near(c: int, m: int) -> int:
    """Return the number nearest to 0 that is c modulo m."""
    return c % m if c % m <= m // 2 else c % m - m


def _sum(terms: Sequence[tuple[int, str]], offset: int) -> str:
    """Return a sum of multiples as text, `0` when it is empty."""
    parts = [(factor, text if abs(factor) == 1 else f"{abs(factor)} * {text}") for factor, text in terms]
    parts += [(offset, str(abs(offset)))] if offset else []
    parts.sort(key=lambda part: part[0] < 0)
    if not parts:
        return "0"
    first, *rest = parts
    head = f"-{first[1]}" if first[0] < 0 else first[1]
    return head + "".join(f" {'-' if factor < 0 else '+'} {text}" for factor, text in rest)


def _condition_words(named: CondChoice, names: Sequence[str]) -> str:
    """Return a comparison, or 'always' or 'never'."""
    equal, bound = named.relation == "==", named.threshold
    left = names[named.left] if names else "0"
    if named.left == named.right:
        if named.sign < 0 or not names:
            return "always" if (bound == 0 if equal else bound >= 0) != named.negated else "never"
        if equal and bound % 2:
            return "always" if named.negated else "never"
        terms, bound = [], bound // 2
    else:
        terms = [(-named.sign, names[named.right])]
    if equal:
        return f"{left} {'!=' if named.negated else '=='} {_sum(terms, bound)}"
    # below a sum, and below or at a difference or a number, whichever has the rounder number
    if named.sign > 0 or bound == -1:
        return f"{left} {'>=' if named.negated else '<'} {_sum(terms, bound + 1)}"
    return f"{left} {'>' if named.negated else '<='} {_sum(terms, bound)}"


def _part_words(conditions: Sequence[str]) -> str:
    """Return `0 when lane >= k, else 1`, or `always 1`."""
    parts: list[str] = []
    last = len(conditions)
    for number, when in enumerate(conditions):
        if when == "always":
            last = number
            break
        if when != "never":
            parts.append(f"{number} when {when}")
    return ", else ".join([*parts, str(last)]) if parts else f"always {last}"


def _atom(text: str) -> str:
    """Return an argument's own spelling, in parentheses unless it is one name or number."""
    return text if text.replace(".", "").isidentifier() or text.isdigit() else f"({text})"
