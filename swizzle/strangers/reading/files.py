"""Somebody's CUDA file, read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from swizzle.strangers.reading.launch import check_options
from swizzle.strangers.reading.text import MOST_BYTES, CudaText
from symbolic.errors import Place, SwizzleError
from symbolic.files import file_bytes


def cuda_text(
    path: Path, includes: Sequence[str] = (), defines: Sequence[str] = (), *, expected: str, fix: str
) -> CudaText:
    """Return the text of a CUDA file, with folders of headers and macros; raises SwizzleError, which says what was
    `expected`, where it cannot be read."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise SwizzleError(
                f"{path} has more than {MOST_BYTES} bytes",
                expected="the text of a kernel",
                fix="give it the file that has the kernel, without generated tables",
            )
        text = file_bytes(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise SwizzleError(f"{path} cannot be read: {why}", expected=expected, fix=fix) from None
    text = text.replace("\r\n", "\n")
    if (at := text.find("\r")) >= 0:
        place = Place(str(path), text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
        raise SwizzleError(
            "a carriage return within a line", place=place,
            expected="lines that end with a line feed: no compiler takes it for the end of a line",
            fix="save the file with line feeds",
        )  # fmt: skip
    check_options(includes, defines)
    return CudaText(str(path), text, includes, defines)
