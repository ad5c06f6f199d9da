"""From an expression with sizes to the text of its kernels: where a kernel ends, how many blocks and threads it has.

A kernel ends where what blocks have made is used by something that is not the same block's: the rest is another kernel,
and a host function launches both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from swizzle.derive.patterns.kernel_text import MOST_THREADS, WARP, KernelShape, wrapped
from swizzle.derive.patterns.lowering import LoweredKernel
from swizzle.derive.patterns.scope import PatternScope, element_of, extents, only_moves
from swizzle.derive.patterns.views import cells, number, together, view_of
from symbolic.errors import Place, SwizzleError
from symbolic.expressions.expression import constant
from symbolic.ir.python_text import shape_text
from symbolic.ir.walk import FreshNames
from symbolic.patterns import terms as t
from symbolic.patterns.lengths import length_at
from symbolic.patterns.terms import PatternNode, Term, children, free, operand_of, sizes_of, term, walk, with_children
from symbolic.patterns.types import ArrayOf, NumberOf, TupleOf, Typing, ValueType, array_of
from symbolic.rewriting.derivation import positions

GRID: Final = ("block", "global")
MOVING: Final = (t.JoinChunks, t.AsScalar, t.Split, t.Transpose, t.Reorder, t.ReorderStride)


class LoweringRequest(Struct, frozen=True):
    """What is to be lowered: an expression whose lengths are numbers, and what the user has said beside it."""

    name: str
    term: Term
    types: Mapping[str, ValueType]
    declared: Mapping[str, str]
    """How a sketch declares an input's elements, where that is more than their type: `i32.below(64)`."""
    outputs: Sequence[str] = ()
    threads: Mapping[str, int] = {}
    holes: frozenset[str] = frozenset()
    place: Place | None = None


class LoweredKernels(Struct, frozen=True):
    """The text of kernels, without their specification: `spec` stands where its name goes."""

    text: str
    names: tuple[str, ...]
    host: bool


def at_lengths(node: PatternNode, lengths: Mapping[str, int]) -> PatternNode:
    """Return a term whose lengths are numbers."""
    node = with_children(node, [at_lengths(each, lengths) for each in children(node)])
    return replace(node, **{name: constant(length_at(size, lengths)) for name, size in sizes_of(node).items()})


def lengths_in(node: PatternNode) -> frozenset[str]:
    """Return the names of lengths in a term's own sizes."""
    return frozenset().union(*(size.names for each in walk(node) for size in sizes_of(each).values()))


def type_at(kind: ValueType, lengths: Mapping[str, int]) -> ValueType:
    """Return a type whose lengths are numbers."""
    match kind:
        case ArrayOf():
            return ArrayOf(constant(length_at(kind.length, lengths)), type_at(kind.element, lengths))
        case TupleOf():
            return TupleOf(tuple(type_at(each, lengths) for each in kind.items))
    return kind


def kernels(asked: LoweringRequest, spec: str, known: Iterable[str] = ()) -> LoweredKernels:
    """Return the text of the kernels of an expression, and of a host function where there are several.

    Kernels of a host function are called otherwise than the names that are known.
    """
    own_names, taken = FreshNames(known), FreshNames(asked.types)
    kind = Typing().type_of(asked.term, asked.types)
    outputs = _outputs(asked, kind, taken)
    cut = _Cut(taken)
    last = cut.cut(asked.term)
    if not cut.handed:
        text = _kernel_text(asked, asked.name, last, asked.types, outputs, own_names, spec)
        return LoweredKernels(text, (asked.name,), False)
    texts, launches, names, types = [], [], [], dict(asked.types)
    scratch = []
    for at, (name, inner) in enumerate((*cut.handed.items(), ("", last)), 1):
        made = Typing().type_of(inner, types)
        out = outputs if not name else _arrays(name, made)
        for each, kind in out.items() if name else ():
            sizes, dtype = shape_text(extents(kind)), _dtype(element_of(kind), asked)
            scratch.append(f"    {each} = cuda.device_array({sizes}, {dtype})")
        own = own_names.take(f"{asked.name}_{at}")
        used = {each: kind for each, kind in types.items() if each in free(inner)}
        texts.append(_kernel_text(asked, own, inner, used, out, own_names))
        launches.append(f"    {own}({', '.join([*_flat(used), *out])})")
        names.append(own)
        if name:
            types[name] = made
    given = [(each, _declared(asked, each, kind)) for each, kind in asked.types.items()]
    given += [(each, _array(kind, asked, "out")) for each, kind in outputs.items()]
    head = wrapped("@host(", [f"spec={spec}", *(f"{own}={text}" for own, text in given)])
    body = [f"def {asked.name}({', '.join(own for own, _ in given)}):", *scratch, *launches, ""]
    return LoweredKernels("\n\n".join([*texts, "\n".join([*head, *body])]), tuple(names), True)


def _outputs(asked: LoweringRequest, kind: ValueType, taken: FreshNames) -> dict[str, ValueType]:
    """Return the outputs by name: an array, or one for each item of tuples; a number is an array of one."""
    element, shape = element_of(kind), extents(kind)
    items = element.items if isinstance(element, TupleOf) else (element,)
    if any(isinstance(each, TupleOf) for each in items):
        raise SwizzleError(
            f"a result of {element}", place=asked.place, expected="numbers, or a tuple of numbers",
            fix="return one tuple, without tuples in it",
        )  # fmt: skip
    names = list(asked.outputs) or (["y"] if len(items) == 1 else [f"y{at}" for at in range(len(items))])
    if len(names) != len(items):
        raise SwizzleError(
            f"{len(names)} outputs named, of {len(items)}",
            place=asked.place,
            expected="a name for each",
            fix="out=(...)",
        )
    found = {}
    for name, item in zip(names, items, strict=True):
        made: ValueType = item
        for extent in reversed(shape or (1,)):
            made = ArrayOf(constant(extent), made)
        found[taken.take(name)] = made
    return found


def _arrays(name: str, kind: ValueType) -> dict[str, ValueType]:
    """Return the arrays that an array is, one for each item of tuples."""
    element = element_of(kind)
    if not isinstance(element, TupleOf):
        return {name: kind}
    return {f"{name}_{at}": array_of(item, *map(constant, extents(kind))) for at, item in enumerate(element.items)}


def _flat(types: Mapping[str, ValueType]) -> dict[str, ValueType]:
    return {own: item for name, kind in types.items() for own, item in _arrays(name, kind).items()}


def _dtype(kind: ValueType, asked: LoweringRequest) -> str:
    if not isinstance(kind, NumberOf):
        raise SwizzleError(
            f"{kind} handed on from kernel to kernel", place=asked.place, expected="an array of numbers",
            fix="make each item by itself",
        )  # fmt: skip
    return kind.dtype.value


def _array(kind: ValueType, asked: LoweringRequest, role: str = "") -> str:
    shape = extents(kind)
    dtype = _dtype(element_of(kind), asked) + f".{role}" * bool(role)
    if not shape:
        return f"{dtype}.scalar"
    if len(shape) > 3:
        raise SwizzleError(
            f"an array of {len(shape)} dimensions", place=asked.place, expected="at most three", fix="join some of them"
        )
    return f"{dtype}[{', '.join(map(str, shape))}]"


def _declared(asked: LoweringRequest, name: str, kind: ValueType) -> str:
    text = _array(kind, asked)
    return text.replace(text.split("[")[0], asked.declared[name], 1) if name in asked.declared else text


def _kernel_text(
    asked: LoweringRequest, name: str, made: Term, types: Mapping[str, ValueType], outputs: Mapping[str, ValueType],
    known: FreshNames, spec: str = "",
) -> str:  # fmt: skip
    """Return the text of one kernel."""
    taken = [*_flat(types), *outputs, name, *asked.types]
    lowering = LoweredKernel(_shape(asked, made, types), taken, asked.place, asked.holes, known)
    inputs = {
        own: together([cells(each, extents(item)) for each, item in _arrays(own, kind).items()], len(extents(kind)))
        for own, kind in types.items()
    }
    kind = Typing().type_of(made, types)
    arrays = [cells(own, extents(out)) for own, out in outputs.items()]
    if not isinstance(kind, ArrayOf):
        arrays = [view_of(each).at(number(0)) for each in arrays]
    lowering.write(made, together(arrays, len(extents(kind))), PatternScope(inputs, types))
    declared = [(own, _declared(asked, own, kind)) for own, kind in _flat(types).items()]
    declared += [(own, _array(kind, asked, "out")) for own, kind in outputs.items()]
    return lowering.out.text(name, declared, spec)


# ---- blocks and threads ------------------------------------------------------------------------------------------


def _shape(asked: LoweringRequest, made: Term, types: Mapping[str, ValueType]) -> KernelShape:
    """Return how many blocks and threads the maps of a kernel are spread over."""
    maps = [(each.term, each.names) for each in positions(made, types) if isinstance(each.term, t.Map)]
    found = [(each, extents(Typing().type_of(each.array, names))[0]) for each, names in maps]

    def refuse(what: str, expected: str, fix: str) -> SwizzleError:
        return SwizzleError(what, place=asked.place, expected=expected, fix=fix)

    threads, blocks = dict(asked.threads), dict[str, int]()
    for axis in "xyz":
        local = [n for each, n in found if each.kind == "local" and each.axis == axis]
        whole = [n for each, n in found if each.kind == "global" and each.axis == axis]
        if axis not in threads and local:
            alike = [n for n in local if n % WARP == 0] or [n for n in local if n & (n - 1) == 0]
            threads[axis] = max(alike or local)
        elif axis not in threads and whole:
            several = len({each.axis for each, _ in found if each.kind == "global"}) > 1
            threads[axis] = min(max(whole), (WARP if axis == "x" else 8) if several else 4 * WARP)
    total = 1
    for count in threads.values():
        total *= count
    if total > MOST_THREADS:
        raise refuse(f"a block of {total} threads", f"at most {MOST_THREADS}", "split further, or say threads=256")
    for each, n in found:
        if each.kind in GRID:
            count = n if each.kind == "block" else -(-n // threads[each.axis])
            if blocks.setdefault(each.axis, count) != count:
                raise refuse(f"{blocks[each.axis]} and {count} blocks along {each.axis}", "one number", "split alike")
    warps = max((n for each, n in found if each.kind == "warp"), default=0)
    if warps == 0 and any(each.kind == "lane" for each, _ in found):
        warps = 1
    if warps and total > 1 and (total % WARP or warps > total // WARP):
        raise refuse(f"{warps} warps and {total} threads", f"blocks of {warps * WARP} threads", "split alike")
    if any(each.kind == "global" for each, _ in found):
        for axis in blocks:
            threads.setdefault(axis, 1)
    return KernelShape(blocks, threads, warps)


# ---- where a kernel ends -----------------------------------------------------------------------------------------


class _Cut:
    """Takes an expression apart into kernels; `handed` are the parts that others use, in order."""

    def __init__(self, taken: FreshNames) -> None:
        self.taken = taken
        self.handed: dict[str, Term] = {}

    def cut(self, made: Term) -> Term:
        """Return the last kernel of an expression."""
        return term(self._rest(made, spine=True))

    def _rest(self, node: PatternNode, spine: bool) -> PatternNode:
        if isinstance(node, t.Lambda) or not _has_grid(node):
            return node
        if isinstance(node, t.Map) and node.kind in GRID and spine:
            return replace(node, array=term(self._rest(node.array, False)))
        moves = isinstance(node, MOVING) or (isinstance(node, t.ToMemory) and node.memory == "global")
        moves = moves or (isinstance(node, t.Map) and only_moves(node))
        if spine and moves:
            return replace(node, array=self._rest(operand_of(node), True))
        ends = moves or isinstance(node, t.PrefixScan) or (isinstance(node, t.Map) and node.kind in GRID)
        if not spine and ends and _has_grid(_below(node)):
            name = self.taken.take("part")
            self.handed[name] = term(self._rest(node, True))
            return t.Variable(name)
        if isinstance(node, t.Let) and spine:
            value = self._rest(node.value, False)
            return t.Let(node.name, term(value), term(self._rest(node.body, True)))
        return with_children(node, [self._rest(each, False) for each in children(node)])


def _below(node: PatternNode) -> PatternNode:
    """Return what a run of moving patterns is applied to."""
    while isinstance(node, (*MOVING, t.ToMemory)) or (isinstance(node, t.Map) and only_moves(node)):
        node = node.array
    return node


def _has_grid(node: PatternNode) -> bool:
    return any(isinstance(each, t.Map) and each.kind in GRID for each in walk(node))
