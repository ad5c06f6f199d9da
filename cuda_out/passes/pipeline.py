"""Rewrites of a program without holes: each is a function from Program to Program that keeps what it computes."""

from __future__ import annotations

from collections.abc import Callable

from cuda_out.passes.barrel import rotate_registers
from cuda_out.passes.distribute import distribute
from cuda_out.passes.packed_words import write_out_words
from cuda_out.passes.permutations import split_permutations
from cuda_out.passes.references import plain_coordinates, reuse_names, see_through_names, separate_names, steady_first
from cuda_out.passes.share import merge_copies, share_values
from cuda_out.passes.shuffles import legal_shuffles, plain_lanes
from cuda_out.passes.simplify import drop_dead, inline_finals, reduce_strength, simplify
from cuda_out.passes.vectors import vectorize
from symbolic.ir.program import Program

_ORDER: tuple[Callable[[Program], Program], ...] = (
    inline_finals,
    separate_names,
    plain_coordinates,
    legal_shuffles,
    simplify,
    split_permutations,
    rotate_registers,
    distribute,
    simplify,
    see_through_names,
    steady_first,
    plain_lanes,
    write_out_words,
    vectorize,
    reuse_names,
    share_values,
    reuse_names,
    drop_dead,
    merge_copies,
    reduce_strength,
)


def optimize(program: Program) -> Program:
    """Return the same program prepared for a GPU: simple indices, arrays in registers, no dead code."""
    assert not program.holes, "only programs without holes are optimized"
    for rewrite in _ORDER:
        program = rewrite(program)
    return program
