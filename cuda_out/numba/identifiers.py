"""Python names for the program's names: legal, not reserved, and not used by the printed module itself."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable
from typing import Final

from cuda_out.c.identifiers import different_names
from symbolic.ir.program import DType

NUMBA_TYPE: Final = {dtype: dtype.row.numba for dtype in DType if dtype.row.numba}
"""numba's types of values; half precision is missing, because numba does not compute with it."""
OWN: Final = frozenset(
    ["cuda", "math", "libdevice", "inf", "nan", "stream", "checks", "name", "array", "dtype", "shape", "found"]
).union(NUMBA_TYPE.values())


def python_name(name: str) -> str:
    """Return the name, with an underscore added if Python or the printed module reserves it."""
    reserved = keyword.iskeyword(name) or hasattr(builtins, name) or name in OWN
    return f"{name}_" if reserved else name


def python_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Return a Python name for each name, all different."""
    return different_names(names, python_name, taken)
