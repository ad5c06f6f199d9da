"""A sandbox for what a stranger's text makes a compiler or a program do: Landlock for files, seccomp for the rest.

A process enters it between fork and exec, and cannot leave it, nor can what it starts. It reads the system's programs
and libraries and its own files, and changes the files of one folder. It has no network, starts no process unless it is
a compiler, signals and traces nobody, and has limits on memory, time and the size of files. Both are the kernel's own,
need no privilege and no program: Landlock since Linux 5.13, on x86-64 and ARM64.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import shutil
import struct
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

# ---- seccomp: https://docs.kernel.org/userspace-api/seccomp_filter.html ------------------------------------------

_MACHINES: Final = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""The kernel's name of an architecture (linux/audit.h), and the column below."""
_DENIED: Final = {
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242), "sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424),
    "pidfd_getfd": (438, 438), "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "setpriority": (141, 140), "sched_setaffinity": (203, 122),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsmount": (432, 432), "mount_setattr": (442, 442), "open_by_handle_at": (304, 265),
    "io_uring_setup": (425, 425), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "shmget": (29, 194), "shmat": (30, 196),
    "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180), "fanotify_init": (300, 262),
    "setsid": (112, 157), "setpgid": (109, 154),
}  # fmt: skip
"""What nobody in a sandbox does, by its number on x86-64 and ARM64: to end the process's group is to end them all."""
_STARTS: Final = {"fork": (57, None), "vfork": (58, None), "clone": (56, 220)}
"""What only a compiler does."""
_CLONE3: Final = 435
_LIMITS: Final = (302, 261)  # prlimit64, which may be of another process
_LOAD, _EQUAL, _AT_LEAST, _ANSWER = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_EPERM, _ENOSYS = 1, 38
_FOREIGN: Final = 0x40000000
"""Numbers from here on are of x86-64's second table (x32)."""

# ---- Landlock: https://docs.kernel.org/userspace-api/landlock.html -----------------------------------------------

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_CHANGES: Final = 0x1FF0  # to remove and make files, folders, links, devices, sockets
_REFER, _TRUNCATE, _IOCTL = 0x2000, 0x4000, 0x8000
_FILE: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
"""The rights that a file itself has; the others are a folder's."""
_SCOPES: Final = 3  # no abstract sockets, and no signals, out of the sandbox
_BELOW_PATH: Final = 1
_SET_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2

MEMORY: Final = 8 << 30
FILES: Final = 1 << 30
SECONDS: Final = 600
"""The limits: bytes of memory, bytes of a file, seconds of processor time."""
_SYSTEM: Final = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/opt/cuda", "/etc/ld.so.cache", "/etc/alternatives")
_OF_A_COMPILER: Final = ("bin", "lib", "lib64", "libexec", "include", "nvvm", "targets")


@lru_cache(maxsize=1)
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


@lru_cache(maxsize=1)
def _landlock() -> int:
    """Return the version of the kernel's Landlock, 0 or less for none."""
    return int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def no_sandbox() -> str:
    """Return why there is no sandbox on this machine, '' where there is one."""
    if not sys.platform.startswith("linux") or platform.machine() not in _MACHINES or struct.calcsize("P") != 8:
        return "there is a sandbox on Linux only, on x86-64 and ARM64"
    if _landlock() < 1:
        return "this kernel has no Landlock, which the sandbox needs (Linux 5.13 or later)"
    return ""


class _Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction))]


class Sandbox:
    """A sandbox for one process. Its own are `program`, `folder` and what it `reads`; `starts` lets it start others.

    It is made before the fork; `enter` does nothing but system calls.
    """

    def __init__(self, program: Path, folder: Path | None, reads: Sequence[Path], starts: bool) -> None:
        self._rules = _rules(_own_files(program, starts) + list(reads), folder)
        steps = _filter(starts)
        self._steps = (_Instruction * len(steps))(*(_Instruction(*step) for step in steps))
        self._program = _Program(len(steps), self._steps)
        self._limits = {
            resource.RLIMIT_AS: MEMORY,
            resource.RLIMIT_FSIZE: FILES,
            resource.RLIMIT_CPU: SECONDS,
            resource.RLIMIT_CORE: 0,
        }

    def __del__(self) -> None:
        os.close(self._rules)

    def enter(self) -> None:
        """Restrict this process for good."""
        for what, most in self._limits.items():
            hard = resource.getrlimit(what)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (most, most))
        libc = _libc()
        steps = (
            libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0),
            libc.syscall(_RESTRICT_SELF, self._rules, 0),
            libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(self._program), 0, 0),
        )
        if any(steps):
            raise OSError("the kernel refuses the sandbox")


def _filter(starts: bool) -> list[tuple[int, int, int, int]]:
    """Return the filter of system calls, in the kernel's own byte code."""
    architecture, column = _MACHINES[platform.machine()]
    denied = _DENIED if starts else {**_DENIED, **_STARTS}
    numbers = [number for each in denied.values() if (number := each[column]) is not None]
    steps = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, architecture),
        (_ANSWER, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, _FOREIGN),
        (_ANSWER, 0, 0, _ERRNO | _EPERM),
        (_EQUAL, 0, 1, _CLONE3),  # its flags are in memory, which no filter reads; libraries then use clone
        (_ANSWER, 0, 0, _ERRNO | _ENOSYS),
    ]
    for number in numbers:
        steps += [(_EQUAL, 0, 1, number), (_ANSWER, 0, 0, _ERRNO | _EPERM)]
    steps += [
        (_EQUAL, 0, 3, _LIMITS[column]),
        (_LOAD, 0, 0, 16),  # whose limits: 0 is the process itself
        (_EQUAL, 1, 0, 0),
        (_ANSWER, 0, 0, _ERRNO | _EPERM),
    ]
    return [*steps, (_ANSWER, 0, 0, _ALLOW)]


def _rules(own: Sequence[Path], folder: Path | None) -> int:
    """Return the kernel's set of rules for files, as a descriptor."""
    version, libc = _landlock(), _libc()
    handled = _EXECUTE | _WRITE_FILE | _READ_FILE | _READ_DIR | _CHANGES
    handled |= (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0) | (_IOCTL if version >= 5 else 0)
    attributes = struct.pack("=QQQ", handled, 3 if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = int(libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0))
    assert rules >= 0, "the kernel refuses a set of rules"
    read = _EXECUTE | _READ_FILE | _READ_DIR
    allowed = [(path, read) for path in (*map(Path, _SYSTEM), *own)]
    allowed += [(Path(each), _READ_FILE | _WRITE_FILE) for each in ("/dev/null",)]
    allowed += [(Path(each), _READ_FILE) for each in ("/dev/urandom", "/dev/random", "/dev/zero")]
    allowed += [] if folder is None else [(folder, handled & ~_IOCTL)]
    for path, rights in allowed:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        here = rights if path.is_dir() else rights & _FILE
        rule = struct.pack("=Qi", here & handled, place)
        failed = libc.syscall(_ADD_RULE, rules, _BELOW_PATH, rule, 0)
        os.close(place)
        assert not failed, f"the kernel refuses a rule for {path}"
    return rules


def _own_files(program: Path, starts: bool) -> list[Path]:
    """Return what a program is made of: itself, and of a compiler the folders beside its own, and our headers."""
    found = [program, program.resolve()]
    if not starts:
        return found
    for name in (str(program), "nvcc"):
        if where := shutil.which(name):
            found += [Path(where).resolve().parent.parent / part for part in _OF_A_COMPILER]
    return [*found, Path(__file__).resolve().parent.parent / "emulate"]
