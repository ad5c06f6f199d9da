"""The cache's files: whole or not at all, shared by processes, and never a reason to fail."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from swizzle.solving.cache import entries as cache
from swizzle.solving.cache.entries import cache_folder, clear, entries, read_entry, why_unused, write_entry

KEY, OTHER = "a" * 64, "b" * 64


def kept(folder: Path | None, key: str) -> object:
    content = read_entry(folder, key)
    return None if content is None else content["status"]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """An entry is found under its key and no other."""
    write_entry(tmp_path / "answers", KEY, {"status": "sat"})
    assert (kept(tmp_path / "answers", KEY), kept(tmp_path / "answers", OTHER)) == ("sat", None)
    assert [path.name for path in (tmp_path / "answers").iterdir()] == [f"{KEY}.json"]


def rewrite(change: Callable[[dict[str, object]], object]) -> Callable[[str], str]:
    def edit(text: str) -> str:
        content = json.loads(text)
        change(content)
        return json.dumps(content)

    return edit


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[1, 2]",
        lambda text: "[" * 100_000,
        lambda text: "\x00\x01",
        lambda text: text.replace("sat", "unsat"),
        rewrite(lambda content: content.pop("checksum")),
        rewrite(lambda content: content.update(format="another")),
        rewrite(lambda content: content.update(key=OTHER)),
        rewrite(lambda content: content.update(key=7)),
    ],
)
def test_a_damaged_entry_is_none(tmp_path: Path, spoil: Callable[[str], str]) -> None:
    """Cut short, changed, of another kind: it is not believed, and listed as no answer."""
    write_entry(tmp_path, KEY, {"status": "sat"})
    path = tmp_path / f"{KEY}.json"
    path.write_text(spoil(path.read_text()))
    assert kept(tmp_path, KEY) is None
    assert [entry.content for entry in entries(tmp_path)] == [None]
    write_entry(tmp_path, KEY, {"status": "sat"})
    assert kept(tmp_path, KEY) == "sat"
    (entry,) = entries(tmp_path)
    assert entry.content is not None and entry.content["status"] == "sat"


def test_only_ones_own_answers_are_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write to the folder can make an entry, but not sign it: nor where its secret may be read by all."""
    body = {"format": cache.FORMAT, "key": KEY, "status": "unsat"}
    plain = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    (tmp_path / f"{KEY}.json").write_text(json.dumps({**body, "checksum": plain}))
    assert kept(tmp_path, KEY) is None
    monkeypatch.setenv("SWIZZLE_STATE_DIR", str(tmp_path / "theirs"))
    write_entry(tmp_path, KEY, {"status": "unsat"})
    assert kept(tmp_path, KEY) == "unsat"
    monkeypatch.setenv("SWIZZLE_STATE_DIR", str(tmp_path / "mine"))
    assert kept(tmp_path, KEY) is None
    write_entry(tmp_path, KEY, {"status": "sat"})
    key = tmp_path / "mine" / "key"
    assert kept(tmp_path, KEY) == "sat" and key.stat().st_mode & 0o777 == 0o600
    key.chmod(0o644)
    assert kept(tmp_path, KEY) is None
    key.chmod(0o600)
    key.rename(tmp_path / "key")
    key.symlink_to(tmp_path / "key")
    assert kept(tmp_path, KEY) is None


def test_a_folder_of_others_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others may write, a link, and another user's: nothing is read or written, and it is said why."""
    folder = tmp_path / "answers"
    write_entry(folder, KEY, {"status": "sat"})
    assert (kept(folder, KEY), why_unused(folder)) == ("sat", "")
    folder.chmod(0o777)
    assert (kept(folder, KEY), why_unused(folder)) == (None, "others may write to it")
    write_entry(folder, OTHER, {"status": "sat"})
    folder.chmod(0o700)
    assert kept(folder, OTHER) is None
    (tmp_path / "link").symlink_to(folder)
    assert kept(tmp_path / "link", KEY) is None and why_unused(tmp_path / "link").startswith("it is a link")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert (kept(folder, KEY), why_unused(folder)) == (None, "it belongs to another user")


def test_an_entry_under_another_name_is_none(tmp_path: Path) -> None:
    """A copied file does not answer another question."""
    write_entry(tmp_path, KEY, {"status": "sat"})
    (tmp_path / f"{KEY}.json").rename(tmp_path / f"{OTHER}.json")
    assert kept(tmp_path, OTHER) is None
    assert [entry.content for entry in entries(tmp_path)] == [None]


def test_what_cannot_be_read_or_written_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder, a file in its place, a folder in the entry's place, a full disk: a solve job goes on."""
    (tmp_path / "file").write_text("")
    (tmp_path / f"{KEY}.json").mkdir()
    for folder in (None, tmp_path / "file" / "answers", tmp_path):
        write_entry(folder, KEY, {"status": "sat"})
        assert kept(folder, KEY) is None

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "replace", full)
    write_entry(tmp_path / "new", KEY, {"status": "sat"})
    assert list((tmp_path / "new").iterdir()) == []


def test_an_answer_of_megabytes_is_not_kept(tmp_path: Path) -> None:
    """The cache holds small files."""
    write_entry(tmp_path, KEY, {"status": "x" * cache.MOST_BYTES})
    assert list(entries(tmp_path)) == []


def test_clear_removes_entries_and_nothing_else(tmp_path: Path) -> None:
    """A file that somebody else put there stays."""
    write_entry(tmp_path, KEY, {"status": "sat"})
    (tmp_path / ".new-abandoned.json").write_text("{")
    (tmp_path / "notes.json").write_text("{}")
    removed, size = clear(tmp_path)
    assert (removed, size > 100) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.json"]
    assert clear(tmp_path / "nowhere") == (0, 0)


def test_the_oldest_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit, what was used longest ago goes; what was read lately stays."""
    monkeypatch.setattr(cache, "MOST_ENTRIES", 8)
    keys = [f"{number:064x}" for number in range(9)]
    for age, key in enumerate(keys[:8]):
        write_entry(tmp_path, key, {"status": "sat"})
        os.utime(tmp_path / f"{key}.json", (age, age))
    assert kept(tmp_path, keys[0]) == "sat"
    write_entry(tmp_path, keys[8], {"status": "sat"})
    left = {path.stem for path in tmp_path.iterdir()}
    assert left == {keys[0], *keys[4:]}


WRITER = """
import sys
from pathlib import Path
from swizzle.solving.cache.entries import read_entry, write_entry
folder, key, name = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
for _ in range(60):
    write_entry(folder, key, {"status": "sat", "by": name * 2000})
    assert len(set(read_entry(folder, key)["by"])) == 1
"""


def test_processes_share_the_folder(tmp_path: Path) -> None:
    """While several write one entry, each reads it whole."""
    command = [sys.executable, "-c", WRITER, str(tmp_path), KEY]
    running = [subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in "xyz"]
    complaints = [process.communicate(timeout=60)[1] for process in running]
    assert ([process.returncode for process in running], complaints) == ([0, 0, 0], ["", "", ""])
    assert [path.name for path in tmp_path.iterdir()] == [f"{KEY}.json"]


@pytest.mark.skipif(sys.platform != "linux", reason="the convention of Linux")
def test_the_folder_is_where_the_platform_has_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own variable wins, then the standard's, then the home folder; a relative standard one is ignored."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("SWIZZLE_CACHE_DIR", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own" / "answers"
    monkeypatch.delenv("SWIZZLE_CACHE_DIR")
    assert cache_folder() == tmp_path / "xdg" / "swizzle" / "answers"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / ".cache" / "swizzle" / "answers"
    monkeypatch.setenv("HOME", "nowhere")
    assert cache_folder() is None
