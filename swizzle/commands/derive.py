"""`swizzle derive`: what rewrite rules of patterns derive."""

from __future__ import annotations

from contextlib import redirect_stdout
from typing import TextIO

from msgspec import Struct

from swizzle.commands.bounds import Bounds
from swizzle.commands.rules import show_rules
from symbolic.errors import SwizzleError


class DeriveArguments(Struct, frozen=True):
    """`swizzle derive`."""

    rules: bool = False
    json_object: bool = False
    quiet: bool = False
    timeout: float | None = None
    memory: int | None = None


def derive(arguments: DeriveArguments, out: TextIO, err: TextIO) -> int:
    """Prove the rewrite rules, and show them."""
    if not arguments.rules:
        raise SwizzleError("nothing to derive", expected="--rules", fix="swizzle derive --rules")
    with redirect_stdout(err), Bounds(arguments.timeout, arguments.memory).hold():
        return show_rules(arguments.json_object, out)
