"""Device functions of printed texts that are instructions of a whole warp, as a host compiler takes them.

What is inline PTX in a body of `cuda_out.c.warp_text` becomes a call of `emulate_matrices.h`, on as many lines.
"""

from __future__ import annotations

import re
from typing import Final

_FUNCTION: Final = re.compile(
    r"^(__device__ __forceinline__ void (?:mma_m(?P<m>\d+)n8k(?P<k>\d+)|(?P<move>ldmatrix|stmatrix|movmatrix)_x\d"
    r"(?P<trans>_trans)?)\((?P<parameters>[^{]*)\)) \{\n(?P<body>(?:  .*\n)+)\}$",
    re.MULTILINE,
)


def with_emulated_matrices(text: str) -> str:
    """Return a text without inline PTX of matrices."""
    return _FUNCTION.sub(_emulated, text) if "asm volatile" in text else text


def included(text: str) -> str:
    """Return the line that includes what such a text calls, '' if it calls nothing."""
    return '#include "emulate_matrices.h"\n' if "swizzle_emulation::" in text else ""


def _emulated(found: re.Match[str]) -> str:
    names = re.findall(r"\(&(\w+)\)", found["parameters"])
    if found["move"] is None:
        call = f"multiply<{found['m']}, {found['k']}>({', '.join(names)})"
    elif found["move"] == "movmatrix":
        call = f"move_matrix({', '.join(names)})"
    else:
        kind, trans = "load" if found["move"] == "ldmatrix" else "store", "true" if found["trans"] else "false"
        call = f"{kind}_matrices<{trans}>(row, {', '.join(names)})"
    lines = found["body"].count("\n")
    return f"{found[1]} {{\n  swizzle_emulation::{call};" + "\n" * lines + "}"
