"""What a GPU has of everything, from tables with their sources: what a lower bound on a kernel's time is made of."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from symbolic.errors import SwizzleError, near
from symbolic.files import file_text

TABLES: Final = Path(__file__).parent
"""The folder of the tables that come with Swizzle, a JSON file for each GPU."""


class Device(Struct, frozen=True, forbid_unknown_fields=True):
    """The table of one GPU. Rates are upper limits and latencies lower ones, so that a bound made of them is one.

    Attributes:
        name: what `--device` calls it.
        title: what its maker calls it.
        compute_capability: such as '9.0'.
        multiprocessors: how many there are.
        clock_hz: the greatest clock at which they run.
        schedulers, issue_per_scheduler: of a multiprocessor; instructions of a warp that each issues in a clock.
        fp32_lanes, fp64_lanes, int32_lanes, special_lanes, load_store_lanes: results in a clock and multiprocessor.
        warps_per_multiprocessor, blocks_per_multiprocessor, threads_per_multiprocessor: that can be resident.
        threads_per_block: at most.
        registers_per_multiprocessor, registers_per_thread: of 32 bits.
        shared_per_multiprocessor, shared_per_block: bytes of shared memory.
        shared_bytes_per_clock: what all banks of a multiprocessor move in a clock.
        l2_bytes, l2_bytes_per_clock: the size of L2, and what is read of it and written to it in a clock, together.
        dram_bytes, dram_bytes_per_second: the size of memory, and what it moves.
        launch_seconds: what a kernel takes that does nothing.
        latency_fma, latency_shared, latency_global, latency_barrier: clocks from an instruction to one that needs it;
            `latency_shared` of the first cache, too, and `latency_global` of a load that L2 has.
        sources: for numbers, by name, where they are from; `not looked up` where nothing was found.
    """

    name: str
    title: str
    compute_capability: str
    multiprocessors: int
    clock_hz: float
    schedulers: int
    issue_per_scheduler: int
    fp32_lanes: int
    fp64_lanes: int
    int32_lanes: int
    special_lanes: int
    load_store_lanes: int
    warps_per_multiprocessor: int
    blocks_per_multiprocessor: int
    threads_per_multiprocessor: int
    threads_per_block: int
    registers_per_multiprocessor: int
    registers_per_thread: int
    shared_per_multiprocessor: int
    shared_per_block: int
    shared_bytes_per_clock: int
    l2_bytes: int
    l2_bytes_per_clock: int
    dram_bytes: int
    dram_bytes_per_second: float
    launch_seconds: float
    latency_fma: int
    latency_shared: int
    latency_global: int
    latency_barrier: int
    sources: dict[str, str]

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            number = getattr(self, field)
            if isinstance(number, (int, float)) and not (number > 0 or (field == "launch_seconds" and number == 0)):
                raise ValueError(f"`{field}` is {number}, and has to be greater than 0")

    @property
    def hash(self) -> str:
        """A hash of the table's numbers, without its sources: what bounds depend on."""
        numbers = msgspec.to_builtins(self) | {"sources": {}, "title": ""}
        return hashlib.sha256(msgspec.json.encode(numbers, order="sorted")).hexdigest()[:16]


def device_names() -> list[str]:
    """Return the names of the GPUs that have a table."""
    return sorted(path.stem for path in TABLES.glob("*.json"))


def device(name: str) -> Device:
    """Return the table of a GPU by name, or that of a JSON file of one's own.

    Raises:
        SwizzleError: there is no such table, or it is not one.
    """
    known = device_names()
    if name in known:
        path = TABLES / f"{name}.json"
    elif name.endswith(".json"):
        path = Path(name)
    else:
        raise SwizzleError(
            f"there is no device {name!r}",
            expected=f"{', '.join(known)}, or a file NAME.json with the same entries",
            fix=near(name, known) or "name one of these",
        )
    try:
        return msgspec.json.decode(file_text(path), type=Device)
    except OSError as error:
        raise SwizzleError(f"cannot read the device table {name}: {error.strerror}", fix="check the path") from None
    except (UnicodeDecodeError, msgspec.MsgspecError) as error:
        raise SwizzleError(
            f"{name} is no device table: {error}", fix=f"copy {TABLES / 'h100.json'}, and change it"
        ) from None
