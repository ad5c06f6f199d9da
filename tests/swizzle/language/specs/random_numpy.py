"""Random specifications written with NumPy: each statement is tried on numbers first, so that all of them run.

What jumps (a comparison, a sign, a rounding) is taken at odd places, which no value is near but by bad luck: NumPy
rounds what terms hold exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

LARGEST = 1e4
"""Of larger values, products of 32 bits would wrap."""
ELEMENTS = 60
WINDOWS = "np.lib.stride_tricks.sliding_window_view"
ODD = ("0.1234", "-0.3717", "0.7071", "-1.0303")


class Writer:
    """Writes the body of a function of the inputs, which are numbers here."""

    def __init__(self, seed: int, inputs: dict[str, Any]) -> None:
        self.random = Random(seed)
        self.values = {name: value for name, value in inputs.items() if name not in ("u", "i")}
        self.lines: list[str] = []

    def body(self, statements: int) -> str:
        """Return a body of as many statements, which returns the last values."""
        while len(self.lines) < statements:
            text = self.statement()
            name = f"v{len(self.lines)}"
            scope = {"np": np, **{key: np.array(value)[()] for key, value in self.values.items()}}
            try:
                with np.errstate(all="ignore"):
                    exec(f"{name} = {text}", scope)
            except (TypeError, ValueError, IndexError, ZeroDivisionError, OverflowError):
                continue
            if is_tame(scope[name]):
                self.values[name] = scope[name]
                self.lines.append(f"{name} = {text}")
        return "\n".join([*self.lines, f"return {', '.join(f'v{at}' for at in range(statements))}"])

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def name(self, kind: str = "", least: int = 0) -> str:
        """Return a value's name, of late ones more often."""
        names = [
            name
            for name, value in self.values.items()
            if np.ndim(value) >= least and (not kind or np.asarray(value).dtype.kind in kind)
        ]
        some = names[-4:] if self.random.random() < 0.6 else names
        return self.pick(*some) if some else "x"

    def mask(self) -> str:
        name = self.name("fiu")
        whole = np.asarray(self.values[name]).dtype.kind != "f"
        made = f"({name} {self.pick('<', '<=', '>', '>=')} {self.pick('0', '3', '-2') if whole else self.pick(*ODD)})"
        other = f"({name} % {self.pick(2, 3)} {self.pick('==', '!=')} 1)" if whole else f"({name} > {self.pick(*ODD)})"
        return str(self.pick(made, made, f"({made} {self.pick('&', '|', '^')} {other})", f"~{made}"))

    def axis(self, name: str) -> int:
        rank = np.ndim(self.values[name])
        return self.random.randrange(-rank, rank) if rank else 0

    def statement(self) -> str:
        makers: list[Callable[[], str]] = [
            self.elementwise, self.elementwise, self.two, self.two, self.reduction, self.reduction, self.moved,
            self.moved, self.indexed, self.joined, self.product, self.chosen, self.counted, self.integers, self.scanned,
            self.written,
        ]  # fmt: skip
        return self.pick(*makers)()  # type: ignore[no-any-return]

    def elementwise(self) -> str:
        a, odd = self.name("fi"), self.pick(*ODD)
        return str(self.pick(
            f"np.exp(-np.abs({a}))", f"np.sqrt(np.abs({a}) + 1)", f"np.tanh({a})", f"np.sin({a})", f"{a} ** 2",
            f"np.square({a})", f"-{a}", f"abs({a})", f"np.sign({a} - {odd})", f"np.floor({a} + {odd})",
            f"np.maximum({a}, {odd})", f"np.clip({a}, -1, {odd})", f"1 / (1 + np.exp(-{a}))", f"{a} * {odd} + 1",
            f"np.log1p(np.abs({a}))", f"({a} - {odd}) / 3", f"np.where({self.mask()}, 1, {odd})", f"2 - {a}",
            f"np.rint({a} + {odd})", f"np.array({a}).astype(np.float64)", f"np.hypot({a}, 1)",
        ))  # fmt: skip

    def two(self) -> str:
        a, b = self.name("fi"), self.name("fi")
        return str(self.pick(
            f"{a} + {b}", f"{a} - {b}", f"{a} * {b}", f"np.maximum({a}, {b})", f"np.minimum({a}, {b})",
            f"{a} / (np.abs({b}) + 1)", f"np.logaddexp({a} / 9, {b} / 9)", f"np.subtract.outer({a}, {b})",
            f"np.array({a})[..., None] * {b}",
        ))  # fmt: skip

    def reduction(self) -> str:
        a = self.name("fi", 1)
        axis = self.pick("", f"axis={self.axis(a)}", f"axis={self.axis(a)}, keepdims=True", "keepdims=True")
        name = self.pick("sum", "sum", "mean", "max", "min", "var", "std", "ptp", "prod")
        call = f"np.{name}({a}, {axis})" if name == "ptp" or self.random.random() < 0.5 else f"{a}.{name}({axis})"
        return str(
            self.pick(call, call, call, f"np.linalg.norm({a}, axis={self.axis(a)})", f"np.trace(np.atleast_2d({a}))")
        )

    def counted(self) -> str:
        axis = self.pick("", "axis=0", "axis=-1")
        return f"np.asarray({self.mask()}).{self.pick('sum', 'sum', 'mean')}({axis})"

    def moved(self) -> str:
        a = self.name("", 1)
        at = self.axis(a)
        return str(self.pick(
            f"{a}.T", f"{a}.reshape(-1)", f"{a}.reshape(2, -1)", f"{a}[::-1]",
            f"np.roll({a}, {self.pick(1, -2, 5)}, axis={at})",
            f"np.flip({a}, {at})", f"np.expand_dims({a}, {at})", f"np.pad({a}, 1)", f"np.pad({a}, 1, mode='edge')",
            f"np.repeat({a}, 2, axis={at})", f"np.tile({a}, 2)", f"np.swapaxes({a}, 0, -1)",
            f"np.tril(np.atleast_2d({a}))",
            f"{WINDOWS}({a}, 2, axis={at})", f"np.diff({a}, axis={at})", f"{a}.ravel()[::2]",
            f"np.broadcast_to({a}, (2, *{a}.shape))",
        ))  # fmt: skip

    def indexed(self) -> str:
        a = self.name("", 1)
        return str(self.pick(
            f"{a}[1:]", f"{a}[..., :2]", f"{a}[0]", f"{a}[-1]", f"{a}[[0, -1, 1]]",
            f"{a}[np.arange(len({a})) % 2 == 0]",
            f"np.take({a}, [1, 0], axis={self.axis(a)})", f"{a}[:, None]", f"np.take({a}, [0, 3])",
        ))  # fmt: skip

    def joined(self) -> str:
        a = self.name("fi", 1)
        b = self.pick(a, self.name("fi", 1), f"{a} + 1", f"np.zeros_like({a})")
        return str(self.pick(f"np.concatenate([{a}, {b}])", f"np.stack([{a}, {b}], axis=-1)", f"np.vstack([{a}, {b}])",
                             f"np.array([{a}, {b}])", f"np.append({a}, {b})"))  # fmt: skip

    def product(self) -> str:
        a, b = self.name("fi", 1), self.name("fi", 1)
        return str(self.pick(
            f"{a} @ {b}", f"{a}.T @ {b}", f"{a} @ {a}.T", f"np.dot({a}, {b})", f"np.einsum('ij,kj->ik', {a}, {b})",
            f"np.einsum('i,j->ij', {a}, {b})", f"np.einsum('...i,...i->...', {a}, {b})", f"np.inner({a}, {b})",
            f"np.convolve({a}, [1, -2, 1], '{self.pick('full', 'same', 'valid')}')", f"np.tensordot({a}, {b}, 1)",
            f"np.outer({a}, {b})", f"np.kron({a}, [1, 2])", f"np.einsum('ij->j', {a})",
        ))  # fmt: skip

    def chosen(self) -> str:
        a, b = self.name("fi"), self.name("fi")
        return str(self.pick(
            f"np.where({self.mask()}, {a}, {b})", f"np.where({self.mask()}, {a}, 0)", f"{self.mask()} * {a}",
            f"np.argmax({a}, axis={self.axis(a)})", f"np.where(np.asarray({self.mask()}).any(axis=-1), {a}, {b})",
            f"np.select([{self.mask()}, {self.mask()}], [{a}, {b}], 2)", f"np.argmin({a})",
            f"np.asarray({self.mask()}).astype(int)",
        ))  # fmt: skip

    def integers(self) -> str:
        a, b = self.name("i"), self.name("i")
        return str(self.pick(
            f"{a} // {self.pick(3, -2, 7)}", f"{a} % {self.pick(3, -2, 7)}", f"{a} & 5", f"{a} ^ {b}",
            f"{a} | 2", f"~{a}",
            f"{a} << 1", f"{a} >> {self.pick(1, 2)}", f"{a} // ({b} ** 2 + 1)", f"{a} % (np.abs({b}) + 1)", f"{a} / 4",
            f"np.array({a}).astype(np.int8)", f"np.array({a}).astype(np.uint8)", f"np.array({a}).astype(np.int8) * 3",
            f"np.bitwise_xor.reduce(np.ravel({a}))", f"np.array({self.name('f')} * 3).astype(np.int32)",
        ))  # fmt: skip

    def scanned(self) -> str:
        a = self.name("fi", 1)
        at = self.axis(a)
        return str(self.pick(f"np.cumsum({a}, axis={at})", f"np.maximum.accumulate({a}, axis={at})", f"{a}.cumsum()",
                             f"np.add.reduceat({a}, [0, 1], axis={at})", f"np.cumsum({self.mask()})"))  # fmt: skip

    def written(self) -> str:
        a, value = self.name("fi", 1), self.pick(self.name("fi"), "2.75")
        key = self.pick("np.s_[...]", "0", "np.s_[1:]", "[0, -1]", "np.s_[::2]", f"{a} > 0.1234")
        return f"(lambda o: [o.__setitem__({key}, {value}), o][1])({a}.copy())"


def is_tame(value: Any) -> bool:
    """Say whether a value is one that is worth computing with: not too large, nor infinite."""
    some = np.asarray(value)
    if some.dtype.kind not in "fiu" or some.dtype == np.float16 or not 0 < some.size <= ELEMENTS:
        return False
    return bool(np.isfinite(some).all() and np.abs(some).max() < LARGEST)
