"""`swizzle cache`: what is kept of earlier answers, and how to be rid of it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Literal, TextIO

from msgspec import Struct

from swizzle.commands.output import DONE
from swizzle.solving.cache.entries import CacheEntry, cache_folder, clear, entries, why_unused
from swizzle.solving.solution.in_words import cost_text, count
from symbolic.errors import SwizzleError


class CacheArguments(Struct, frozen=True):
    """`swizzle cache`."""

    action: Literal["show", "clear"] = "show"
    json_object: bool = False


def cache(arguments: CacheArguments, out: TextIO, err: TextIO) -> int:
    """Show the cache of answers, or clear it."""
    folder = cache_folder()
    if folder is None:
        raise SwizzleError(
            "there is no cache folder: this user has no home folder",
            expected="a home folder, or an absolute XDG_CACHE_HOME",
            fix="set SWIZZLE_CACHE_DIR to a folder",
        )
    if arguments.action == "clear":
        removed, size = clear(folder)
        left = len(list(entries(folder)))
        if left:
            raise SwizzleError(
                f"{count(left, 'file')} in {folder} cannot be removed", fix="look at the folder's permissions"
            )
        out.write(f"removed {count(removed, 'answer')}, {_bytes(size)}, from {folder}\n")
        return DONE
    found = list(entries(folder))
    kept = [entry for entry in found if entry.content is not None]
    size = sum(entry.size for entry in found)
    if arguments.json_object:
        listing = [{**_described(entry), "bytes": entry.size, "key": entry.path.stem} for entry in kept]
        answer = {
            "folder": str(folder),
            "unused": why_unused(folder),
            "answers": len(kept),
            "bytes": size,
            "entries": listing,
        }
        out.write(json.dumps(answer, indent=2) + "\n")
        return DONE
    out.write(f"{folder}: {count(len(kept), 'answer')}, {_bytes(size)}\n")
    rows = [(_name(entry.content or {}), _verdict(entry.content or {}), _age(entry)) for entry in kept]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    for name, verdict, age in rows:
        out.write(f"  {name:<{widths[0]}}  {verdict:<{widths[1]}}  {age}\n")
    if len(found) > len(kept):
        out.write(f"  {count(len(found) - len(kept), 'damaged file')}, ignored\n")
    if why := why_unused(folder):
        out.write(f"  not used: {why}\n")
    return DONE


def _described(entry: CacheEntry) -> dict[str, Any]:
    content = entry.content or {}
    return {name: content.get(name) for name in ("sketch", "file", "parameters", "status", "space", "optimal")}


def _name(content: Mapping[str, Any]) -> str:
    parameters = content.get("parameters")
    chosen = "".join(f" {name}={value}" for name, value in dict(parameters or {}).items())
    return f"{content.get('file')}:{content.get('sketch')}{chosen}"


def _verdict(content: Mapping[str, Any]) -> str:
    where = f" in Space {content['space']}" if content.get("space") else ""
    solutions = content.get("solutions")
    if content.get("status") == "unsat" or not isinstance(solutions, list) or not solutions:
        return f"none{where}"
    proved = "proved minimal" if content.get("optimal") else "best so far"
    more = f", {len(solutions)} solutions" if len(solutions) > 1 else ""
    return f"{cost_text(solutions[0]['cost'])}, {proved}{where}{more}"


def _age(entry: CacheEntry) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.modified))


def _bytes(size: int) -> str:
    """Return '512 bytes', '3.4 KiB', ...

    >>> _bytes(512), _bytes(3482)
    ('512 bytes', '3.4 KiB')
    """
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.1f} KiB" if size < 1 << 20 else f"{size / (1 << 20):.1f} MiB"
