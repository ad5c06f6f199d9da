"""The specification that SPEC.py[:NAME] names."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from swizzle.language.specs.spec import Spec
from swizzle.sketches.loading import load_names
from symbolic.errors import SwizzleError, near


def specification_of(target: str, kernels: Sequence[str]) -> Spec | Callable[..., Any]:
    """Return the specification that FILE[:NAME] names: what has @spec, or else a plain function of the file; without a
    name the only one, or the one that is called as one of the kernels is."""
    head, colon, name = target.rpartition(":")
    path, selector = (head, name) if colon and name.isidentifier() and not Path(target).exists() else (target, None)
    names = load_names(path)
    marked = {key: each for key, each in names.items() if isinstance(each, Spec)}
    plain = {
        key: each for key, each in names.items()
        if isinstance(each, types.FunctionType) and each.__code__.co_filename == str(path) and key[0] != "_"
    }  # fmt: skip
    known: dict[str, Spec | Callable[..., Any]] = {**plain, **marked}
    if selector is not None and selector not in known:
        raise SwizzleError(
            f"{path} has no specification {selector}",
            expected=f"one of {', '.join(known)}" if known else "a function that gives the outputs",
            fix=near(selector, known) or f"define {selector}",
        )
    if selector is not None:
        return known[selector]
    some = marked or plain
    chosen = list(some) if len(some) == 1 else [key for key in some if key in kernels]
    if len(chosen) != 1:
        raise SwizzleError(
            f"{path} has {len(some)} specifications{': ' if some else ''}{', '.join(some)}",
            expected="one, or one with the kernel's name",
            fix=f"name it: {path}:{next(iter(some), 'NAME')}",
        )
    return some[chosen[0]]
