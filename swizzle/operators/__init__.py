"""Operators of scans and reductions: found from serial loops, judged where they are given, their laws proved."""

from swizzle.operators.derived import DerivedOperator, found_of, product, reversed, segmented
from swizzle.operators.find import Found, operator_of
from swizzle.operators.judge import judged

__all__ = ["DerivedOperator", "Found", "found_of", "judged", "operator_of", "product", "reversed", "segmented"]
