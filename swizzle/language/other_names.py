"""What this language does not have, and what to write instead: names of CUDA C++, numba.cuda and NumPy, and Python's
syntax.
"""

from __future__ import annotations

import ast
import re
from typing import Final

from swizzle.language.element_types import VECTOR_TYPES
from symbolic.ir.program import DType

_DIMENSIONS: Final = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_REDUCE: Final = (
    "each output element is stored by one thread: reduce in an accumulator, by shuffles or in a shared array"
)
_VOTE: Final = "data steers nothing: choose with where(a < b, x, y), and exchange values with cuda.shfl_sync"
_VOTES: Final = (
    *("eq_sync", "match_any_sync", "match_all_sync", "activemask"),
    *("syncthreads_and", "syncthreads_or", "syncthreads_count"),
)
_LETTERS: Final = {"float": "f", "int": "i", "uint": "u", "f": "f", "i": "i", "u": "u", "bfloat": "bf", "bf": "bf"}
_WORDS: Final = {"double": "f64", "half": "f16", "float": "f32", "int": "i32", "unsigned": "u32", "uint": "u32"}
_VECTOR_WORDS: Final = {
    "int8": "char", "int16": "short", "int32": "int", "int64": "longlong", "float16": "half", "float32": "float",
    "float64": "double",
}  # fmt: skip
_TYPES: Final = tuple(dtype.value for dtype in DType if dtype.is_data and dtype is not DType.STATE)

_NAMES: Final = {
    **{name: f"write cuda.{name}.x, .y or .z" for name in _DIMENSIONS},
    "warpSize": "write cuda.warpsize",
    **dict.fromkeys(("laneid", "lane_id", "laneId"), "write cuda.laneid"),
    **dict.fromkeys(("warpid", "warp_id", "warpId"), "write cuda.warpid"),
    "__shared__": "write tile = cuda.shared.array(shape, f32)",
    **{f"__sync{what}": f"write cuda.sync{what}()" for what in ("threads", "warp")},
    **{f"__shfl{way}_sync": f"write cuda.shfl{way}_sync(...)" for way in ("", "_up", "_down", "_xor")},
    **{
        f"atomic{name.strip('_').capitalize()}": f"write cuda.atomic.{name}(array, index, value)"
        for name in ("add", "max", "min", "xor", "or_", "and_")
    },
    **dict.fromkeys(("reduce_sync", "__reduce_add_sync"), "reduce by shuffles: docs/cookbook.md has the kernel"),
    **dict.fromkeys(_VOTES, _VOTE),
    "selp": "write where(a < b, x, y)",
    "reinterpret_cast": "write x4 = x.view(cuda.float4) on a line of its own, and x4[i]",
    "fma": "write math.fma(a, b, c)",
    **dict.fromkeys(("__dp4a", "dp4a"), "write cuda.dp4a(a, b, c), of two cuda.char4 and an i32"),
    "const": "a parameter for read-only data is declared in @sketch: w=f32.const[3]",
    **dict.fromkeys(
        ("threadfence", "threadfence_block", "threadfence_system", "__threadfence", "cg"),
        "blocks exchange no data: what a second kernel reads, a first one stores",
    ),
    **dict.fromkeys(
        ("tl", "triton"), "a sketch is what one thread does: cuda.blockIdx.x, cuda.threadIdx.x, x[i] under `if`"
    ),
    "ffs": "write it in // % & ^ << >>, or by cuda.popc, cuda.clz and cuda.brev",
    **{f"__{name}": f"write cuda.{name}(v)" for name in ("popc", "clz", "brev")},
    **{f"__{name}_sync": f"write cuda.{name}_sync(...)" for name in ("any", "all", "ballot")},
    "sum": 'write s = accumulator(f32, outer="+"), s.accumulate(...) in a loop, and s.value',
    "pow": "write math.pow(x, y), or x * x",
    "round": "write math.rint(v), which rounds half to even, or math.floor, math.ceil, math.trunc",
    **dict.fromkeys(
        ("printf", "print"), "look at what moves with `swizzle show`, or call the solution on NumPy arrays"
    ),
    **dict.fromkeys(
        ("to_device", "device_array", "device_array_like"),
        "arrays belong to the call: solve(kernel).best(x, y) takes NumPy's and the device's",
    ),
}


IN_NUMPY: Final[dict[str, str]] = {
    "relu": "np.maximum(x, 0)", "sigmoid": "1 / (1 + np.exp(-x))", "silu": "x / (1 + np.exp(-x))",
    "softmax": "e / e.sum(axis=-1, keepdims=True) of e = np.exp(x - x.max(axis=-1, keepdims=True))",
    "logsumexp": "np.log(np.exp(x - x.max()).sum()) + x.max()",
    **dict.fromkeys(("matmul", "mm", "bmm", "mv"), "a @ b"), "addmm": "c + a @ b",
    "unsqueeze": "x[:, None]", "permute": "x.transpose(0, 2, 1)", "t": "x.T", "contiguous": "x", "detach": "x",
    "clamp": "np.clip(x, low, high)", "unfold": "np.lib.stride_tricks.sliding_window_view(x, 3)",
    "cat": "np.concatenate([x, y])", "float": "x.astype(np.float32)", "half": "x.astype(np.float16)",
    "double": "x.astype(np.float64)", "int": "x.astype(np.int32)", "to": "x.astype(np.float32)",
    "dim": "x.ndim", "pow": "x ** 2", "rsqrt": "1 / np.sqrt(x)", "erf": "math.erf(x), with `from swizzle import math`",
    **{name: f"np.{name}(x)" for name in ("exp", "log", "sqrt", "tanh", "sin", "cos", "abs", "square", "sign")},
}  # fmt: skip
"""What functions and methods of PyTorch and JAX are in a specification written with NumPy."""


def here(name: str) -> str:
    """Say what stands here for a name of another language, as in `write cuda.blockIdx.x, .y or .z`; '' if unknown."""
    return _NAMES.get(name) or _vector_type(name) or _element_type(name)


def _vector_type(name: str) -> str:
    """Say which type stands for what CUDA or numba call a vector: `make_float4`, `float32x4`, `float3`."""
    parts = re.fullmatch(r"(?:make_)?(u?(?:char|short|int|long|longlong|float|double|half)[1-4])", name)
    word = parts[1] if parts else ""
    if numba := re.fullmatch(r"(u?)(int|float)(8|16|32|64)x([1-4])", name):
        sign, kind, bits, lanes = numba.groups()
        word = sign + _VECTOR_WORDS.get(kind + bits, "") + lanes
    if word in VECTOR_TYPES:
        return f"write cuda.{word}"
    if not word:
        return ""
    return f"vectors have two or four numbers, and at most 16 bytes: {', '.join(VECTOR_TYPES)}, all of cuda"


def _element_type(name: str) -> str:
    same = _WORDS.get(name)
    if same is None and (parts := re.fullmatch(r"(bfloat|bf|float|uint|int|[fiu])_?(\d+)(?:_t)?", name)):
        same = _LETTERS[parts[1]] + parts[2]
    if same is None:
        return ""
    return f"write {same}" if same in _TYPES and same != name else f"the element types are {', '.join(_TYPES)}"


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
