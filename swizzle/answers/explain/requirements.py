"""What a filling of a sketch's holes must meet, in parts that can be dropped one by one."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from symbolic.ir.sites import Site
from symbolic.machine.run import Violation
from templates.holes import Point


class Right(Struct, frozen=True):
    """An output is what the specification says: its number among the problem's outputs."""

    output: int


class Obeys(Struct, frozen=True):
    """A hole is a function of its template."""

    hole: int


class ObeysAt(Struct, frozen=True):
    """A hole has, at one point, the value that a function of its template has there."""

    hole: int
    point: Point


class Ignores(Struct, frozen=True):
    """A hole depends on its own arguments alone."""

    hole: int


class IgnoresAt(Struct, frozen=True):
    """A hole has, at one point of all its arguments, the value that its own arguments give."""

    hole: int
    point: Point


class Kept(Struct, frozen=True):
    """A rule is kept by one statement or expression (by two accesses, for a race), in all its executions."""

    nodes: frozenset[Site]
    rule: str


Requirement: TypeAlias = "Right | Obeys | ObeysAt | Ignores | IgnoresAt | Kept"


def rule_of(violation: Violation) -> Kept:
    """Return the rule that a violation breaks."""
    if violation.other is not None:
        return Kept(frozenset((violation.key[0], violation.other[0][0])), "race")
    return Kept(frozenset((violation.key[0],)), str(violation.key[-1]))
