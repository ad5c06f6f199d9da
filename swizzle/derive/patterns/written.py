"""A derived kernel as a file of sketches: the user's specification, the kernels, and what they import."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from swizzle.derive.patterns.launches import LoweredKernels
from swizzle.derive.patterns.scope import element_of
from swizzle.derive.patterns.sources import needed_text
from swizzle.language.specs.spec import UserFunction
from symbolic.ir.walk import FreshNames
from symbolic.patterns.types import ArrayOf, TupleOf, ValueType

IMPORTED: Final = (
    "accumulator", "bf16", "cuda", "exchange", "f16", "f32", "f64", "gather", "host", "i8", "i16", "i32", "i64", "math",
    "sketch", "spec", "sw_home", "sw_index", "sw_part", "sw_xform", "u8", "u16", "u32", "u64", "where",
)  # fmt: skip
"""Names of `swizzle` that a kernel's text may need."""


def _is_stored(kind: ValueType) -> bool:
    """Tell whether a value is what kernels store: an array of numbers, or a tuple of such."""
    items = kind.items if isinstance(kind, TupleOf) else (kind,)
    return all(isinstance(each, ArrayOf) and not isinstance(element_of(each), TupleOf) for each in items)


def spec_text(of: UserFunction, kind: ValueType, taken: Sequence[str]) -> tuple[str, str]:
    """Return the name of the specification of a file, and the text of one that is made of the user's function, which
    returns values of this type."""
    if of.marked and _is_stored(kind):
        return of.name, ""
    name = FreshNames({*taken, of.name}).take(f"{of.name}_spec")
    call = f"{of.name}({', '.join(of.inputs)})"
    body = [f"    return [{call}]"]
    if isinstance(kind, ArrayOf):
        body = [f"    return {call}"]
        if isinstance(inner := element_of(kind), TupleOf):
            items = (_nested(kind, place) for place in range(len(inner.items)))
            body = [f"    found = {call}", f"    return {', '.join(items)}"]
    elif isinstance(kind, TupleOf):
        body = [f"    found = {call}", f"    return {', '.join(f'[found[{at}]]' for at in range(len(kind.items)))}"]
    return name, "\n".join(["@spec", f"def {name}({', '.join(of.inputs)}):", *body])


def _nested(kind: ValueType, place: int, of: str = "found", depth: int = 0) -> str:
    if not isinstance(kind, ArrayOf):
        return f"{of}[{place}]"
    name = f"{'ijk'[depth]}"
    return f"[{_nested(kind.element, place, name, depth + 1)} for {name} in {of}]"


def file_text(title: str, of: UserFunction, spec: str, made: LoweredKernels) -> str:
    """Return the text of a file."""
    user = needed_text(of.place.file, [of.name])
    if of.place.file.endswith(".swz"):
        marked = re.sub(r"(?<![\w.?])sw_(?=\w+\()", "?sw_", made.text)
        return "\n".join(
            [f'"""{title}"""\n\n', user.strip("\n"), "", *filter(None, (spec, "")), "", marked.strip("\n"), ""]
        )
    parts = [part for part in (spec, made.text) if part]
    used = {name for name in IMPORTED if re.search(rf"(?<![\w.]){name}\b", "\n".join(parts))}
    used -= {name.strip() for line in re.findall(r"^from swizzle import (.*)$", user, re.M) for name in line.split(",")}
    imports = f"from swizzle import {', '.join(sorted(used))}\n" if used else ""
    return "\n".join([f'"""{title}"""\n', imports + user.strip("\n"), "", "", "\n\n\n".join(parts).strip("\n"), ""])
