"""Device functions: what `@cuda.jit(device=True)` makes of a function. Its text is read at each call in a kernel."""

from __future__ import annotations

import ast
from typing import Any

from msgspec import Struct

from swizzle.language.element_types import kernel_only
from swizzle.language.source.kernel_source import KernelSource


class DeviceFunction(Struct, frozen=True, eq=False):
    """A function that kernels, and other device functions, call."""

    kernel: KernelSource

    @property
    def name(self) -> str:
        return self.kernel.definition.name

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(argument.arg for argument in self.kernel.definition.args.args)

    @property
    def result(self) -> ast.expr | None:
        """What the last statement returns, if it is a `return` with a value."""
        last = self.kernel.definition.body[-1]
        return last.value if isinstance(last, ast.Return) else None

    def __call__(self, *_: Any, **__: Any) -> Any:
        kernel_only(f"the device function {self.name}")


def device_function(kernel: KernelSource) -> DeviceFunction:
    """Make a device function from its text; raises `SwizzleError` for parameters that are not plain names."""
    a = kernel.definition.args
    if a.vararg or a.kwarg or a.kwonlyargs or a.posonlyargs or a.defaults:
        kernel.source.mistake(
            kernel.definition,
            f"the parameters of {kernel.definition.name} have `*`, `/` or defaults",
            f"plain names: def {kernel.definition.name}(a, b, k):",
            "give every argument at each call",
        )
    return DeviceFunction(kernel)
