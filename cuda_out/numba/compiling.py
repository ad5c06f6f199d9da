"""A module's kernel compiled to PTX by numba itself, which needs no GPU: what a launch on contiguous arrays would run.

Functions of mathematics, and the device functions of users' operators and of words, stay calls, as in CUDA C++
(`cuda_out.compile.opaque`): the first without a body, the others with what numba makes of them.
"""

from __future__ import annotations

import ast
import math
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, Signature
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from cuda_out.compile.children import TooLong, call_child, is_confined, refused
from cuda_out.compile.opaque import PREFIX, SPELLED
from cuda_out.compile.toolchain import COMPILE_SECONDS, include_directories
from cuda_out.numba.expressions import NUMBA_TYPE
from cuda_out.numba.module_text import TYPES, NumbaModule, converted
from symbolic.algebra.states import named_apart
from symbolic.errors import printable
from symbolic.ir.program import DType, Program
from symbolic.ir.walk import operators_of

Typed: TypeAlias = "tuple[str, tuple[DType, ...], DType]"
"""A function of a PTX module: its name, the types of its operands, and its own."""


class NotCompiled(Exception):
    """No PTX of a kernel, and why."""


class NotInstalled(NotCompiled):
    """Numba or its compiler is not here."""


class _Answer(Struct, frozen=True):
    ptx: str
    why: str = ""


@lru_cache(maxsize=1)
def why_not_compiled() -> str:
    """Return why numba compiles nothing here, '' where it does: libnvvm comes with a toolkit or the extra `gpu`."""
    if find_spec("numba_cuda") is None:
        return "numba-cuda is not installed"
    try:
        import_module("cuda.pathfinder").load_nvidia_dynamic_lib("nvvm")
    except (ImportError, RuntimeError):
        return "libnvvm, which numba-cuda compiles with, is not on this machine"
    return ""


def compile_kernel(module: NumbaModule, program: Program, architectures: Sequence[str]) -> dict[str, str]:
    """Return the PTX of a module's kernel, by architecture, without those that the compiler does not know.

    A stranger's kernel (`cuda_out.compile.children.confined`) is compiled in a sandbox. Raises NotCompiled.
    """
    if why := why_not_compiled():
        raise NotInstalled(why)
    if why := refused():
        raise NotCompiled(why)
    _numba()  # before a fork

    def work() -> bytes:
        return msgspec.msgpack.encode([_answer(module, program, each) for each in architectures])

    if is_confined():
        code = [Path(folder) for folder in {sys.prefix, sys.base_prefix, *include_directories()}]
        try:
            said = call_child(work, seconds=COMPILE_SECONDS, reads=code)
        except TooLong:
            raise NotCompiled(f"numba has no answer after {COMPILE_SECONDS} seconds, or broke down") from None
    else:
        said = work()
    answers = dict(zip(architectures, msgspec.msgpack.decode(said, type=list[_Answer]), strict=True))
    if not any(answer.ptx for answer in answers.values()):
        raise NotCompiled(f"numba does not compile it: {answers[architectures[0]].why}")
    return {arch: answer.ptx for arch, answer in answers.items() if answer.ptx}


@lru_cache(maxsize=1)
def _numba() -> Any:
    """Return numba.cuda; what it needs to compile is loaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_module("numba.cuda.cudadrv.nvvm").NVVM()
        return import_module("numba").cuda


def _answer(module: NumbaModule, program: Program, arch: str) -> _Answer:
    cuda, types = _numba(), import_module("numba").types
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names, bodies = _Names(module, program).namespace(int(arch.removeprefix("sm_")))
            kernel = _function(module.kernel, names)
            given = [
                _type(p.dtype) if p.is_scalar else types.Array(_type(p.dtype), len(p.shape), "C")
                for p in program.parameters
            ]
            ptx, _ = cuda.compile_ptx(kernel, types.void(*given), cc=_capability(arch))
    except Exception as error:  # whatever numba, llvmlite and NVVM raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return _Answer("", printable(": ".join(lines[:2]) or type(error).__name__)[:300])
    return _Answer("\n".join([ptx, *bodies]))


def _capability(arch: str) -> tuple[int, int]:
    return divmod(int(arch.removeprefix("sm_")), 10)


def _type(dtype: DType) -> Any:
    return getattr(import_module("numba").types, NUMBA_TYPE[dtype].rstrip("_").replace("bool", "boolean"))


def _function(function: ast.FunctionDef, names: Mapping[str, Any]) -> Any:
    """Return a function with names of its own; a `def` without decorators, defaults and annotations runs nothing."""
    plain = deepcopy(function)
    plain.decorator_list, plain.returns = [], None
    for each in plain.args.args:
        each.annotation = None
    assert not (plain.args.defaults or plain.args.kw_defaults)
    scope = dict(names)
    exec(compile(ast.Module([plain], []), "a kernel for numba.cuda", "exec"), scope)
    return scope[plain.name]


class _Names:
    """What the names of a module's kernel stand for while it is compiled."""

    def __init__(self, module: NumbaModule, program: Program) -> None:
        self.module, self.program = module, program

    def namespace(self, capability: int) -> tuple[dict[str, Any], list[str]]:
        """Return what the names stand for, and the PTX of the functions that it calls."""
        numba = import_module("numba")
        names: dict[str, Any] = {name: getattr(numba, name) for name in TYPES}
        names |= {"cuda": _numba(), "inf": math.inf, "nan": math.nan, **self._mathematics()}
        bodies = []
        for name, signature, function in self._device():
            bodies.append(_body(function, signature, names, capability))
            names[name] = _external([signature])
        return names, bodies

    def _mathematics(self) -> dict[str, ModuleType]:
        """Return modules like math and libdevice whose functions are only declared."""
        modules = {name: ModuleType(name) for name in ("math", "libdevice")}
        rows: dict[str, list[Typed]] = {}
        for name, (row, dtype) in SPELLED.items():
            own = row.numba + ("f" if row.numba.startswith("libdevice.") and dtype is DType.F32 else "")
            if dtype in (DType.F32, DType.F64):
                rows.setdefault(own, []).append((PREFIX + name, (dtype,) * len(row.operands), dtype))
        for own, signatures in rows.items():
            module, _, function = own.partition(".")
            if module in modules:
                setattr(modules[module], function, _external(signatures))
        return modules

    def _device(self) -> list[tuple[str, Typed, ast.FunctionDef]]:
        """Return the device functions: what the kernel calls each, what a PTX module does, and its text."""
        own = {op: name for name, op in self.module.operators.items()}
        apart, functions = named_apart(self.program)[1], self.module.device
        return [
            (converted(own[op], NUMBA_TYPE[dtype]), (f"{op}_{dtype.value}", (dtype, dtype), dtype), functions[own[op]])
            for op, dtype in operators_of(self.program)
        ] + [
            (name, (apart[word].spelled, apart[word].given, apart[word].result), functions[name])
            for name, word in self.module.words.items()
        ]


def _body(function: ast.FunctionDef, signature: Typed, names: Mapping[str, Any], capability: int) -> str:
    """Return a device function as PTX, to stand behind a kernel."""
    name, given, result = signature
    of = _type(result)(*map(_type, given))
    ptx, _ = _numba().compile_ptx(
        _function(function, {**names, "math": math, "libdevice": import_module("numba.cuda").libdevice}),
        of, device=True, abi="c", abi_info={"abi_name": name}, cc=divmod(capability, 10),
    )  # fmt: skip
    return re.sub(r"^\.(?:version|target|address_size)[^\n]*$", "", ptx, flags=re.MULTILINE)


def _external(signatures: Sequence[Typed]) -> Any:
    """Return a function for kernels that is a call, of the first signature whose types are those of its operands."""
    ir = import_module("llvmlite").ir

    def typed(context: Any, *given: Any) -> Any:
        fits = [each for each in signatures if tuple(map(_type, each[1])) == given]
        if not fits:
            return None
        name, operands, result = fits[0]

        def call(target: Any, builder: Any, of: Any, arguments: Any) -> Any:
            kinds = [target.get_value_type(each) for each in of.args]
            known = builder.module.globals.get(name)
            kind = ir.FunctionType(target.get_value_type(of.return_type), kinds)
            return builder.call(known or ir.Function(builder.module, kind, name), arguments)

        return _type(result)(*map(_type, operands)), call

    given = [f"operand_{number}" for number in range(len(signatures[0][1]))]  # numba asks for their names
    of = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("context", *given)]
    typed.__signature__ = Signature(of)  # type: ignore[attr-defined]
    return import_module("numba.cuda.extending").intrinsic(typed)
