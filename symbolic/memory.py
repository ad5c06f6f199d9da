"""How much memory this process and its children hold, how much there is, and how much they may hold."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from symbolic.errors import SwizzleError, shown

SHARE: Final = 0.75
"""The part of the memory that is free which a command takes, unless it is told how much."""
MOST: Final = 1 << 60
"""The most bytes that a limit may be: the system counts them in words of 64 bits, and some slack comes on top."""


def held_bytes() -> int:
    """Return the bytes that this process holds, with what its children hold for themselves."""
    return resident() + sum(map(_private, _children("self")))


def resident() -> int:
    """Return the bytes that this process holds; the most that it ever held, where only that is known."""
    with suppress(OSError, ValueError, IndexError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE
    with suppress(ImportError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (0 if sys.platform == "darwin" else 10)
    return 0


_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def _children(process: str) -> list[str]:
    """Return the processes that a process has started, with theirs."""
    found: list[str] = []
    with suppress(OSError):
        for task in os.listdir(f"/proc/{process}/task"):
            with suppress(OSError), open(f"/proc/{process}/task/{task}/children", encoding="ascii") as file:
                for child in file.read().split():
                    found += [child, *_children(child)]
    return found


def _private(process: str) -> int:
    """Return the bytes that a process shares with no other: a forked one has the pages of its parent at first."""
    with suppress(OSError, ValueError), open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
        lines = [line.split() for line in file if line.startswith("Private_")]
        return sum(int(line[1]) for line in lines) << 10
    return 0


def default_memory() -> int | None:
    """Return how much memory work may hold unless it is told: a share of what is free, and what is held already."""
    free = [number for number in (_available(), _group()) if number is not None]
    return int(SHARE * min(free)) + resident() if free else None


def _available() -> int | None:
    with suppress(OSError, ValueError), open("/proc/meminfo", encoding="ascii") as file:
        sizes: Mapping[str, str] = dict(line.split(":", 1) for line in file)
        return int(sizes["MemAvailable"].split()[0]) << 10
    with suppress(ValueError, OSError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _group() -> int | None:
    """Return what is left to the control group of this process, such as a container's."""
    for most, now in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):
            with open(f"/sys/fs/cgroup/{most}", encoding="ascii") as file:
                limit = int(file.read())
            with open(f"/sys/fs/cgroup/{now}", encoding="ascii") as file:
                return max(0, limit - int(file.read()))
    return None


def harden(memory: int) -> None:
    """Refuse this process, from here on, much more than so many bytes: one large array is there before anyone looks.

    For the command line only, as it is the whole process that is refused. The slack is for the watch, which comes first
    wherever memory grows step by step.
    """
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        with open("/proc/self/statm", "rb") as file:
            fields = file.read().split()
        data = int(fields[5]) * _PAGE
        most = data + int(1.25 * max(0, memory - resident())) + (512 << 20)
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def released() -> None:
    """Give memory that was freed back to the system, which counts it as ours until then."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def size_text(size: int) -> str:
    """Return a number of bytes as people write it: 4.0 GiB."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def size_of(size: int | str) -> int:
    """Return the bytes that a size says: a number, or a text such as '4G', '512M' or '1.5GiB'."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kmgt]?)(?:i?b)?", size.strip().lower()) if isinstance(size, str) else None
    bytes_: float = float(found[1]) * 1024 ** " kmgt".index(found[2] or " ") if found else 0
    bytes_ = bytes_ if isinstance(size, str) else size
    if type(bytes_) not in (int, float) or not 1 <= bytes_ <= MOST:
        raise SwizzleError(
            f"a memory limit of {shown(size)}", expected="bytes, more than 0 and at most 2**60", fix="'4G' or '512M'"
        )
    return int(bytes_)
