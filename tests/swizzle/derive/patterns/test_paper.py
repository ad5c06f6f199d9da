"""The paper's figures and programs: what they lead to is lowered as it stands, and equal to the specification."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from swizzle import SwizzleError, f32, gather, i32, math, maximum, where
from swizzle.answers.hosts.lengths import composed
from swizzle.answers.hosts.running import filled_host
from swizzle.commands.hosts import without_holes
from swizzle.derive.patterns import add, derivation, join, let, map, mul, reduce, slide, split, transpose, zip
from swizzle.derive.patterns.declared import DeclaredDerivation
from swizzle.derive.patterns.deriving import lowered
from swizzle.derive.patterns.launches import LoweringRequest, at_lengths, kernels, type_at
from swizzle.derive.patterns.written import file_text, spec_text
from swizzle.language.specs.spec import user_function
from swizzle.language.specs.verify import verify
from swizzle.sketches.loading import SketchFile
from symbolic.patterns.terms import Term, term
from symbolic.patterns.types import Typing, ValueType
from symbolic.rewriting.derivation import PatternDerivation
from tests.symbolic.rewriting import figures


def is_equal(name: str, text: str) -> bool:
    """Tell whether the kernels of a file are their specification, for all inputs."""
    file = SketchFile(f"{name}.py", text)
    made = file.instance({})
    if name in made.hosts:
        return not composed(filled_host(made.hosts[name], without_holes)).findings
    file.load(name, {})  # a mistake in it is told
    found = verify(made.sketches[name].program, made.sketches[name].spec)
    return not (found.violations or found.mismatches)


def text_of(made: Term, types: dict[str, ValueType], spec: Callable[..., Any], **more: Any) -> str:
    of = user_function(spec)
    assert of is not None
    name, text = spec_text(of, Typing().type_of(made, types), ["kernel"])
    return file_text("a kernel", of, text, kernels(LoweringRequest("kernel", made, types, {}, **more), name))


def asum(x):
    return [sum(abs(v) for v in x)]


def scaled(x):
    return [v * 3 for v in x]


def last(made: PatternDerivation) -> PatternDerivation:
    del made.expressions[:-1]
    return made


def vectors(made: PatternDerivation) -> PatternDerivation:
    made.apply("vectorise_part", width=4).apply("vectorise", at="abs", width=4).apply("vector_scalar_id")
    return figures.chunks(made, 64)


def begun(size: int) -> PatternDerivation:
    return figures.begun(figures.ASUM, x="f32[n]").apply("reduce_part", parts=f"n / {size}")


@pytest.mark.parametrize(
    "made, lengths, spec",
    [
        (lambda: last(figures.figure_2()), {"n": 2048}, scaled),
        (figures.figure_8, {"n": 64, "s": 8}, asum),
        (lambda: last(figures.threads(figures.chunks(begun(256), 256), 32, 8)), {"n": 512}, asum),
        (lambda: last(figures.threads(vectors(begun(64)), 32, 2)), {"n": 512}, asum),
        (lambda: last(figures.figure_9c(16)), {"n": 128}, asum),
        (lambda: last(figures.figure_9b()), {"n": 2048}, asum),
        pytest.param(lambda: last(figures.figure_9c()), {"n": 32768}, asum, marks=pytest.mark.slow),
    ],
    ids=["2", "8", "9a", "9b", "9c", "9b as it is", "9c as it is"],
)
def test_every_expression_of_a_figure_is_proved_as_it_stands(
    made: Callable[[], PatternDerivation], lengths: dict[str, int], spec: Callable[..., Any]
) -> None:
    derived = made()
    types = {name: type_at(kind, lengths) for name, kind in derived.inputs.items()}
    for expression in derived.expressions:
        assert is_equal("kernel", text_of(term(at_lengths(expression, lengths)), types, spec))


# ---- programs ----------------------------------------------------------------------------------------------------


def dot(u, v):
    return reduce(add, map(mul, u, v), 0)


def scal(a, x):
    return map(lambda v: a * v, x)


def black_scholes(spot, strike, years, rate, volatility):
    def price(s, k, t):
        deviation = volatility * math.sqrt(t)
        d1 = (math.log(s / k) + (rate + volatility * volatility / 2) * t) / deviation
        d2 = d1 - deviation
        discounted = k * math.exp(-rate * t)
        call = 0.5 * (s * math.erfc(-0.7071067811865475 * d1) - discounted * math.erfc(-0.7071067811865475 * d2))
        return call, call - s + discounted

    return map(price, spot, strike, years)


def md(px, py, neighbours, cutoff, a, b):
    def force(x, y, i):
        dx, dy = x - gather(px, i), y - gather(py, i)
        r2 = dx * dx + dy * dy
        r6 = 1 / r2 * (1 / r2) * (1 / r2)
        return where(r2 < cutoff, 1 / r2 * r6 * (a * r6 - b), 0)

    return map(lambda x, y, near: reduce(add, map(lambda i: force(x, y, i), near), 0), px, py, neighbours)


def softmax(x):
    def row(r):
        return let(
            reduce(lambda a, b: maximum(a, b), r, -math.inf),
            lambda most: let(
                map(lambda v: math.exp(v - most), r),
                lambda powers: let(reduce(add, powers, 0), lambda total: map(lambda p: p / total, powers)),
            ),
        )

    return map(row, x)


def convolved(x, w):
    return map(lambda window: dot(window, w), slide(3, 1, x))


def convolved_2d(x, w):
    windows = map(transpose, slide(3, 1, map(lambda r: slide(3, 1, r), x)))
    return map(lambda row: map(lambda window: dot(join(window), join(w)), row), windows)


def product(A, B):
    return map(lambda row: map(lambda column: dot(row, column), transpose(B)), A)


@derivation(spec=scal, a=f32.scalar, x=f32["n"], n=256)
def scal_kernel(d):
    d.split(128).to_blocks().to_threads()


@derivation(spec=black_scholes, spot=f32["n"], strike=f32["n"], years=f32["n"], rate=f32.scalar,
            volatility=f32.scalar, n=64, threads=32, out=("calls", "puts"))  # fmt: skip
def black_scholes_kernel(d):
    d.to_grid()


@derivation(spec=md, px=f32["n"], py=f32["n"], neighbours=i32.below(64)["n", 4], cutoff=f32.scalar, a=f32.scalar,
            b=f32.scalar, n=64, threads=32)  # fmt: skip
def md_kernel(d):
    d.to_grid()


@derivation(spec=softmax, x=f32["m", "n"], m=8, n=6, threads=4)
def softmax_kernel(d):
    d.to_grid()


@derivation(spec=convolved, x=f32["n + 2"], w=f32.const[3], n=32)
def convolved_kernel(d):
    d.tiles(16).to_blocks().cached().to_threads()


@derivation(spec=convolved_2d, x=f32["m + 2", "n + 2"], w=f32.const[3, 3], m=8, n=16, threads=(8, 4))
def convolved_2d_kernel(d):
    d.to_grid("y").to_grid("x")


@derivation(spec=product, A=f32["m", "k"], B=f32["k", "n"], m=8, n=16, k=4, threads=(8, 4))
def product_kernel(d):
    d.to_grid("y").to_grid("x")


def tiles(A, B):
    """Tiles of 4 by 4, k in chunks of 2; the sums of a tile are updated together."""

    def block_row(a):
        def block(b):
            def step(sums, chunk):
                def thread_row(own, r):
                    def thread(s, c):
                        return reduce(add, map(mul, r, c), s)

                    return map(thread, own, chunk[1])

                return map(thread_row, sums, chunk[0])

            chunks = zip(transpose(map(lambda r: split(2, r), a)), transpose(map(lambda r: split(2, r), b)))
            return reduce(step, chunks, map(lambda r: map(lambda c: 0.0, b), a))

        return map(block, split(4, transpose(B)))

    return join(map(lambda row: map(join, transpose(row)), map(block_row, split(4, A))))


@derivation(spec=product, start=tiles, A=f32["m", "k"], B=f32["k", "n"], m=8, n=8, k=4)
def tiled_kernel(d):
    d.at("block_row").to_blocks("y")
    d.at("block").to_blocks("x")
    d.at("thread_row").to_threads("y")
    d.at("thread").to_threads("x")
    d.at("step").cached(place=0).cached(place=1)


PROGRAMS = (
    tiled_kernel,
    scal_kernel, black_scholes_kernel, md_kernel, softmax_kernel, convolved_kernel, convolved_2d_kernel, product_kernel
)  # fmt: skip


@pytest.mark.parametrize("declared", PROGRAMS, ids=lambda declared: declared.name)
def test_programs_are_proved(declared: DeclaredDerivation) -> None:
    made = lowered(declared, declared.derived())
    assert is_equal(declared.name, made.text)


def test_what_is_wrongly_nested_or_shared_is_refused() -> None:
    """A barrier that some threads do not reach, a block in threads, another thread's register."""

    def windows(x):
        return map(lambda window: reduce(add, window, 0), slide(3, 1, x))

    @derivation(spec=windows, x=f32[34], threads=64)
    def register(d):
        d.tiles(32).to_blocks().cached("registers").to_threads()

    with pytest.raises(SwizzleError, match="another thread's"):
        lowered(register, register.derived())
