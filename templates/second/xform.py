"""The second description of `?sw_xform(i, n, k)`, by equations 2 to 7: a shape, a rate, an offset."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symbolic.second.formulas import Cases, both, some_of
from templates.primitives import xform
from templates.second.groups import OneOf, Point, distinct, inverse


class XformHole:
    """`?sw_xform(i, n, k)` by equations 2 to 7: a shape, a rate, an offset; `rotations`: all n are turned."""

    def __init__(self, n: int, points: Sequence[Point], space: str, *, rotations: bool = False) -> None:
        self.n = n
        self.indices = sorted({p[0] for p in points})
        self.shifts = sorted({p[1] if len(p) > 1 else 0 for p in points})
        divisors = [d for d in range(1, n + 1) if n % d == 0]
        full = space in ("3", "4")
        shapes = [
            (gs, c_f, d_f, wrap)
            for gs in (divisors if full else [n])
            for d_f in ([d for d in divisors if gs % d == 0] if full else [n])
            for wrap in ((False, True) if full else (False,))
            for c_f in range(0, gs, gs // d_f)
        ]
        if rotations:
            shapes = [(n, 1 % n, n, False)]
        rates = [(c_r, d_r) for d_r in range(max(self.shifts, default=0) + 1 if full else 1) for c_r in range(n)]
        turns, lanes = np.arange(n)[:, None], np.array(self.indices, np.int64)

        def all_turns(shape: tuple[int, int, int, bool]) -> Any:
            gs, c_f, d_f, wrap = shape
            return np.broadcast_to(xform(gs, c_f, d_f, wrap, turns, lanes), (n, len(lanes)))

        self._shape = distinct(shapes, all_turns)
        ks = np.array(self.shifts, np.int64)
        self._rate = distinct(rates, lambda r: (ks * r[0] + (ks // r[1] if r[1] else 0)) % n)
        self.groups = [OneOf([s for s, _ in self._shape]), OneOf([r for r, _ in self._rate]), OneOf(range(n))]
        self._turn: dict[int, Cases] = {}
        self._known: dict[Point, Cases] = {}

    def at(self, point: Point) -> Cases:
        if point not in self._known:
            shape, _, _ = self.groups
            column = self.indices.index(point[0])
            by_turn = shape.cases([tuple(t[:, column].tolist()) for _, t in self._shape])
            turn = self._turned(point[1] if len(point) > 1 else 0)
            found: dict[int, list[Any]] = {}
            for values, chosen in by_turn.items():
                for value, turns in inverse(values).items():
                    found.setdefault(value, []).append(both(chosen, some_of(turn[r] for r in turns if r in turn)))
            self._known[point] = {v: some_of(f) for v, f in found.items()}
        return self._known[point]

    def _turned(self, k: int) -> Cases:
        if k not in self._turn:
            _, rate, offset = self.groups
            place = self.shifts.index(k)
            rates = rate.cases([int(t[place]) for _, t in self._rate])
            found: dict[int, list[Any]] = {}
            for (a, f), (c, g) in itertools.product(rates.items(), offset.cases(range(self.n)).items()):
                found.setdefault((a + c) % self.n, []).append(both(f, g))
            self._turn[k] = {v: some_of(f) for v, f in found.items()}
        return self._turn[k]

    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]:
        (gs, c_f, d_f, wrap), (c_r, d_r), c = (g.chosen(model) for g in self.groups)

        def function(arguments: Sequence[Any]) -> Any:
            k = arguments[1] if len(arguments) > 1 else 0
            return xform(gs, c_f, d_f, wrap, k * c_r + (k // d_r if d_r else 0) + c, arguments[0])

        return function
