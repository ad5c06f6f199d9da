"""What Python has and the kernel language does not have: its name in messages, and what to write instead."""

from __future__ import annotations

import ast
from typing import Final

EXPRESSIONS: Final = "arithmetic and comparisons of numbers, array elements, holes, and the language's functions"
STATEMENTS: Final = "assignments, `for`, `if`, stores, barriers, accumulates, and load and store helpers"

NOT_EXPRESSIONS: Final[dict[type[ast.expr], tuple[str, str]]] = {
    ast.List: ("a list", "use cuda.local.array(shape, dtype) for a thread's own array"),
    ast.Dict: ("a dict", "use cuda.local.array(shape, dtype) for a thread's own array"),
    ast.Set: ("a set", "use cuda.local.array(shape, dtype) for a thread's own array"),
    ast.ListComp: ("a list comprehension", "write a `for` loop over `range`"),
    ast.SetComp: ("a set comprehension", "write a `for` loop over `range`"),
    ast.DictComp: ("a dict comprehension", "write a `for` loop over `range`"),
    ast.GeneratorExp: ("a generator", "write a `for` loop over `range`, or use an accumulator"),
    ast.JoinedStr: ("a string", "kernels have numbers only"),
    ast.Lambda: ("a lambda", "only `final=` and `shfl=` take one"),
    ast.NamedExpr: ("`:=`", "assign in a statement of its own"),
    ast.Slice: ("a slice", "index one element, in a loop"),
    ast.Starred: ("`*`", "write the arguments one by one"),
    ast.Await: ("`await`", "kernels are plain functions"),
    ast.Yield: ("`yield`", "store to an `out` array instead"),
    ast.YieldFrom: ("`yield`", "store to an `out` array instead"),
}


NOT_STATEMENTS: Final[dict[str, tuple[str, str]]] = {
    "While": ("a `while` loop", "write `for i in range(...)` with static bounds, and `if` inside it"),
    "Break": ("`break`", "guard the rest of the body with `if`"),
    "Continue": ("`continue`", "guard the rest of the body with `if`"),
    "Try": ("`try`", "kernels raise nothing"),
    "TryStar": ("`try`", "kernels raise nothing"),
    "With": ("`with`", "kernels are plain loops and conditions"),
    "Raise": ("`raise`", "kernels raise nothing"),
    "Assert": ("`assert`", "what must hold goes into the specification"),
    "Delete": ("`del`", "leave the variable alone"),
    "Global": ("`global`", "a module-level constant can be read without it"),
    "Nonlocal": ("`nonlocal`", "an outer constant can be read without it"),
    "Import": ("`import`", "import at module level"),
    "ImportFrom": ("`import`", "import at module level"),
    "FunctionDef": ("a function inside the kernel", "write it above the kernel, with @cuda.jit(device=True)"),
    "AsyncFunctionDef": ("a function inside the kernel", "write it above the kernel, with @cuda.jit(device=True)"),
    "ClassDef": ("a class inside the kernel", "kernels have numbers and arrays only"),
    "Match": ("`match`", "write if/elif/else"),
    "AnnAssign": ("an annotated variable", "write it without the annotation: the type comes from the value"),
    "AsyncFor": ("`async for`", "write `for`"),
    "AsyncWith": ("`async with`", "kernels are plain loops and conditions"),
}
