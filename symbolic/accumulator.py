"""Guarded data values: unions of terms, accumulators as guarded multisets, and trees over them.

An accumulator under holes is not a union of the multisets it may be (there are exponentially many) but one
multiset of guarded entries (paper, section 4.2). `require_equal` says what makes it equal to a term of the
specification: each item of the term is contributed by exactly one of the entries that could, and no entry
contributes anything else. Cardinality over guards, no arithmetic.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from symbolic.errors import Place, SwizzleError
from symbolic.guard import FALSE, TRUE, Guard
from symbolic.terms import REDUCTIONS, UNWRITTEN, Term, Terms
from symbolic.union import Union, merge
from symbolic.vector import Encoding

EXPANSION_LIMIT = 200_000  # alternatives of one entry that are built one by one


@dataclass(frozen=True, slots=True)
class Entry:
    """One accumulate: under `active`, `inner(operands)` joins the multiset."""

    active: Guard
    operands: tuple[Value, ...]
    inner: str | None


@dataclass(frozen=True, slots=True)
class Multiset:
    """A reduction by `outer` of guarded entries."""

    outer: str
    entries: tuple[Entry, ...]
    place: Place | None


@dataclass(frozen=True, slots=True)
class Tree:
    """An operator over values that are not all unions, kept as it stands."""

    op: str
    args: tuple[Value, ...]
    place: Place | None


Value: TypeAlias = Union | Multiset | Tree


def as_multiset(terms: Terms, value: Value, outer: str) -> Multiset:
    """See any value as a reduction by `outer`: itself if it is one, else a reduction of one or more entries."""
    match value:
        case Multiset() if value.outer == outer:
            return value
        case Tree() if value.op == outer:
            return Multiset(outer, tuple(Entry(TRUE, (arg,), None) for arg in value.args), value.place)
        case _:
            return Multiset(outer, (Entry(TRUE, (value,), None),), getattr(value, "place", None))


def apply(encoding: Encoding, op: str, args: tuple[Value, ...], place: Place | None) -> Value:
    """Apply a data operator to guarded values."""
    if all(isinstance(a, Union) for a in args) and prod(len(a.values) for a in args if isinstance(a, Union)) <= EXPANSION_LIMIT:
        terms = encoding.terms
        groups: dict[Term, list[Guard]] = {}
        alternatives = [list(a.values.items()) for a in args if isinstance(a, Union)]
        for chosen in itertools.product(*alternatives):
            guard = TRUE
            for _, g in chosen:
                guard = encoding.guards.both(guard, g)
            if guard != FALSE:
                groups.setdefault(terms.apply(op, [t for t, _ in chosen]), []).append(guard)
        return Union({t: encoding.guards.any(g) for t, g in groups.items()})
    if op in REDUCTIONS and not REDUCTIONS[op].idempotent:
        parts = [as_multiset(encoding.terms, a, op) for a in args]
        return Multiset(op, tuple(e for p in parts for e in p.entries), place)
    return Tree(op, args, place)


def merge_values(encoding: Encoding, parts: list[tuple[Guard, Value]], place: Place | None) -> Value:
    """Return the value whose guard holds; guards are exclusive and exhaustive."""
    parts = [(g, v) for g, v in parts if g != FALSE]
    if len(parts) == 1:
        return parts[0][1]
    unions = [(g, v) for g, v in parts if isinstance(v, Union)]
    if len(unions) == len(parts):
        return merge(encoding.guards, unions)
    outers = {v.outer for _, v in parts if isinstance(v, Multiset)}
    if len(outers) != 1 or any(isinstance(v, Tree) for _, v in parts):
        raise SwizzleError(
            "values that were reduced in different ways meet under a hole's choice",
            place=place,
            expected="one kind of reduction on every path",
            mend="store or select the accumulators' inputs instead of their values",
        )
    outer = outers.pop()
    both = encoding.guards.both
    entries = [
        Entry(both(guard, e.active), e.operands, e.inner)
        for guard, value in parts
        for e in as_multiset(encoding.terms, value, outer).entries
    ]
    return Multiset(outer, tuple(entries), place)


def require_equal(encoding: Encoding, value: Value, term: Term, when: Guard = TRUE) -> None:
    """Require, where `when` holds, that a guarded value is this term of the specification."""
    if when == FALSE:
        return
    terms, guards = encoding.terms, encoding.guards
    match value:
        case Union():
            guards.add((-when, value.is_(term)))
        case Multiset():
            _require_multiset(encoding, value, term, when)
        case Tree():
            op, args = terms.nodes[term]
            if value.op in REDUCTIONS:
                _require_multiset(encoding, as_multiset(terms, value, value.op), term, when)
            elif op != value.op or len(args) != len(value.args):
                guards.add((-when,))
            else:
                for part, wanted in zip(value.args, args, strict=True):
                    require_equal(encoding, part, wanted, when)


def _require_multiset(encoding: Encoding, value: Multiset, term: Term, when: Guard) -> None:
    terms, guards = encoding.terms, encoding.guards
    wanted = terms.multiset(term, value.outer)
    uses: dict[Term, list[Guard]] = {item: [] for item in wanted}
    constants: list[Term] = []
    for entry in value.entries:
        constant = _definite_constant(terms, entry)
        if constant is not None:
            constants.append(constant)
        elif entry.active != FALSE:
            _contribute(encoding, value, entry, wanted, uses, when)
    for item in terms.items(terms.apply(value.outer, constants), value.outer) if constants else ():
        if item in uses:
            uses[item].append(TRUE)
        else:
            guards.add((-when,))
    for item, count in wanted.items():
        if REDUCTIONS[value.outer].idempotent:
            guards.add([-when, *uses[item]])
        else:
            guards.exactly(count, uses[item], when)


def _definite_constant(terms: Terms, entry: Entry) -> Term | None:
    """Return the number that an entry always contributes, if it is one."""
    if entry.active == TRUE and len(entry.operands) == 1 and isinstance(entry.operands[0], Union):
        values = entry.operands[0].values
        if len(values) == 1 and terms.is_const(term := next(iter(values))):
            return term
    return None


def _contribute(
    encoding: Encoding,
    value: Multiset,
    entry: Entry,
    wanted: Counter[Term],
    uses: dict[Term, list[Guard]],
    when: Guard,
) -> None:
    """Say which items of `wanted` an entry is, and forbid it to be anything else."""
    terms, guards = encoding.terms, encoding.guards
    operands = entry.operands
    if len(operands) == 1 and isinstance(operands[0], Union):
        alternatives = operands[0].values
    elif all(isinstance(o, Union) for o in operands):
        assert entry.inner is not None
        if len(operands) == 2 and all(_plain(terms, o, entry.inner) for o in operands):
            _contribute_pair(encoding, entry, wanted, uses, when)
            return
        expanded = apply(encoding, entry.inner, operands, value.place)
        if not isinstance(expanded, Union):
            raise SwizzleError(
                f"one accumulate has more than {EXPANSION_LIMIT:,} possible values",
                place=value.place,
                expected="fewer operands that depend on holes in one accumulate",
                mend="accumulate products of at most two shuffled values",
            )
        alternatives = expanded.values
    else:
        nested = operands[0] if len(operands) == 1 else Tree(entry.inner or "", operands, value.place)
        matches = []
        for item in wanted:
            match_ = guards.fresh()
            guards.add((-match_, entry.active))
            require_equal(encoding, nested, item, guards.both(match_, when))
            matches.append(match_)
            uses[item].append(match_)
        guards.at_most_one(matches)
        guards.add([-when, -entry.active, *matches])
        return
    floating = [t for t in alternatives for i in terms.items(t, value.outer) if terms.is_const(i)]
    if floating:
        raise SwizzleError(
            f"an accumulator may receive the constant {terms.show(floating[0])} depending on a hole",
            place=value.place,
            expected="accumulated values that come from the input arrays",
            mend="pass the constant in as an element of a `const` array",
        )
    for alternative, guard in alternatives.items():
        here = guards.both(entry.active, guard)
        if here == FALSE:
            continue
        items = terms.multiset(alternative, value.outer) if alternative != UNWRITTEN else Counter({UNWRITTEN: 1})
        if any(wanted[item] < (min(count, 1) if REDUCTIONS[value.outer].idempotent else count) for item, count in items.items()):
            guards.add((-when, -here))
        else:
            for item, count in items.items():
                uses[item] += [here] * count


def _plain(terms: Terms, union: Value, inner: str) -> bool:
    """Say whether no alternative folds with another operand under `inner`."""
    assert isinstance(union, Union)
    return not any(terms.is_const(t) or terms.nodes[t][0] in (inner, "unwritten") for t in union.values)


def _contribute_pair(
    encoding: Encoding, entry: Entry, wanted: Counter[Term], uses: dict[Term, list[Guard]], when: Guard
) -> None:
    """`_contribute` for two plain operands, without building all their products: look only at wanted pairs."""
    guards, nodes = encoding.guards, encoding.terms.nodes
    left, right = entry.operands
    assert isinstance(left, Union) and isinstance(right, Union)
    partners: dict[Term, list[Guard]] = {}
    idempotent = REDUCTIONS[entry.inner or ""].idempotent
    for item in wanted:
        op, args = nodes[item]
        if idempotent and op != entry.inner:
            op, args = entry.inner or "", (item, item)
        if op != entry.inner or len(args) != 2:
            continue
        for a, b in {(args[0], args[1]), (args[1], args[0])}:
            if a in left.values and b in right.values:
                first = guards.both(entry.active, left.values[a])
                uses[item].append(guards.both(first, right.values[b]))
                partners.setdefault(a, []).append(right.values[b])
    for a, guard in left.values.items():
        guards.add([-when, -guards.both(entry.active, guard), *partners.get(a, ())])


def require_not(encoding: Encoding, value: Value, term: Term, when: Guard) -> None:
    """Require, where `when` holds, that a union of terms is not this term (used for unwritten cells)."""
    if isinstance(value, Union):
        encoding.guards.add((-when, -value.is_(term)))


