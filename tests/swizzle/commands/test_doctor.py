"""`swizzle doctor`: exit statuses, the JSON object, files, and one clear error for each mistake."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from cuda_out.compile.toolchain import available_tools
from swizzle.commands.process import execute
from tests.swizzle.strangers.doctor.examined import COLUMNS_OUT, KERNELS, ROWS_IN, TRANSPOSE, one_warp

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
GIVEN = ("--launch", "2x2,32x8", "--args", "f32[64,64],f32.out[64,64],i32=64")
SKETCH = """
from swizzle import cuda, f32, sketch, spec
@spec
def turned(x, a):
    return [[a * x[c, r] for c in range(32)] for r in range(32)]
@sketch(spec=turned, block=32, x=f32[32, 32], a=f32.scalar, y=f32.out[32, 32])
def turn(x, a, y):
    tile = cuda.shared.array((32, 32), f32)
    for r in range(32):
        tile[r, cuda.laneid] = x[r, cuda.laneid]
    cuda.syncthreads()
    for r in range(32):
        y[r, cuda.laneid] = a * tile[cuda.laneid, r]
"""


def call(*arguments: str | Path) -> tuple[int, str, str]:
    """Run a command line in this process; return exit status, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    return execute(["doctor", *map(str, arguments)], out, err), out.getvalue(), err.getvalue()


def test_the_object_and_the_files(tmp_path: Path) -> None:
    """The keys are those of the contract; the mended file is well, and its difference is the patch."""
    status, out, err = call(KERNELS / "transpose.cu", *GIVEN, "--json", "-o", tmp_path)
    found = json.loads(out)
    assert (status, err, found["kernel"], found["verdict"]) == (0, "", "transpose", "mended")
    file = KERNELS / "transpose.cu"
    assert found["accesses"] == [
        {"array": "tile", "place": f"{file}:13", "kind": "store", "bits": 32, "passes": 128, "least": 128},
        {"array": "tile", "place": f"{file}:18", "kind": "load", "bits": 32, "passes": 4096, "least": 128},
    ]
    first = found["mends"][0]
    assert first.keys() >= {"array", "kind", "formula", "passes", "bytes", "proved"}
    assert (first["array"], first["kind"], first["passes"], first["bytes"]) == ("tile", "xor", 256, 0)
    assert first["proved"] == {"same": True, "least": True} and first["chosen"]
    assert [each["sectors"] for each in found["sectors"]] == [512, 512]
    mended, picture = map(Path, found["files"])
    assert mended == tmp_path / "transpose.cu" and picture.read_text().count("<rect") == 2 * 32 * 32
    assert "-    to[(top + j) * n + left] = tile[threadIdx.x][threadIdx.y + j];" in found["patch"].splitlines()
    status, out, _ = call(mended, "--json")
    again = json.loads(out)
    assert (status, again["verdict"], again["mends"], again["patch"]) == (0, "clean", [], None)
    status, out, _ = call(mended)
    assert status == 0 and out.startswith("transpose: no bank conflicts\n") and "from line 2" in out


def test_exit_statuses(tmp_path: Path) -> None:
    """1 where nothing removes the conflicts, 3 where nothing is proved."""
    file = tmp_path / "k.cu"
    file.write_text(
        one_warp(f"auto p = &tile[t][0]; {ROWS_IN} __syncwarp(); {COLUMNS_OUT.replace('tile[t][r]', 'p[r]')}")
    )
    status, out, _ = call(file, "-o", tmp_path / "out")
    assert status == 3 and "tile is not mended: line 5: tile has the address" in out
    assert not (tmp_path / "out").exists()
    status, out, _ = call(file, "--json")
    assert status == 3 and json.loads(out)["verdict"] == "none" and json.loads(out)["patch"] is None
    file.write_text(one_warp("y[t] = clock();"))
    status, out, _ = call(file)
    assert status == 3 and out.startswith("k: undecided: not interpreted: line")
    file.write_text(one_warp("tile[0][t] = x[t]; y[t] = tile[0][31 - t];"))
    status, out, _ = call(file)
    assert status == 1 and out.startswith("k: a race on tile[")
    status, out, err = call(file, "--launch", "1", "--json")
    assert status == 2 and "--launch 1" in json.loads(out)["error"]["found"] and "--launch 1" in err
    file.write_text(one_warp("y[t] = x[t];", ""))
    status, out, _ = call(file)
    assert status == 0 and out.startswith("k: no shared memory")
    vectors = "*(float4*)&tile[k][4 * t] = ((const float4*)x)[8 * k + t]"
    file.write_text(
        one_warp(
            f"for (int k = 0; k < 32; ++k) if (t < 8) {vectors}; __syncwarp();\n#pragma unroll 1\n"
            "for (int r = 0; r < 32; ++r) y[32 * r + t] = tile[t][r ^ (4 * t & 28)];",
            "__shared__ alignas(16) float tile[32][32];",
        )
    )
    status, out, _ = call(file, "--json")
    found = json.loads(out)
    assert status == 1 and found["verdict"] == "none" and "no layout takes fewer turns" in found["why"]
    assert [each["passes"] == each["least"] for each in found["accesses"]] == [True, True]


@pytest.mark.slow
def test_a_sketch_without_open_holes(tmp_path: Path) -> None:
    """What is printed of it is looked at, as it is launched; lines are the sketch's."""
    file = tmp_path / "own.py"
    file.write_text(SKETCH)
    status, out, _ = call(file, "--json", "-o", tmp_path / "out")
    found = json.loads(out)
    assert status == 0 and found["verdict"] == "mended" and found["launch"] == "1,32"
    assert [each["place"] for each in found["accesses"]] == [f"{file}:10", f"{file}:13"]
    assert "tile[tile_cell(" in (tmp_path / "out" / "turn.cu").read_text()
    status, _, err = call(file, "--launch", "1,32")
    assert status == 2 and "--launch for a sketch, which says this itself" in err
    hole = SKETCH.replace("spec\n", "spec, sw_xform\n", 1)
    file.write_text(hole.replace("tile[cuda.laneid, r]", "tile[sw_xform(cuda.laneid, 32), r]"))
    status, _, err = call(file)
    assert status == 2 and "turn has open holes: xform1" in err and "fix: swizzle solve" in err


@pytest.mark.slow
def test_headers_and_macros_of_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-I` and `-D`, as often as a build has them; a folder and a macro that are none are mistakes."""
    monkeypatch.chdir(tmp_path)
    Path("include").mkdir()
    Path("include", "tile.h").write_text("constexpr int TILE = SIDE;\n")
    Path("k.cu").write_text("#include <tile.h>\n" + TRANSPOSE.replace("constexpr int TILE = 32;\n", ""))
    status, out, err = call("k.cu", *GIVEN, "-I", ".", "-I", "include", "-D", "SIDE=32", "-DOTHER")
    assert (status, err) == (0, "") and "4224 turns become 256" in out and "not read" not in out
    for flags, message in (
        (("-I", "nowhere"), "-I nowhere is no folder"),
        (("-D", "2=3"), "-D 2=3 is no macro"),
        (("-I", "include"), 'identifier "SIDE" is undefined'),
    ):
        status, out, err = call("k.cu", *GIVEN, *flags)
        assert (status, out) == (2, "") and message in err and "fix: " in err
    assert "-D SIDE=VALUE" in err and str(Path("include", "tile.h").resolve()) in err


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "text, flags, message",
    [
        ("int x;", (), "k.cu has no kernel"),
        (TRANSPOSE + TRANSPOSE.replace("transpose(", "other(", 1), (), "k.cu has 2 kernels: transpose, other"),
        (TRANSPOSE, ("--kernel", "transpos"), "k.cu has no kernel transpos"),
        ("__global__ void k(float* y) { y[0] = 1; }", ("--args", "f32.out[1]"), "nothing says how k is launched"),
        ("__global__ void k(float* y) { y[0] = 1; }", ("--launch", "1,1"), "nothing says what k is given"),
        (TRANSPOSE, ("--launch", "2x2"), "error: --launch 2x2"),
        (TRANSPOSE, ("--launch", "1,2048"), "a block of (2048, 1, 1) threads"),
        (TRANSPOSE, ("--launch", "4096,1024"), "--launch 4096,1024 has 4194304 threads"),
        (TRANSPOSE, ("--args", "f32[64,64]"), "--args has 1 words, and transpose takes 3 arguments"),
        (TRANSPOSE, ("--args", "f32[64,64],f32.out[64,64],f32"), "--args: 'f32' for int n"),
        (TRANSPOSE, ("--args", "f16[64,64],f32.out[64,64],64"), "--args: 'f16[64,64]' for const float* from"),
        (TRANSPOSE, ("--args", "f32[64,64],f32[64,64],64"), "writes to, which is read-only"),
        (TRANSPOSE, ("--args", "f32[64,32],f32.out[64,64],64"), "out of bounds: from has 2048 elements"),
        pytest.param(TRANSPOSE.replace("to[(", "two[("), (),
                     "k.cu:18:5: error: the kernel does not compile: identifier \"two\"",
                     marks=pytest.mark.slow),
        (TRANSPOSE.replace("--args", "--arguments"), (), "k.cu:2:1: error: --arguments in a comment"),
        pytest.param("#include \"own.h\"\n" + TRANSPOSE.replace("n) {", "n) { own();"), (),
                     "what it needs of \"own.h\"",
                     marks=pytest.mark.slow),
        (TRANSPOSE.replace("[TILE]", "[TILE"), (), "`[` is not closed"),
        ("#include_next <stdio.h>\n" + TRANSPOSE, (), "k.cu:1:1: error: #include_next"),
        ((KERNELS / "product.cu").read_text(), ("--kernel", "product"), "product is compiled to 0 kernels"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_clear_error(
    text: str, flags: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit status 2, nothing on stdout, and what to write instead."""
    monkeypatch.chdir(tmp_path)
    Path("k.cu").write_text(text)
    status, out, err = call("k.cu", *flags)
    assert (status, out) == (2, "") and message in err and "fix: " in err and err.count("error:") == 1


def test_the_file_itself_is_not_overwritten(tmp_path: Path) -> None:
    """-o names another folder."""
    file = tmp_path / "transpose.cu"
    file.write_text(TRANSPOSE)
    status, _, err = call(file, "-o", tmp_path)
    assert status == 2 and "is the file itself" in err and file.read_text() == TRANSPOSE


def test_nothing_of_another_file_is_read(tmp_path: Path) -> None:
    """An include of a file of one's own is left out, however it is spelled."""
    secret = tmp_path / "secret.h"
    secret.write_text("#error the secret is caramel\n")
    for begin in ("#include ", "#inc\\\nlude ", "%:include ", "/**/ # /**/ include "):
        file = tmp_path / "k.cu"
        file.write_text(f'{begin}"{secret}"\n{one_warp("y[t] = x[t];", "")}')
        status, out, err = call(file)
        assert "caramel" not in out + err and status == 0, begin


def test_limits_are_held(tmp_path: Path) -> None:
    """A kernel that does not end is stopped in time."""
    file = tmp_path / "k.cu"
    file.write_text(one_warp("volatile float* p = y; while (t < 40) tile[0][t] = tile[1][t];"))
    status, out, err = call(file, "--timeout", "0.5")
    assert status == 3 and "timeout after 0.5 s" in out + err
