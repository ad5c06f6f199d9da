"""Terms gone through from their leaves up, however deep they are: Python's stack ends after a thousand of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

Node = TypeVar("Node")
Made = TypeVar("Made")
DEEP: Final = 10_000
"""As many of Python's frames may be within each other while a function is interpreted."""


def bottom_up(
    root: Node,
    arguments: Callable[[Node], Sequence[Node]],
    make: Callable[[Node, list[Made]], Made],
    known: dict[Node, Made] | None = None,
) -> Made:
    """Return what `make` makes of a node and of what it made of the node's arguments, each node once.

    `known` has what is made already, and gets the rest.

    >>> bottom_up(3, lambda n: [n - 1] * (n > 0), lambda n, below: n + sum(below))
    6
    """
    known = {} if known is None else known
    pending = [root]
    while pending:
        node = pending[-1]
        if node in known:
            pending.pop()
            continue
        inner = arguments(node)
        missing = [each for each in inner if each not in known]
        if missing:
            pending.extend(reversed(missing))
            continue
        pending.pop()
        known[node] = make(node, [known[each] for each in inner])
    return known[root]


@contextmanager
def deep_stack() -> Iterator[None]:
    """Let Python's stack be deep enough for the calls of a bounded recursion."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
