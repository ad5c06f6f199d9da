"""Write files completely or not at all, those that belong together too."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from symbolic.errors import SwizzleError


def write_whole(path: Path, text: str) -> None:
    """Write a text file through a temporary one in the same folder, which is created if it does not exist.

    Raises SwizzleError if the folder cannot be created or written.
    """
    write_all({path: text})


def write_all(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files, all of them or, where one finds no room, none; they appear in the order given.

    So what comes first, NAME.json, stands beside a new NAME.cu whenever this process ends. Raises SwizzleError if a
    folder cannot be created or written.
    """
    written: dict[Path, str] = {}
    path = Path()
    try:
        try:
            for path, text in contents.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                handle, written[path] = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
                with os.fdopen(handle, "wb") as file:
                    file.write(text if isinstance(text, bytes) else text.replace("\n", os.linesep).encode())
                os.chmod(written[path], 0o666 & ~_umask())
            for path in contents:
                os.replace(written[path], path)
                del written[path]
        finally:
            for temporary in written.values():
                os.unlink(temporary)
    except OSError as error:
        raise cannot_be_written(path, error) from error


def cannot_be_written(path: Path, error: OSError) -> SwizzleError:
    """Say that there is no room for a file, or no folder."""
    return SwizzleError(
        f"{path} cannot be written: {error.strerror}",
        expected="a folder with room for it",
        fix="name another folder with -o",
    )


def check_folder(folder: Path) -> None:
    """Refuse an output folder that can never be written, before any work is done for it."""
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        raise SwizzleError(
            f"{existing} is a file", expected="a folder for NAME.cu and NAME.json", fix="name another folder with -o"
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        raise SwizzleError(
            f"the folder {existing} cannot be written",
            expected="a folder for NAME.cu and NAME.json",
            fix="name another folder with -o",
        )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
