"""Terms gone through from their leaves up, or from a root on, however deep they are.

Python's stack ends after a thousand of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
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


def reached(start: Iterable[Node], more: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Yield nodes, those that each of them leads to, those that these lead to, and so on, each once.

    >>> sorted(reached([10], lambda n: [n // 2, n // 3]))
    [0, 1, 2, 3, 5, 10]
    """
    pending = list(dict.fromkeys(start))
    seen = set(pending)
    while pending:
        node = pending.pop()
        yield node
        new = [each for each in dict.fromkeys(more(node)) if each not in seen]
        seen.update(new)
        pending += new


@contextmanager
def deep_stack() -> Iterator[None]:
    """Let Python's stack be deep enough for the calls of a bounded recursion."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
