"""What a text of PTX may hide: each kind of change is refused, or means what the hardware makes of it."""

from __future__ import annotations

import doctest
import shutil
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools
from cuda_out.ptx.reading import lexer
from cuda_out.ptx.running.memory import Broken
from cuda_out.ptx.running.run import interpret, kernel_of
from cuda_out.ptx.syntax import NotInterpreted

# y[t] = x[t ^ 1] + (t < 8 ? 5 : 9), by way of shared memory.
TEXT = """
.version 8.0
.target sm_80
.address_size 64

.visible .entry k(
	.param .u64 x,
	.param .u64 y,
	.param .u32 n
)
.maxntid 32
{
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	.reg .f32 %f<3>;
	.shared .align 4 .b8 tile[128];
	ld.param.u64 %rd1, [x];
	ld.param.u64 %rd2, [y];
	ld.param.u32 %r0, [n];
	cvta.to.global.u64 %rd1, %rd1;
	cvta.to.global.u64 %rd2, %rd2;
	.loc 1 2 3
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd1, %rd1, %rd3;
	add.s64 %rd2, %rd2, %rd3;
	ld.global.u32 %r2, [%rd1];
	mov.u32 %r3, tile;
	shl.b32 %r4, %r1, 2;
	add.s32 %r5, %r3, %r4;
	st.shared.u32 [%r5], %r2;
	bar.sync 0;
	xor.b32 %r4, %r4, 4;
	add.s32 %r5, %r3, %r4;
	ld.shared.u32 %r6, [%r5];
	setp.lt.u32 %p1, %r1, %r0;
	selp.b32 %r7, 5, 9, %p1;
	add.s32 %r7, %r6, %r7;
	st.global.u32 [%rd2], %r7;
	ret;
}
"""


def ran(text: str, n: int | np.generic = 8) -> np.ndarray:
    """Run it on x[t] = 100 * t."""
    x, y = 100 * np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    x.flags.writeable = False
    interpret(text, "k", (1, 1, 1), (32, 1, 1), [x, y, np.int32(n) if isinstance(n, int) else n])
    return y


WANTED = 100 * (np.arange(32) ^ 1) + np.where(np.arange(32) < 8, 5, 9)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bar.sync 0;", "bar.sync 0; // ret;"),
        ("bar.sync 0;", 'bar.sync 0; .pragma "nounroll"; /* ret;\n ret; */'),
        (".loc 1 2 3\n", ".loc 1 2 3, function_name $info + 7, inlined_at 1 7 9 "),
        (".loc 1 2 3\n", ".loc 1 2 3 mov.u32 %r1, 7; "),
        (".visible", '.file 1 "/a;b{c//.cu"\n.section .debug_str { info: .b8 1, 2 }\n.visible'),
        ("5, 9", "05, 011"),
        ("5, 9", "0b101, 0x9U"),
        (".maxntid 32", ".maxntid 32, 1, 1 .minnctapersm 2 .maxnreg 40"),
        ("%p<3>", "%p<2>"),
        ("ld.shared.u32 %r6, [%r5];", "cvta.shared.u64 %rd4, tile; cvt.u64.u32 %rd5, %r4; add.s64 %rd4, %rd4, %rd5;"
         " ld.u32 %r6, [%rd4];"),
        ("st.shared.u32 [%r5], %r2;", "cvt.u64.u32 %rd4, %r5; cvta.shared.u64 %rd4, %rd4; st.u32 [%rd4], %r2;"),
        ("ld.global.u32 %r2, [%rd1];", "ld.global.s32 %rd4, [%rd1]; cvt.u32.u64 %r2, %rd4;"),
        ("ld.global.u32 %r2, [%rd1];", "ld.u32 %r2, [%rd1+0];"),
        ("selp.b32 %r7, 5, 9, %p1;", "mov.u32 %r7, 9; @%p1 mov.u32 %r7, 5;"),
        ("selp.b32 %r7, 5, 9, %p1;", "mov.u32 %r7, 5; @!%p1 mov.u32 %r7, 9;"),
        ("selp.b32 %r7, 5, 9, %p1;", "mov.u32 %r7, 5; @%p1 bra on; mov.u32 %r7, 9; on:"),
        ("selp.b32 %r7, 5, 9, %p1;", "mov.u32 %r7, 9; @!%p1 bra on; mov.u32 %r7, 5; on:"),
        ("ret;", "setp.lt.u32 %p1, %r0, 99; @!%p1 bra.uni on; ret.uni; on: exit;"),
        ("ld.global.u32 %r2, [%rd1];", "{ .reg .b32 %r2; mov.b32 %r2, 7; } ld.global.nc.u32 %r2, [%rd1];"),
    ],
)  # fmt: skip
def test_what_changes_nothing(old: str, new: str) -> None:
    """Comments, strings with marks in them, places in a source, other spellings, generic addresses."""
    assert old in TEXT
    np.testing.assert_array_equal(ran(TEXT.replace(old, new, 1)), WANTED)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        # Strings, directives and words that hide something.
        ("bar.sync 0;", 'bar.sync 0; .pragma "//"; xor.b32 %r4, %r4, 8;', "a pragma that is known"),
        ("bar.sync 0;", 'bar.sync 0; .pragma "/*"; ret; .pragma "*/";', "a pragma that is known"),
        ("bar.sync 0;", "bar.sync 0; /* ret;", "which is no word of PTX"),
        (".visible", "junk;\n.visible", "line 6: `junk`"),
        (".visible", ".extern .visible", "`.extern .visible"),
        (".visible", ".extern", "`.extern .entry"),
        (".visible", ".common", "`.common .entry"),
        (".visible", ".alias k, other;\n.visible", r"\.alias"),
        (".visible", ".global .u32 k;\n.visible", "k is declared twice"),
        (".address_size 64", ".address_size 32", "64 bits"),
        (".maxntid 32", ".maxntid 32 .reqnctapercluster 2, 1, 1", "reqnctapercluster"),
        (".maxntid 32", ".maxntid 32 .explicitcluster", "explicitcluster"),
        (".maxntid 32", ".maxntid 16", "maxntid allows 16"),
        # Parameters.
        ("ld.param.u32 %r0", "ld.param.u16 %r0", "a part of the parameter n"),
        ("ld.param.u64 %rd1, [x]", "ld.param.u32 %r0, [x]; mov.u64 %rd1, 0", "a part of the parameter x"),
        ("[x];", "[x+8];", "a part of the parameter x"),
        # Types and names.
        ("selp.b32 %r7, 5, 9, %p1", "selp.f32 %f1, 5, 9, %p1; mov.b32 %r7, %f1", "the integer 5 where f32 is wanted"),
        ("selp.b32 %r7, 5, 9", "selp.b32 %r7, 0d3FF0000000000000, 9", "a float of 64 bits where b32 is wanted"),
        ("selp.b32 %r7, 5, 9", "selp.b32 %r7, 4294967301, 9", "a literal of more bits than b32"),
        ("selp.b32 %r7, 5, 9", "selp.b32 %r7, 5, 09", "which is no word of PTX"),
        ("selp.b32 %r7, 5, 9, %p1", "selp.b32 %r7, 5, 9, %r1", "%r1 is .b32, not .pred"),
        ("add.s32 %r7, %r6, %r7", "add.s32 %r7, %r6, %f1", "%f1 is .f32, not .s32"),
        ("add.s32 %r7, %r6, %r7", "add.s32 %r7, %r6, %rd1", "%rd1 is .b64, not .s32"),
        ("add.s32 %r7, %r6, %r7", "add.s32 %r7, %r6, %r9", "%r9, which is no register that was declared"),
        ("add.s32 %r7, %r6, %r7", "add.s32 %r7, %r6, %r07", "%r07, which is no register"),
        ("add.s32 %r7, %r6, %r7", "add.sat.s32 %r7, %r6, %r7", r"add\.sat\.s32"),
        ("add.s32 %r7, %r6, %r7", "mul.lo.lo.s32 %r7, %r6, 1", r"mul\.lo\.lo"),
        ("add.s32 %r7, %r6, %r7", "add.s32 %r7, %r6", "2 operands, not 3"),
        ("add.s32 %r7, %r6, %r7", "add.s32 %r7, %r6, !%r7", "no register|%r7, which"),
        ("add.s32 %r7, %r6, %r7", "add.s32 %r7 | %r6, %r7", "a bar stands between"),
        ("mov.u32 %r3, tile", "mov.u32 %r3, !tile", "the address tile"),
        ("bar.sync 0;", "bar.sync 1, 16;", "a barrier for a part of the block"),
        ("bar.sync 0;", "bar.sync %r1;", "several barriers at once"),
        ("bar.sync 0;", "bar.arrive 1, 32;", r"bar\.arrive"),
        ("bar.sync 0;", "bar.sync 0; again: bra nowhere;", "no such label"),
        ("bar.sync 0;", "bar.sync 0; again: again: ret;", "a label stands for the second time"),
        ("%f<3>;", "%f<3>; .reg .b32 %r3;", "declared twice"),
        ("mov.u32 %r1, %tid.x", "mov.u32 %r1, %warpid", "%warpid, which is no register"),
        # State spaces.
        ("st.global.u32 [%rd2]", "st.local.u32 [%rd2]", r"looks for argument 1 in \.local, and it is in \.global"),
        ("st.global.u32 [%rd2]", "st.shared.u32 [%rd2]", r"looks for argument 1 in \.shared"),
        ("ld.global.u32 %r2", "ld.const.u32 %r2", r"looks for argument 0 in \.const"),
        ("ld.global.u32 %r2", "ld.shared.u32 %r2", r"looks for argument 0 in \.shared"),
        ("ld.shared.u32 %r6, [%r5]", "cvt.u64.u32 %rd4, %r5; ld.u32 %r6, [%rd4]", r"looks for tile in \.global"),
        ("ld.shared.u32 %r6, [%r5]", "cvt.u64.u32 %rd4, %r5; ld.global.u32 %r6, [%rd4]", r"looks for tile in \.global"),
        ("ld.shared.u32 %r6, [%r5]", "ld.local.u32 %r6, [%r5]", "%r5 is .b32, not .u64"),
        ("ld.shared.u32 %r6, [%r5]", "ld.global.u32 %r6, [tile]", r"tile is in \.shared"),
        ("cvta.to.global.u64 %rd1, %rd1", "cvta.to.shared.u64 %rd1, %rd1", "no address|looks for"),
        ("mov.u32 %r3, tile", "mov.f32 %f1, tile", "the address tile"),
        ("selp.b32 %r7, 5, 9, %p1;", "mov.u32 %r7, 5; @%p1 bra.uni on; mov.u32 %r7, 9; on:", r"\.uni says that all do"),
        # Cells that are said to be constant.
        ("st.global.u32 [%rd2], %r7", "st.global.u32 [%rd2], %r7; ld.global.nc.u32 %r7, [%rd2]", "no thread writes"),
        ("ld.global.u32 %r2, [%rd1]", "ld.global.nc.u32 %r2, [%rd2]", r"read as what no thread writes"),
        ("ld.global.u32", "ld.relaxed.gpu.global.u32", "relaxed"),
        ("ld.shared.u32", "ld.shared.nc.u32", "nc"),
    ],
)  # fmt: skip
def test_what_is_refused(old: str, new: str, complaint: str) -> None:
    """Each kind that once was passed over: strings, junk, spaces, widths, types, suffixes, names, constant cells."""
    assert old in TEXT
    with pytest.raises((NotInterpreted, Broken), match=complaint):
        ran(TEXT.replace(old, new, 1))


def test_an_argument_has_the_width_of_its_parameter() -> None:
    """A launch passes bytes: a narrower or wider parameter would shift those behind it."""
    with pytest.raises(NotInterpreted, match=r"the parameter n is \.u32: 64 bits are passed"):
        ran(TEXT, np.int64(8))


def test_complaints_have_the_line() -> None:
    """Of the module's text, behind comments and strings of several lines."""
    text = TEXT.replace(".visible", "/*\n\n*/ .visible").replace("bar.sync 0;", "bar.sync 0;\n\tbar.arrive 0, 32;")
    line = next(n for n, each in enumerate(text.splitlines(), 1) if "bar.arrive" in each)
    with pytest.raises(NotInterpreted, match=rf"^line {line}: bar\.arrive 0, 32$"):
        kernel_of(text, "k")


def test_another_kernel_that_is_not_understood_is_no_matter() -> None:
    """A module's kernels are refused one by one."""
    other = TEXT[TEXT.index(".visible") :].replace("entry k(", "entry other(").replace("bar.sync 0", "brkpt")
    np.testing.assert_array_equal(ran(TEXT + other), WANTED)
    with pytest.raises(NotInterpreted, match="brkpt"):
        kernel_of(TEXT + other, "other")


def test_examples_of_the_lexer() -> None:
    assert doctest.testmod(lexer).failed == 0


@pytest.fixture(scope="module")
def script() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).resolve().parents[4] / "bench"))
        import fuzz_ptx
    del sys.modules["fuzz_ptx"]
    return fuzz_ptx


@pytest.mark.skipif(not available_tools() or not shutil.which("ptxas"), reason="no compiler, or no ptxas")
def test_the_reader_takes_nothing_that_ptxas_refuses(script: ModuleType, tmp_path: Path) -> None:
    """The short form of `python bench/fuzz_ptx.py`; and ptxas takes the text above."""
    assert script.assembles(TEXT, tmp_path / "text.ptx")
    outcome = script.fuzz(range(90))
    assert outcome.only_reader == [] and outcome.both >= 8 and outcome.neither >= 40, str(outcome)
