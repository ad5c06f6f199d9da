"""What a layout says of itself: formulas against its steps, cell by cell; CuTe's and TMA's words against their own."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swizzle import layouts
from swizzle.layouts.layout import Layout, agrees, linear
from swizzle.layouts.steps import FlipBits, FlipRun, Listed, Pad, Rotate, Step, swizzle


@st.composite
def any_layout(draw: st.DrawFn) -> Layout:
    """A tile of up to three axes in any order, under up to three steps."""
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 4, 5, 8, 12, 16]), min_size=1, max_size=3)))
    order = tuple(draw(st.permutations(range(len(shape)))))
    pitch, steps = shape[order[-1]], list[Step]()
    if draw(st.booleans()):
        by = draw(st.integers(1, 5))
        steps.append(Pad(pitch, by))
        pitch += by
    if draw(st.booleans()):
        steps.append(Rotate(pitch, draw(st.integers(0, pitch - 1)), draw(st.integers(0, 4)), draw(st.integers(1, 4))))
    if draw(st.booleans()):
        columns = tuple(draw(st.integers(0, (1 << j) - 1)) for j in range(draw(st.integers(0, 9))))
        steps.append(FlipBits(columns))
    if draw(st.booleans()):
        steps.append(FlipRun(draw(st.integers(1, 6)), draw(st.booleans())))
    if draw(st.booleans()):
        steps.append(Pad(draw(st.integers(1, 40)), draw(st.integers(1, 9))))
    return Layout(shape, 32, order, tuple(steps))


@settings(deadline=None)
@given(any_layout())
def test_the_formula_gives_what_the_steps_give(layout: Layout) -> None:
    """At every cell, as Python; no two cells share an address; the bytes are those of the last one."""
    table = layout.table()
    assert agrees(layout)
    cells = dict(zip(layout.names, np.indices(layout.shape), strict=True))
    assert (eval(layout.formula, cells) == table).all()
    assert layout.cell(*(n - 1 for n in layout.shape)) == table.reshape(-1)[-1]
    assert layout.bytes == 4 * (table.max() + 1)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_the_device_function_gives_what_the_steps_give(tmp_path: Path) -> None:
    """Compiled by a host compiler, with every warning an error: a pad, a turn, flipped bits, tables, three axes."""
    table = tuple(np.random.default_rng(0).permutation(63).tolist())
    some = [
        layouts.padded((24, 36), 37),
        layouts.rotated((12, 20), 3),
        layouts.swizzled((64, 64), 3, 2, 6),
        layouts.xored((24, 36), [0, 1, 2, 5, 0, 7, 3, 64]),
        Layout((7, 9), 32, (0, 1), (Listed(table),)),
        *(Layout((96,), 32, (0,), (FlipRun(5, ones),)) for ones in (True, False)),
        Layout((4, 6, 8), 32, (2, 0, 1), (Rotate(6, 5, 3, 2), Pad(12, 3))),
        layouts.row_major((1, 5)),
    ]
    text = "#define __device__\n#define __forceinline__ inline\n#define __constant__ static const\n#include <cstdio>\n"
    body = ""
    for number, layout in enumerate(some):
        text += layout.cuda(f"cell{number}")
        loops = "".join(
            f"for (unsigned {x} = 0; {x} < {n}; ++{x}) " for x, n in zip(layout.names, layout.shape, strict=True)
        )
        body += f'{loops}std::printf("%u ", cell{number}({", ".join(layout.names)}));\n'
    (tmp_path / "cells.cpp").write_text(text + f"int main() {{ {body} }}")
    command = ["g++", "-Wall", "-Wextra", "-Werror", "-Wno-parentheses", "cells.cpp", "-o", "cells"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printed = subprocess.run(["./cells"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert list(map(int, printed.split())) == [x for layout in some for x in layout.table().reshape(-1).tolist()]


def cute_value(text: str, cell: tuple[int, ...]) -> int:
    """Return what CuTe's layout gives at a cell: strides, then Swizzle<B, M, S> as it defines it."""
    strides = [int(each) for each in re.findall(r"_(\d+)", text[text.index("Stride") :])]
    address = sum(x * stride for x, stride in zip(cell, strides, strict=True))
    match = re.search(r"Swizzle<(\d+),(\d+),(\d+)>", text)
    if match:
        b, m, s = map(int, match.groups())
        address ^= (address & ((1 << b) - 1) << m + s) >> s
    return address


@settings(deadline=None, max_examples=40)
@given(st.sampled_from([(8, 64), (5, 7), (16, 32), (64, 8)]), st.booleans(), st.integers(0, 3), st.data())
def test_cute(shape: tuple[int, int], columns: bool, pad: int, data: st.DataObject) -> None:
    """The text in CuTe's words is the layout, cell by cell."""
    order = (1, 0) if columns else (0, 1)
    steps: tuple[Step, ...] = (Pad(shape[order[-1]], pad),) if pad else ()
    if data.draw(st.booleans()):
        b = data.draw(st.integers(1, 3))
        steps += (swizzle(b, data.draw(st.integers(0, 3)), data.draw(st.integers(b, 5))),)
    layout = Layout(shape, 16, order, steps)
    assert layout.cute is not None
    table = layout.table()
    assert all(cute_value(layout.cute, cell) == table[cell] for cell in np.ndindex(shape))


def test_what_cute_cannot_write() -> None:
    """Turned rows, other bit matrices, pads between several rows, and tables are None."""
    pads = Layout((8, 8), 32, (0, 1), (Pad(16, 1),))
    for layout in (layouts.rotated((8, 8)), layouts.xored((8, 8), [0, 0, 0, 5, 2, 1]), pads):
        assert layout.cute is None and layout.tma is None


@pytest.mark.parametrize("mode, b", [("32B", 1), ("64B", 2), ("128B", 3)])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_tma(mode: str, b: int, bits: int) -> None:
    """A mode exchanges 16-byte chunks by the number of the 128-byte line they are in, over bytes: Swizzle<B, 4, 3>."""
    row = 8 * int(mode[:-1]) // bits
    scale = (bits // 8).bit_length() - 1
    layout = layouts.swizzled((16, row), b, 4 - scale, 3, bits)
    assert layout.tma == mode
    offset = np.arange(16 * row * bits // 8)
    chunk = offset ^ ((offset >> 7 & ((1 << b) - 1)) << 4)  # bits 4 ... of a byte's offset by bits 7 ... of it
    assert (layout.table().reshape(-1) * bits // 8 == chunk[:: bits // 8]).all()
    assert layouts.swizzled((16, 2 * row), b, 4 - scale, 3, bits).tma != mode
    assert layouts.row_major((16, row), bits).tma == "NONE"


@pytest.mark.parametrize(
    "layout, instructions",
    [
        (layouts.row_major((32, 32)), 1),
        (layouts.padded((32, 32), 33), 1),
        (layouts.swizzled((32, 32), 5, 0, 5), 2),
        (layouts.swizzled((64, 64), 3, 2, 6), 2),
        (layouts.swizzled((8, 64), 2, 3, 3), 3),
        (layouts.rotated((24, 36)), 5),
        (layouts.rotated((32, 32), 3), 3),
    ],
)
def test_instructions(layout: Layout, instructions: int) -> None:
    """IMAD and LOP3 are one each; a remainder by 36 is three."""
    assert layout.instructions == instructions


def test_how_layouts_show_themselves() -> None:
    """In a word, as text, and as a figure with a bank on each cell."""
    layout = layouts.padded((4, 32), 33)
    assert repr(layout) == "<Layout 4x32 of 32 bits, pad: r * 33 + c>"
    assert layout.banks()[3].tolist() == [(3 + c) % 32 for c in range(32)]
    figure = layout._repr_html_()
    assert figure.startswith("<svg") and figure.count("<rect") == 4 * 32
    assert linear((2, 3), (1, 0)).tolist() == [[0, 2, 4], [1, 3, 5]]


def test_what_a_notebook_shows() -> None:
    """Text and figure: an answer before and after, who holds the cells of a distribution, a conversion's both ends."""
    answer = layouts.best((4, 32), [layouts.rows(), layouts.columns()])
    shown = answer._repr_html_()
    assert shown is not None and shown.startswith("<pre>") and ">row-major<" in shown
    assert shown.count("<rect") == 2 * 4 * 32 and answer.proof in shown
    some = layouts.distribution(
        lambda register, lane: (register, lane) if lane < 3 else None, registers=2, shape=(2, 4)
    )
    assert some.holders().tolist() == [[0, 1, 2, -1]] * 2 and some._repr_html_().count("<rect") == 6
    conversion = layouts.convert("a | b c d e f", "b | a c d e f", bits=32)
    assert conversion._repr_html_().count("<rect") == 2 * 64 and "clocks" in conversion._repr_html_()
