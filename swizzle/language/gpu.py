"""`gpu` in sketch files: the numbers of the GPU that is tuned for, such as `gpu.shared_per_block`.

They are of the table of `swizzle tune --device` (`cuda_out/devices`), and of an H100 everywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from cuda_out.devices.device import Device, device
from swizzle.language.element_types import caller_place
from symbolic.errors import SwizzleError, near

USUAL: Final = "h100"
_tuned: ContextVar[Device | None] = ContextVar("tuned", default=None)


def tuned_device() -> Device:
    """Return the table of the GPU that is tuned for."""
    return _tuned.get() or device(USUAL)


@contextmanager
def tuning_for(table: Device) -> Iterator[None]:
    """Make a table that of `gpu`, for as long as the scope is open."""
    token = _tuned.set(table)
    try:
        yield
    finally:
        _tuned.reset(token)


def gpu_numbers() -> dict[str, int]:
    """Return the whole numbers of the table by their names."""
    table = tuned_device()
    found = {name: getattr(table, name) for name in table.__struct_fields__}
    return {name: value for name, value in found.items() if isinstance(value, int)}


class Gpu:
    """What the GPU that is tuned for has of everything: `gpu.shared_per_block`, `gpu.threads_per_block`, ..."""

    def __getattr__(self, name: str) -> int:
        numbers = gpu_numbers()
        if name in numbers:
            return numbers[name]
        if name[:2] == "__":  # what Python asks of any object
            raise AttributeError(name)
        raise SwizzleError(
            f"gpu has no {name}", place=caller_place(), expected=f"one of {', '.join(numbers)}",
            fix=near(name, numbers) or "name one of these",
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<gpu {tuned_device().name}>"


gpu: Final = Gpu()
