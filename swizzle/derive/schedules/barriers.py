"""Barriers between what threads store in shared memory and what others load there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

BARRIER = "cuda.syncthreads()"


class KernelLine(Struct, frozen=True):
    """A line of a kernel, with the shared tiles that it loads from and stores to."""

    text: str
    loads: frozenset[str] = frozenset()
    stores: frozenset[str] = frozenset()


class NestedLines(Struct, frozen=True):
    """A loop: the line that begins it, and what is inside."""

    head: str
    body: tuple[KernelItem, ...]


KernelItem: TypeAlias = "KernelLine | NestedLines"


class Pending(Struct, frozen=True):
    """What was loaded and stored since the last barrier."""

    loads: frozenset[str] = frozenset()
    stores: frozenset[str] = frozenset()

    def __or__(self, other: Pending | KernelLine) -> Pending:
        return Pending(self.loads | other.loads, self.stores | other.stores)

    def conflicts(self, item: KernelItem) -> bool:
        """Say whether what an item does before its first barrier has to wait.

        A tile is stored by one statement, of which each thread stores its own elements again, so that stores do not
        wait for stores.
        """
        early = exposed([item])[0]
        return bool(self.stores & early.loads or self.loads & early.stores)


def exposed(items: Sequence[KernelItem]) -> tuple[Pending, bool]:
    """Return what items load and store before their first barrier, and whether there is none."""
    seen = Pending()
    for item in items:
        if isinstance(item, KernelLine):
            if item.text == BARRIER:
                return seen, False
            seen |= item
        else:
            inside, through = exposed(item.body)
            seen |= inside
            if not through:
                return seen, False
    return seen, True


def with_barriers(items: Sequence[KernelItem]) -> tuple[KernelItem, ...]:
    """Return a kernel's lines with barriers where threads may need what others stored, or may overwrite it.

    Each stands as far outside as it can. That they suffice follows from the text alone; which of them are needed is
    for a proof to say.
    """
    return _placed(items, Pending())[0]


def _placed(items: Sequence[KernelItem], pending: Pending) -> tuple[tuple[KernelItem, ...], Pending]:
    made: list[KernelItem] = []
    for item in items:
        if pending.conflicts(item):
            made.append(KernelLine(BARRIER))
            pending = Pending()
        if isinstance(item, KernelLine):
            pending = Pending() if item.text == BARRIER else pending | item
            made.append(item)
        else:
            body, after = _placed(item.body, pending)
            body, after = _placed(body, pending | after)  # the next trip comes after this one
            made.append(NestedLines(item.head, body))
            pending = after
    return tuple(made), pending


def rendered(items: Sequence[KernelItem], depth: int = 1) -> list[str]:
    """Return the lines of a kernel, indented."""
    pad, made = "    " * depth, []
    for item in items:
        if isinstance(item, KernelLine):
            made.append(pad + item.text)
        else:
            made += [pad + item.head, *(rendered(item.body, depth + 1) or [f"{pad}    pass"])]
    return made
