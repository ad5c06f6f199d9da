"""Host functions whose kernels' loops run along a length of the inputs, whatever that is."""

from __future__ import annotations

import numpy as np
import pytest

from swizzle.answers.emit.any_length.conditions import FixedSize
from swizzle.answers.hosts.lengths import HostTiling
from swizzle.answers.hosts.running import filled_host, host_function, host_lengths
from swizzle.answers.hosts.texts import host_text
from swizzle.commands.hosts import without_holes
from swizzle.sketches.host import HostSketch
from swizzle.sketches.loading import SketchFile

TEXT = """\
from swizzle import cuda, f32, host, sketch, spec

@spec
def dot_spec(x, z):
    return [sum(u * v for u, v in zip(x, z))]

@sketch(block=8, grid=2, warp_size=8, x=f32[32], z=f32[32], y=f32.out[2])
def partial(x, z, y):
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    s = cuda.shared.array(8, f32)
    a = f32(0)
    for i in range(2):
        a += x[16 * i + 8 * b + t] * z[16 * i + 8 * b + t]
    s[t] = a
    cuda.syncthreads()
    if t == 0:
        a = f32(0)
        for i in range(8):
            a += s[i]
        y[b] = a

@sketch(block=1, tmp=f32[2], y=f32.out[1])
def rest(tmp, y):
    y[0] = tmp[0] + tmp[1]

@host(spec=dot_spec, x=f32[32], z=f32[32], y=f32.out[1])
def dot(x, z, y):
    tmp = cuda.device_array(2, f32)
    partial(x, z, tmp)
    rest(tmp, y)
"""


def made(text: str, tmp_path) -> HostSketch:
    path = tmp_path / "hosts.py"
    path.write_text(text)
    (host,) = SketchFile.read(path).instance({}).hosts.values()
    return host


def lengths(text: str, tmp_path) -> HostTiling | FixedSize:
    return host_lengths(filled_host(made(text, tmp_path), without_holes))


def test_a_dot_product_of_two_kernels_takes_any_length(tmp_path) -> None:
    host = made(TEXT, tmp_path)
    filled = filled_host(host, without_holes)
    found = host_lengths(filled)
    assert isinstance(found, HostTiling) and found.tiling.of_loops is not None and found.tiling.of_loops.tile == 16
    assert {1, 15, 16, 17, 33} <= {length for (length,) in found.tiling.evidence}
    text = host_text(filled, (), sizes=found)
    assert "if (n < 1 || n > 2146435072) return cudaErrorInvalidValue;" in text


def test_it_is_right_at_lengths_that_cut_a_chunk(tmp_path) -> None:
    dot = host_function(made(TEXT, tmp_path))
    for n in (1, 13, 16, 101):
        x, z, y = np.arange(n, dtype=np.float32) % 7, np.arange(n, dtype=np.float32) % 5, np.zeros(1, np.float32)
        dot(x, z, y)
        assert y[0] == (x * z).sum()


WHOLE = {
    "def rest(tmp, y)": "def rest(tmp, x, y)",
    "block=1, tmp=f32[2], y": "block=1, tmp=f32[2], x=f32[32], y",
    "tmp[0] + tmp[1]": "tmp[0] + tmp[1] + x[31]",
    "rest(tmp, y)\n": "rest(tmp, x, y)\n",
    "zip(x, z))]": "zip(x, z)) + x[31]]",
}


@pytest.mark.parametrize(
    "changes, why",
    [
        ({"a += x": "a = -a + x"}, "32 stays: a, which line 13 sets, is taken from one trip of the loop to the next"),
        ({"zip(x, z)": "zip(x[:32], z[:32])"}, "32 stays: at length 41, y[0] would be wrong"),
        (WHOLE, "32 stays: rest takes x, too, and no loop of it goes along it"),
    ],
    ids=["trips that share more", "a specification of one size", "another kernel takes all"],
)
def test_what_keeps_the_sizes(changes: dict[str, str], why: str, tmp_path) -> None:
    text = TEXT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    found = lengths(text, tmp_path)
    assert isinstance(found, FixedSize)
    assert why in found.why
