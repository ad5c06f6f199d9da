"""The second reading of asynchronous copies: which of them arrive at a wait, thread by thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from msgspec import Struct

M = TypeVar("M")


class Begun(Struct, Generic[M]):
    """An element that threads have begun to copy: those for which it is under way, with their groups."""

    write: M
    groups: dict[int, int]


class CopyGroups(Generic[M]):
    """The copies of all threads; a thread's groups are numbered in order, the last one is still being filled."""

    def __init__(self, threads: int) -> None:
        self._filled = [0] * threads
        self._begun: list[Begun[M]] = []

    def begin(self, write: M) -> None:
        """Add a copy to the group that each thread is filling."""
        self._begun.append(Begun(write, dict(enumerate(self._filled))))

    def commit(self, threads: Any) -> None:
        """Begin a new group for some threads."""
        for t in threads:
            self._filled[t] += 1

    def wait(self, left: int, threads: Any) -> Iterator[tuple[M, frozenset[int]]]:
        """Yield what arrives in the order in which it was begun, each with the threads for which it does."""
        for copy in self._begun:
            there = frozenset(t for t in threads if copy.groups.get(t, self._filled[t]) < self._filled[t] - left)
            for t in there:
                del copy.groups[t]
            if there:
                yield copy.write, there
        self._begun = [copy for copy in self._begun if copy.groups]
