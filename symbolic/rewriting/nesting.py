"""Which parallel maps may stand in which: the hierarchy of a GPU's grid.

A block stands in no other parallel map, but for a block along another axis; local threads and warps stand in a block,
lanes in a warp, and global threads in nothing. No kind stands twice along one axis. Shared memory belongs to a block,
and registers to a thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from symbolic.patterns.terms import MAPS, MEMORIES, PARALLEL, Map, MapKind, MemorySpace, PatternNode, ToMemory, children

Nest: TypeAlias = tuple[tuple[MapKind, str], ...]
"""The parallel maps around a place, the outermost first: kind and axis."""

_INSIDE: Final[Mapping[MapKind, tuple[frozenset[MapKind], frozenset[MapKind]]]] = {
    "global": (frozenset(), frozenset({"global"})),
    "block": (frozenset(), frozenset({"block"})),
    "local": (frozenset({"block"}), frozenset({"block", "local"})),
    "warp": (frozenset({"block"}), frozenset({"block", "warp"})),
    "lane": (frozenset({"warp"}), frozenset({"block", "warp"})),
}
"""Of each kind: what has to be around it, and what may be."""


def with_map(nest: Nest, node: PatternNode) -> Nest:
    """Return the parallel maps around what a node applies its function to."""
    return (*nest, (node.kind, node.axis)) if isinstance(node, Map) and node.kind in PARALLEL else nest


def fault(kind: MapKind, axis: str, nest: Nest) -> str:
    """Return what is wrong with a parallel map inside others, '' where nothing is."""
    around = {each for each, _ in nest}
    needed, allowed = _INSIDE[kind]
    if (kind, axis) in nest:
        return f"{MAPS[kind]} along {axis} inside another one"
    if beyond := sorted(around - allowed):
        return f"{MAPS[kind]} inside {MAPS[beyond[0]]}"
    if missing := sorted(needed - around):
        return f"{MAPS[kind]} outside {MAPS[missing[0]]}"
    return ""


def memory_fault(memory: MemorySpace, nest: Nest, inside: Sequence[MapKind]) -> str:
    """Return what is wrong with a memory; `inside` are the kinds of the parallel maps whose results it keeps."""
    around = {each for each, _ in nest}
    if memory == "shared" and "block" not in around:
        return f"{MEMORIES[memory]} outside map_block"
    if memory == "registers" and not around & {"local", "lane", "global"} and not {"local", "lane"} & {*inside}:
        return f"{MEMORIES[memory]} outside a thread"
    return ""


def faults(node: PatternNode, nest: Nest = ()) -> Iterator[tuple[PatternNode, str]]:
    """Yield every node that stands where it may not, with the reason."""
    if isinstance(node, Map) and node.kind in PARALLEL:
        why = fault(node.kind, node.axis, nest)
        if why:
            yield node, why
    if isinstance(node, ToMemory):
        kinds = [node.array.kind] if isinstance(node.array, Map) else []
        why = memory_fault(node.memory, nest, kinds)
        if why:
            yield node, why
    for place, each in enumerate(children(node)):
        yield from faults(each, with_map(nest, node) if place == 0 else nest)
