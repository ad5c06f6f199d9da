"""Files that commands read: nothing but files, as a pipe or a device may come to no end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_AT_ONCE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # the last one on Windows


def file_bytes(path: Path) -> bytes:
    """Return what a file holds; raise OSError for what cannot be read, and at once for a pipe or a device."""
    handle = os.open(path, _AT_ONCE)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is a pipe, a socket or a device, and no file", str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def file_text(path: Path) -> str:
    """Return the text of a file in UTF-8, whose lines may end in any way; raise OSError or UnicodeDecodeError."""
    return file_bytes(path).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
