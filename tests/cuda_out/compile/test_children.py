"""Processes that are started end with the one that started them, in time, and a stranger's are in a sandbox."""

from __future__ import annotations

import contextvars
import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cuda_out.compile import toolchain
from cuda_out.compile.children import Done, Keeper, TooLong, confined, process_folder, run_child, scratch_folder
from cuda_out.compile.sandbox import no_sandbox
from cuda_out.compile.toolchain import CompileError, run_compiler
from cuda_out.emulate.emulate import compile_with
from symbolic.errors import SwizzleError
from symbolic.limits import OutOfTime, limited

sandboxed = pytest.mark.skipif(bool(no_sandbox()), reason=no_sandbox() or "there is a sandbox")

WAITS = """
from cuda_out.compile.children import run_child
from cuda_out.compile.children import process_folder, scratch_folder
with scratch_folder() as scratch:
    (scratch / "half a kernel").write_text("...")
    run_child(["/bin/sh", "-c", "trap '' HUP TERM; (exec sleep 61) & echo $$ > said.part; mv said.part said; wait"],
              seconds=60, folder=scratch)
"""


def alive(group: int) -> bool:
    """Tell whether a process of the group runs; one that has ended and was not waited for does not."""
    stats = [path / "stat" for path in Path("/proc").iterdir() if path.name.isdigit()]
    for stat in stats:
        try:
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state not in "ZX":
            return True
    return False


def soon(happens: object) -> bool:
    """Wait until something happens, or half a minute at most."""
    for _ in range(3000):
        if happens():  # type: ignore[operator]
            return True
        time.sleep(0.01)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_what_was_started_ends_with_who_started_it(name: str, tmp_path: Path) -> None:
    """The child, what it started in turn, and the scratch files; whichever signal ends the parent."""
    process = subprocess.Popen([sys.executable, "-c", WAITS], env={**os.environ, "TMPDIR": str(tmp_path)})
    assert soon(lambda: list(tmp_path.glob("swizzle-*/scratch-*/said")))
    group = int(next(tmp_path.glob("swizzle-*/scratch-*/said")).read_text())
    assert alive(group)
    process.send_signal(getattr(signal, name))
    assert process.wait() == -getattr(signal, name)
    assert soon(lambda: not alive(group) and not list(tmp_path.iterdir()))


def test_a_full_disk_is_the_users_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """One message says what to do, and no keeper stays."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    started: list[subprocess.Popen[bytes]] = []

    def noted(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))
        return started[0]

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", noted)
    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(SwizzleError, match="no folder for scratch files: No space left on device"):
        Keeper()
    assert [each.returncode for each in started] == [0]


def test_a_process_that_does_not_end_is_ended() -> None:
    """At its time limit, with what it started."""
    begin = time.monotonic()
    with scratch_folder() as scratch, pytest.raises(TooLong):
        run_child(["/bin/sh", "-c", "echo $$ > group; sleep 61 & sleep 62"], seconds=0.2, folder=scratch)
    assert time.monotonic() - begin < 50
    assert not any(process_folder().glob("scratch-*"))


def test_much_is_told_and_much_is_answered() -> None:
    """More than a pipe holds, both ways at once; a process that does not listen is no trouble."""
    given = os.urandom(1 << 20)
    assert run_child(["/bin/cat"], seconds=20, given=given) == Done(0, given, b"")
    assert run_child(["/bin/sh", "-c", "exit 3"], seconds=20, given=given).status == 3
    assert run_child(["/bin/sh", "-c", "echo out; echo err >&2; kill -9 $$"], seconds=20) == Done(
        -9, b"out\n", b"err\n"
    )


# ---- compilers that are out of order ---------------------------------------------------------------------------

BROKEN = {
    "silent": ("exit 0", "compiles nothing: of an empty file it wrote nothing"),
    "failing": ("echo 'cannot find cc1plus' >&2; exit 1", "it ended with status 1 and said: cannot find cc1plus"),
    "crashing": ("kill -SEGV $$", "it ended with status -11"),
    "no room": ("echo 'write: No space left on device' >&2; exit 1", "cannot write into .*: No space left on device"),
    "never ending": ("sleep 61", "still ran after 0.5 seconds"),
    "only the first time": (
        'case "$*" in *empty*) touch "$PWD/empty.o";; esac; exit 0',
        "ended well and wrote nothing",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_compiler_that_is_out_of_order_is_the_users_mistake(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One message that names it; it is not said that our text does not compile."""
    script, said = BROKEN[kind]
    compiler = tmp_path / "g++"
    compiler.write_text(f"#!/bin/sh\n{script}\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(toolchain, "COMPILE_SECONDS", 0.5)
    with scratch_folder() as scratch, pytest.raises(SwizzleError, match=said) as caught:
        compile_with([str(compiler), "kernel.cpp", "-o", "kernel"], "text", scratch / "kernel")
    assert caught.value.expected and caught.value.fix


def test_what_is_no_program_cannot_be_started(tmp_path: Path) -> None:
    """A file that the kernel does not run is named."""
    (tmp_path / "g++").write_bytes(b"\x7fELF no")
    (tmp_path / "g++").chmod(0o755)
    with pytest.raises(SwizzleError, match="cannot be started: Exec format error"):
        run_compiler([str(tmp_path / "g++")], tmp_path / "made")


# ---- the sandbox -----------------------------------------------------------------------------------------------

TRIES = r"""
#include <cerrno>
#include <cstdio>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
static void tried(const char* what, long result) { if (result >= 0) printf("%s\n", what); }
int main(int, char** words) {
    struct rlimit limit = {1, 1};
    tried("reads a file of another folder", open(words[1], O_RDONLY));
    tried("writes there", open(words[1], O_WRONLY));
    tried("removes it", unlink(words[1]));
    tried("makes a folder", mkdir("made", 0777));
    tried("reads the machine's users", open("/etc/passwd", O_RDONLY));
    tried("lists a folder", open("/tmp", O_RDONLY | O_DIRECTORY));
    tried("reads its environment", open("/proc/self/environ", O_RDONLY));
    tried("opens a socket", socket(AF_INET, SOCK_STREAM, 0));
    tried("opens a socket of files", socket(AF_UNIX, SOCK_STREAM, 0));
    tried("signals its parent", kill(getppid(), 0));
    tried("limits its parent", prlimit(getppid(), RLIMIT_CORE, &limit, nullptr));
    tried("leaves its group", setsid());
    tried("starts a process", fork());
    tried("knows a secret", getenv("A_SECRET") ? 0 : -1);
    printf("done\n");
}
"""


@pytest.fixture(scope="module")
def tries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that tries what a stranger's text might."""
    if not shutil.which("g++"):
        pytest.skip("no g++")
    folder = tmp_path_factory.mktemp("tries")
    (folder / "tries.cpp").write_text(TRIES)
    compile_with(["g++", str(folder / "tries.cpp"), "-o", str(folder / "tries")], TRIES, folder / "tries")
    return folder / "tries"


@sandboxed
def test_a_strangers_program_does_nothing_but_compute(
    tries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file but its own, no network, no process, no signal, nothing of our environment."""
    monkeypatch.setenv("A_SECRET", "1")
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "kept"
    kept.write_text("kept")
    with confined():
        assert run_child([str(tries), str(kept)], seconds=20, starts=False).text == "done\n"
    assert kept.read_text() == "kept" and [path.name for path in tmp_path.iterdir()] == ["kept"]
    outside = run_child([str(tries), str(kept)], seconds=20, starts=False).text
    assert "reads the machine's users\n" in outside and "starts a process\n" in outside and not kept.exists()


@sandboxed
@pytest.mark.parametrize("how", ['#include "{}"', 'asm(".incbin \\"{}\\"");', 'asm(".include \\"{}\\"");'])
def test_a_strangers_text_brings_no_file_into_a_compiler(how: str, tmp_path: Path) -> None:
    """The compiler works in the sandbox, and finds its own headers only."""
    if not shutil.which("g++"):
        pytest.skip("no g++")
    secret = tmp_path / "secret"
    secret.write_text("a secret\n")
    for text, wrong in (("#include <vector>\nint one = 1;\n", False), (how.format(secret), True)):
        with confined(), scratch_folder() as scratch:
            (scratch / "text.cpp").write_text(text)
            command = ["g++", "-c", str(scratch / "text.cpp"), "-o", str(scratch / "text.o")]
            if not wrong:
                compile_with(command, text, scratch / "text.o")
                continue
            with pytest.raises(CompileError) as caught:
                compile_with(command, text, scratch / "text.o")
            assert "a secret" not in str(caught.value)


def test_without_a_sandbox_nothing_of_a_stranger_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is said why."""
    monkeypatch.setattr("cuda_out.compile.children.no_sandbox", lambda: "this kernel has no Landlock")
    with confined(), pytest.raises(SwizzleError, match="cat is not started: this kernel has no Landlock"):
        run_child(["/bin/cat"], seconds=1)
    with confined(False):
        assert run_child(["/bin/cat"], seconds=20).status == 0


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
def test_a_limit_ends_what_was_started(tmp_path: Path) -> None:
    """A limit of the thread that waits: the child goes, and what it started in turn."""
    note = tmp_path / "group"

    def clock() -> float:
        """Be past the limit as soon as the child has started another."""
        return 200.0 if note.exists() else 0.0

    text = f"exec sleep 61 & echo $$ > {note}.part; mv {note}.part {note}; wait"
    with pytest.raises(OutOfTime), limited(100.0, clock=clock):
        run_child(["/bin/sh", "-c", text], seconds=60)
    assert soon(lambda: not alive(int(note.read_text())))


BOMB = """\
template <int N, int M> struct F { enum { v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v }; };
template <int M> struct F<0, M> { enum { v = 1 }; };
__global__ void k(int* x) { x[0] = F<24, 0>::v; }
"""


@sandboxed
@pytest.mark.skipif("nvrtc" not in toolchain.available_tools(), reason="no NVRTC")
def test_nvrtc_reads_a_strangers_text_in_a_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds CUDA's headers and no other file, and comes to an end; what it makes is what it makes without."""
    (tmp_path / "secret").write_text("a secret\n")
    text = "#include <cuda_fp16.h>\n__global__ void k(int* x) { x[0] = 1; }\n"
    with confined():
        assert toolchain.compile_to_ptx(text) == compile_outside(text)
        with pytest.raises(CompileError, match="Permission denied") as caught:
            toolchain.compile_to_ptx(f'#include "{tmp_path}/secret"\n{text}')
        assert "a secret" not in str(caught.value)
        monkeypatch.setattr(toolchain, "COMPILE_SECONDS", 0.5)
        with pytest.raises(CompileError, match=r"no answer after 0\.5 seconds"):
            toolchain.compile_to_ptx(BOMB)


def compile_outside(text: str) -> str:
    return contextvars.Context().run(toolchain.compile_to_ptx, text)
