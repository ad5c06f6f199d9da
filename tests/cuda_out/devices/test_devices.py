"""Device tables: what is in them, and what is said of one that is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cuda_out.devices.device import TABLES, device, device_names
from symbolic.errors import SwizzleError


def test_each_table_has_its_name_and_sources() -> None:
    """Six GPUs; each number has one source, or none was found; a multiprocessor has no more threads than its warps."""
    assert device_names() == ["a100", "h100", "h200", "k4000", "l4", "rtx4090"]
    for name in device_names():
        table = device(name)
        assert table.name == name
        assert all(len(source) > 20 for source in table.sources.values())
        sourced = sorted(number for numbers in table.sources for number in numbers.split(", "))
        assert sourced == sorted(set(table.__struct_fields__) - {"name", "title", "sources"})
        assert table.threads_per_multiprocessor == 32 * table.warps_per_multiprocessor
        assert table.shared_per_block <= table.shared_per_multiprocessor


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    """A file is read as the tables that come along are; its hash is of its numbers."""
    numbers = json.loads((TABLES / "h100.json").read_text())
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(numbers | {"sources": {}}))
    assert device(str(path)).hash == device("h100").hash
    path.write_text(json.dumps(numbers | {"clock_hz": 1.5e9}))
    assert device(str(path)).hash != device("h100").hash


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"clock_hz": 0}, "`clock_hz` is 0"),
        ({"clock": 1}, "unknown field `clock`"),
        ({"l2_bytes": "many"}, "l2_bytes"),
    ],
)
def test_a_wrong_table_is_one_error(tmp_path: Path, change: dict[str, object], said: str) -> None:
    """What is wrong is named."""
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(json.loads((TABLES / "h100.json").read_text()) | change))
    with pytest.raises(SwizzleError, match=re.escape(said)):
        device(str(path))


def test_an_unknown_device_is_told_the_known_ones() -> None:
    """A name, or a file, that does not exist."""
    with pytest.raises(SwizzleError, match=r"did you mean h100\?"):
        device("h10")
    with pytest.raises(SwizzleError, match="cannot read the device table"):
        device("nowhere.json")
