"""The key of a solve job: what the kernel does and what it must compute, however either is written.

Two jobs have the same key only if they ask the same question: the same program up to places and the names of variables,
the same specification at its sizes (its canonical terms, paper section 4.1), the same parameters and limits, the same
engine. Names of files, comments, white space and the way in which the specification computes its terms make no
difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from swizzle.language.specs.specification import Meaning
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.solution import Limits
from symbolic.algebra.operator_laws import find_law
from symbolic.algebra.terms import Term, Terms
from symbolic.errors import Place
from symbolic.ir.functions import Gather
from symbolic.ir.program import (
    Accumulate,
    AccumulatorValue,
    Assign,
    CopyAsync,
    DeclareAccumulator,
    DeclareArray,
    For,
    FunctionName,
    Hole,
    Load,
    OperatorName,
    Parameter,
    Program,
    Store,
    Var,
)
from symbolic.ir.program import (
    Final as FinalFunction,
)

NAMES: Final[dict[type, str]] = {
    Var: "name",
    Load: "array",
    AccumulatorValue: "accumulator",
    Assign: "name",
    Store: "array",
    CopyAsync: "array",
    DeclareArray: "name",
    FinalFunction: "parameter",
    DeclareAccumulator: "name",
    Accumulate: "accumulator",
    For: "variable",
    Parameter: "name",
}
"""The fields that hold a name of the kernel's own; any one-to-one renaming keeps the meaning."""

UNSPELLED: Final[dict[type, frozenset[str]]] = {
    Program: frozenset({"name"}),
    Hole: frozenset({"name", "arguments"}),
}
"""The fields that only say how something reads; a hole's arguments stand in its calls."""

IRRELEVANT_LIMITS: Final = frozenset({"timeout", "memory"})
"""What bounds the effort and not the answer."""

ENGINE_FOLDERS: Final = (
    "symbolic",
    "templates",
    "cuda_out/analysis",  # what is printed is what some costs are counted on
    "cuda_out/passes",
    "swizzle/language/specs",
    "swizzle/layouts",
    "swizzle/scans",
    "swizzle/solving",
)


def key(sketch: Sketch, meaning: Meaning, limits: Limits) -> str:
    """Return the key of a solve job, 64 hexadecimal digits."""
    names: dict[str, int] = {}
    question = (
        engine(),
        normal_form(sketch.program, names),
        [len(hole.arguments) for hole in sketch.program.holes],
        sorted(sketch.parameters.items()),
        [(name, getattr(limits, name)) for name in limits.__struct_fields__ if name not in IRRELEVANT_LIMITS],
    )
    digest = hashlib.sha256(repr(question).encode())
    digests = term_digests(meaning.terms, names, set().union(*meaning.wanted.values()))
    for name, wanted in sorted(meaning.wanted.items(), key=lambda item: names[item[0]]):
        digest.update(f"{names[name]}:{len(wanted)}:".encode())
        digest.update(b"".join([digests[term] for term in wanted]))
    return digest.hexdigest()


def normal_form(node: Any, names: dict[str, int]) -> Any:
    """Return a tree of the IR as plain tuples without places; `names` numbers its names by their first use."""
    match node:
        case tuple():
            return tuple([normal_form(part, names) for part in node])
        case Enum():
            return node.value
        case OperatorName():
            return node.law.row
        case FunctionName(row=Gather(array=array, shape=shape)):
            return "gather", names.setdefault(array, len(names)), *shape
        case FunctionName():
            return node.row.row
        case Struct():
            kind: type[Any] = type(node)
            named, unspelled = NAMES.get(kind), UNSPELLED.get(kind, frozenset())
            parts: list[Any] = [kind.__name__]
            for name in node.__struct_fields__:
                value = getattr(node, name)
                if name == named:
                    parts.append(names.setdefault(value, len(names)))
                elif name not in unspelled and not isinstance(value, Place):
                    parts.append(normal_form(value, names))
            return tuple(parts)
        case _:
            return node


def term_digests(terms: Terms, names: Mapping[str, int], asked: Iterable[Term]) -> dict[Term, bytes]:
    """Return a digest of each term asked for, which depends only on the term, not on when it was interned."""
    leaves = ("atom", "const", "unwritten")
    needed = set(asked)
    for term in range(len(terms.nodes) - 1, -1, -1):  # a term is younger than what it is made of
        if term in needed and terms.nodes[term][0] not in leaves:
            needed.update(terms.nodes[term][1])
    digests: dict[Term, bytes] = {}
    blake = hashlib.blake2b
    heads: dict[str, bytes] = {}
    for term in sorted(needed):
        op, arguments = terms.nodes[term]
        if op == "atom":  # an element needs no digest to be told apart
            array, index = arguments
            digests[term] = b"atom" + (names[array] << 64 | index).to_bytes(12, "big")
            continue
        if op == "const":
            text = f"const {_number(arguments[0])!r}".encode()
        else:
            parts = [digests[argument] for argument in arguments]
            law = find_law(op)
            if law is not None and law.commutes:
                parts.sort()
            head = heads.get(op) or heads.setdefault(op, f"{normal_form(op, dict(names))} ".encode())
            text = head + b"".join(parts)
        digests[term] = blake(text, digest_size=16).digest()
    return digests


def _number(value: Any) -> Any:
    """Return a constant in one spelling: 1, 1.0 and True are one term."""
    return int(value) if isinstance(value, (bool, float)) and value == value // 1 else value


@lru_cache(maxsize=1)
def engine() -> str:
    """Return a digest of the code that decides an answer, so that no other version's proofs are believed."""
    root = Path(__file__).resolve().parents[3]
    digest = hashlib.sha256()
    for folder in ENGINE_FOLDERS:
        assert (root / folder).is_dir(), folder
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
