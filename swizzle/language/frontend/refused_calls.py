"""Calls that a kernel's expressions cannot have, each with what to write instead."""

from __future__ import annotations

import ast
import inspect
from typing import Any, Final, NoReturn

from swizzle.language.cuda_namespace import WARP_INSTRUCTIONS, DeviceFunction, cuda
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.scope import AccumulatorName, ArrayName
from swizzle.language.operators import known_names
from swizzle.language.other_names import here
from swizzle.language.parameters import sw_pad
from swizzle.language.specs.function import SequentialFunction
from swizzle.language.surface import KERNEL_NAMES, LOAD_STORE, accumulator
from symbolic.errors import near
from symbolic.ir.functions import FUNCTIONS as FUNCTION_ROWS

STATEMENTS: Final = frozenset(
    {
        *LOAD_STORE,
        "permute_local",
        "exchange",
        "cuda.syncthreads",
        "cuda.syncwarp",
        *(f"cuda.atomic.{name}" for name in ("add", "min", "max", "and_", "or_", "xor")),
        *WARP_INSTRUCTIONS,
        "cuda.copy_async",
        "cuda.commit_copies",
        "cuda.wait_copies",
    }
)
DECLARATIONS: Final[dict[str, Any]] = {
    "accumulator": accumulator,
    "cuda.local.array": cuda.local.array,
    "cuda.shared.array": cuda.shared.array,
    "cuda.fragment": cuda.fragment,
}
FUNCTIONS: Final = (
    "min, max, abs, where, gather, len, f32(...) and its like, the functions of math and cuda, holes, accumulators, "
    "loads and stores, device functions"
)


def misplaced(reader: ExpressionReader, node: ast.Call, name: str) -> NoReturn:
    """Refuse a call of a name of the language that gives no value here."""
    if name in ("range", "enumerate", "zip"):
        reader.mistake(node, f"`{name}` outside a `for`", "a loop", f"write `for ... in {name}(...):`")
    if name in STATEMENTS:
        reader.mistake(node, f"{name}(...) gives no value", "a statement of its own", "put it on a line of its own")
    if name == "sw_home":
        reader.mistake(
            node, "sw_home(...) by itself", "the home of an exchange", "write exchange(mine, theirs, home=sw_home(...))"
        )
    if name == "cuda.device_array":
        reader.mistake(
            node, "cuda.device_array(...) in a kernel", "cuda.local.array or cuda.shared.array",
            "memory that kernels hand on is made in a host function, under @host(...)",
        )  # fmt: skip
    if name in DECLARATIONS:
        reader.mistake(
            node,
            f"{name}(...) inside an expression",
            f"a declaration: a_name = {name}(...)",
            fix="declare it in a line of its own, at the top of the kernel",
        )
    reader.mistake(
        node,
        f"{name} is not a function",
        "a call of a function of the language",
        fix="call a function by its name, or leave out the parentheses",
    )


def not_a_function(reader: ExpressionReader, node: ast.Call) -> NoReturn:
    """Refuse a call of something that the file has no name for, or that is a variable of the kernel."""
    function = node.func
    if isinstance(function, ast.Attribute):
        base = function.value.value if isinstance(function.value, ast.Subscript) else function.value
        meaning = reader.scope.meanings.get(base.id) if isinstance(base, ast.Name) else None
        if isinstance(meaning, AccumulatorName) and function.attr == "accumulate":
            reader.mistake(
                node, "accumulate(...) gives no value", "a statement of its own", "put it on a line of its own"
            )
        called = ast.unparse(function)
        if isinstance(meaning, AccumulatorName) and function.attr == "value":
            reader.mistake(
                function, f"{called} is a value, not a function", called, f"write {called}, without brackets"
            )
        if isinstance(meaning, ArrayName) and function.attr in ("shape", "size", "ndim"):
            reader.mistake(function, f"{called} is no function", called, f"write {called}, without brackets")
        if meaning is not None:
            fix = f"index its elements: {ast.unparse(base)}[i]" if isinstance(meaning, ArrayName) else "leave it out"
            reader.mistake(function, f"{ast.unparse(base)} has no `{function.attr}`", FUNCTIONS, fix)
    if isinstance(function, ast.Name) and (function.id in reader.bound or reader.scope.is_local(function.id)):
        hidden = isinstance(reader.kernel.environment.get(function.id), DeviceFunction)
        reader.mistake(
            function,
            f"{function.id} is a variable here, and not a function" if hidden else f"{function.id} is not a function",
            "a call of a function of the language, or of a device function",
            f"give the variable another name than the device function {function.id} has" if hidden else "",
        )
    devices = [name for name, value in reader.kernel.environment.items() if isinstance(value, DeviceFunction)]
    own = known_names(reader.kernel.environment)
    if isinstance(function, ast.Name) and reader.spelled(function) not in reader.kernel.environment:
        reader.mistake(
            function,
            f"a call of {function.id}, which is not part of the kernel language",
            FUNCTIONS,
            f"write math.{function.id}(...)"
            if function.id in FUNCTION_ROWS
            else here(function.id)
            or near(function.id, [*KERNEL_NAMES, *devices, *own])
            or "write it out in arithmetic",
        )
    reader.unknown(function)


def foreign(reader: ExpressionReader, node: ast.Call, found: object) -> NoReturn:
    """Refuse a call of an object that is not of the language."""
    spelled = ast.unparse(node.func)
    module = getattr(found, "__module__", None) or ""
    if module.startswith("numba"):
        fix = "import the name from swizzle: from swizzle import cuda"
    elif found is int:
        fix = "indices are ints already; use `//` to divide"
    elif found is float:
        fix = "write f32(...), or another dtype"
    elif found is sw_pad:
        fix = "write PITCH = sw_pad(...) at the top level of the file, and PITCH in the shape"
    elif inspect.isfunction(found) or isinstance(found, SequentialFunction):
        fix = f"write @cuda.jit(device=True) above the `def` of {spelled}"
    elif module == "math":
        fix = near(spelled.rsplit(".", 1)[-1], FUNCTION_ROWS, "math.") or f"math has {', '.join(FUNCTION_ROWS)} here"
    else:
        fix = (
            here(spelled)
            or near(spelled.rsplit(".", 1)[-1], KERNEL_NAMES)
            or "use the language's functions, or write it out here"
        )
    reader.mistake(node.func, f"a call of {spelled}, which is not part of the kernel language", FUNCTIONS, fix)
