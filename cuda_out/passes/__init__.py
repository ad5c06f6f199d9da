"""Rewrites of a program without holes, each a function from Program to Program that keeps what it computes."""

from __future__ import annotations

from cuda_out.passes.dead import drop_dead
from cuda_out.passes.distribute import distribute
from cuda_out.passes.finals import inline_finals
from cuda_out.passes.shuffles import legal_shuffles
from cuda_out.passes.simplify import simplify
from symbolic.program import Program

__all__ = ["distribute", "drop_dead", "inline_finals", "legal_shuffles", "optimize", "simplify"]


def optimize(program: Program) -> Program:
    """Return the same program made ready for a GPU: simple indices, arrays in registers, nothing dead."""
    assert not program.holes, "only programs without holes are optimized"
    for rewrite in (inline_finals, legal_shuffles, simplify, distribute, simplify, drop_dead):
        program = rewrite(program)
    return program
