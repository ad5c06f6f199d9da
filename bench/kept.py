"""Rows of a measurement that are kept as they come, so that one which was interrupted goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def rows_so_far(path: Path, mark: str) -> dict[str, dict[str, Any]]:
    """Return the rows of an unfinished measurement of the same code on the same machine."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    rows: dict[str, dict[str, Any]] = content["rows"] if content.get("fingerprint") == mark else {}
    return rows


def keep_rows(path: Path, mark: str, rows: Mapping[str, dict[str, Any]]) -> None:
    """Write what there is of an unfinished measurement."""
    write_whole(path, json.dumps({"fingerprint": mark, "rows": rows}) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file that is either there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
