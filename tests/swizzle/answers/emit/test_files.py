"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from swizzle.answers.emit.files import write_all, write_whole
from symbolic.errors import SwizzleError


def test_the_folder_is_made(tmp_path: Path) -> None:
    """A file goes into a folder that was not there."""
    path = tmp_path / "a" / "b" / "k.cu"
    write_whole(path, "text\n")
    assert path.read_text() == "text\n"


def test_nothing_else_is_left(tmp_path: Path) -> None:
    """The temporary file is gone and an older file is replaced."""
    path = tmp_path / "k.cu"
    path.write_text("old")
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["k.cu"]


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the text cannot be put in place, the old one stays and no temporary file does."""
    path = tmp_path / "k.cu"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(SwizzleError, match="No space left on device"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["k.cu"]


def test_a_folder_that_cannot_be_made_is_the_users_mistake(tmp_path: Path) -> None:
    """A file in the place of the folder is named in the error."""
    (tmp_path / "out").write_text("a file")
    with pytest.raises(SwizzleError, match=r"k\.cu cannot be written"):
        write_whole(tmp_path / "out" / "k.cu", "text")


def test_the_usual_permissions(tmp_path: Path) -> None:
    """A written file is as readable as any other that the user makes."""
    write_whole(tmp_path / "a", "")
    (tmp_path / "b").write_text("")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_where_one_file_finds_no_room_none_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there stays as it was, and no unfinished file stays."""
    (tmp_path / "k.json").write_text("old")
    opened = os.fdopen

    def full(handle: int, *words: object, **options: object) -> object:
        if any(path.name.startswith(".k.cu.") for path in tmp_path.iterdir()):
            os.close(handle)
            raise OSError(errno.ENOSPC, "No space left on device")
        return opened(handle, *words, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(SwizzleError, match=r"k\.cu cannot be written: No space left on device"):
        write_all({tmp_path / "k.json": "new", tmp_path / "k.cu": "new"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"k.json": "old"}


def test_a_kernel_never_stands_without_its_solution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the process ends: the solution comes first."""
    replaced = os.replace

    def dies(old: str, new: Path) -> None:
        if new.name == "k.cu":
            raise KeyboardInterrupt
        replaced(old, new)

    monkeypatch.setattr(os, "replace", dies)
    with pytest.raises(KeyboardInterrupt):
        write_all({tmp_path / "k.json": "new", tmp_path / "k.cu": "new"})
    assert [path.name for path in tmp_path.iterdir()] == ["k.json"]
