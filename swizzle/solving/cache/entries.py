"""The cache's files: JSON, one file for each answer, in the user's cache folder.

A file is written completely or not at all, so several processes may share the folder. A file that cannot be read,
contains another key or is not signed with this user's own secret (`solving.solution.seal`) is no entry: of an answer
such as 'none', or 'proved minimal', nothing is proved again, so it must be one's own. A folder in which others may put
files or links is not used. An entry that cannot be written is not kept. Nothing here ever
makes a solve job fail.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from swizzle.solving.solution.seal import is_signed, signature
from symbolic.files import file_bytes

FORMAT: Final = "swizzle answer 1"
VARIABLE: Final = "SWIZZLE_CACHE_DIR"
_KIND: Final = "answer"
MOST_ENTRIES: Final = 4096
"""Beyond this, the quarter that was used longest ago makes room."""
MOST_BYTES: Final = 4 << 20
"""Of one entry; an answer with very many solutions is not kept."""


def cache_folder() -> Path | None:
    """Return the folder of the entries (it may not exist), by the platform's convention; None without a home.

    SWIZZLE_CACHE_DIR comes first, then XDG_CACHE_HOME, or its equivalent on macOS and Windows.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).absolute() / "answers"
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the convention: a relative path is to be ignored
        base = os.environ.get("LOCALAPPDATA", "") if sys.platform == "win32" else ""
    if not base:
        with suppress(RuntimeError):
            base = str(Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache"))
    return Path(base) / "swizzle" / "answers" if os.path.isabs(base) else None


def why_unused(folder: Path) -> str:
    """Return why a folder may hold what others put there, '' for one's own; one that is not there will be."""
    try:
        status = folder.lstat()
    except OSError:
        return ""
    if stat.S_ISLNK(status.st_mode):
        return "it is a link, which may lead to a folder of somebody's"
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        return "it belongs to another user"
    return "others may write to it" if status.st_mode & 0o022 and sys.platform != "win32" else ""


class CacheEntry(Struct, frozen=True):
    """One file of the cache; `content` is None if it is no entry."""

    path: Path
    size: int
    modified: float
    content: Mapping[str, Any] | None


def read_entry(folder: Path | None, key: str) -> dict[str, Any] | None:
    """Return what is kept under a key, or None; reading an entry marks it as used now."""
    if folder is None or why_unused(folder):
        return None
    path = _path(folder, key)
    content = _content(path)
    if content is None or content["key"] != key:
        return None
    with suppress(OSError):
        os.utime(path)
    return content


def write_entry(folder: Path | None, key: str, content: Mapping[str, Any]) -> None:
    """Keep content under a key; if that is impossible, do nothing."""
    if folder is None or why_unused(folder):
        return
    body = {"format": FORMAT, "key": key, **content}
    signed = signature(_KIND, _in_order(body), make=True)
    text = json.dumps({**body, "checksum": signed}, indent=1) + "\n"
    if len(text) > MOST_BYTES or not signed:
        return
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(prefix=".new-", suffix=".json", dir=folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(temporary, _path(folder, key))
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        _make_room(folder)


def entries(folder: Path | None) -> Iterator[CacheEntry]:
    """Yield the files of the cache, the most recently used first."""
    for path, status in _files(folder):
        content = None if path.name.startswith(".") else _content(path)
        if content is not None and _path(path.parent, content["key"]) != path:
            content = None
        yield CacheEntry(path, status.st_size, status.st_mtime, content)


def clear(folder: Path | None) -> tuple[int, int]:
    """Remove the cache's files, and no others; return how many files and how many bytes were removed."""
    removed = size = 0
    for path, status in _files(folder):
        with suppress(OSError):
            path.unlink()
            removed, size = removed + 1, size + status.st_size
    if folder is not None:
        with suppress(OSError):
            folder.rmdir()
    return removed, size


def _path(folder: Path, key: str) -> Path:
    return folder / f"{key}.json"


def _files(folder: Path | None) -> list[tuple[Path, os.stat_result]]:
    """Return the regular files that are named like the cache's, the latest used first."""
    found = []
    with suppress(OSError):
        for item in os.scandir(folder) if folder is not None else ():
            name = item.name.removesuffix(".json")
            ours = name.startswith(".new-") or (len(name) == 64 and not set(name) - set("0123456789abcdef"))
            if ours and item.name.endswith(".json"):
                with suppress(OSError):
                    if item.is_file(follow_symlinks=False):
                        found.append((Path(item.path), item.stat(follow_symlinks=False)))
    return sorted(found, key=lambda file: -file[1].st_mtime)


def _make_room(folder: Path) -> None:
    """Remove what was used longest ago when there are too many entries."""
    with suppress(OSError):
        if len(os.listdir(folder)) <= MOST_ENTRIES:
            return
        for path, _ in _files(folder)[MOST_ENTRIES * 3 // 4 :]:
            with suppress(OSError):
                path.unlink()


def _content(path: Path) -> dict[str, Any] | None:
    """Return an entry's object, or None where the file is none: unreadable, cut short, changed, of another format."""
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        content = json.loads(file_bytes(path).decode())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or content.get("format") != FORMAT or not isinstance(content.get("key"), str):
        return None
    signed = content.pop("checksum", None)
    return content if is_signed(_KIND, _in_order(content), signed) else None


def _in_order(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True)
