"""Operators of scans and reductions: found from serial loops, judged where they are given, their laws proved."""

from swizzle.operators.find import Found, operator_of
from swizzle.operators.judge import judged

__all__ = ["Found", "judged", "operator_of"]
