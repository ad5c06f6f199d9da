"""The calls of CuPy, PyTorch and NPP, on stand-ins with the same conventions: what is cut out is the result.

None of the three is installed where these tests run; on a GPU every result is compared before it is timed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench.gpu import conv, libraries
from bench.gpu.backend import Emulation
from bench.gpu.driver import ATTRIBUTES
from bench.gpu.libraries import NppPoint, NppSize, NppStreamContext
from bench.gpu.measure import Arrays
from bench.gpu.missing import Missing
from bench.gpu.problem import Contender, Problem

Array = np.ndarray[Any, np.dtype[Any]]


class HostGpu(Emulation):
    """The emulation with buffers that stand for device arrays."""

    def empty(self, shape: Any, dtype: str) -> Any:
        return np.empty(shape, dtype).view(WithAddress)

    def facts(self) -> Any:
        return dict.fromkeys(ATTRIBUTES, 1)

    def upload(self, values: Any) -> Any:
        return values.copy().view(WithAddress)


class WithAddress(np.ndarray):
    @property
    def address(self) -> int:
        return self.ctypes.data


class Tensor:
    """As much of a tensor as is used."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def __getitem__(self, index: Any) -> Tensor:
        return Tensor(self.values[index])

    def copy_(self, other: Tensor) -> None:
        self.values[...] = other.values


def torch() -> Any:
    """conv1d and conv2d are correlations of whole windows; a pool averages them."""

    def conv1d(x: Tensor, w: Tensor) -> Tensor:
        return Tensor(np.correlate(x.values[0, 0], w.values[0, 0], "valid")[None, None])

    def conv2d(x: Tensor, w: Tensor) -> Tensor:
        windows = np.lib.stride_tricks.sliding_window_view(x.values[0, 0], w.values.shape[2:])
        return Tensor(np.einsum("rcij,ij->rc", windows, w.values[0, 0])[None, None])

    def avg_pool1d(x: Tensor, k: int, stride: int) -> Tensor:
        assert stride == 1
        return Tensor(np.correlate(x.values[0, 0], np.full(k, np.float32(1 / k)), "valid")[None, None])

    functional = SimpleNamespace(conv1d=conv1d, conv2d=conv2d, avg_pool1d=avg_pool1d)
    backends = SimpleNamespace(cudnn=SimpleNamespace(allow_tf32=True, benchmark=False))

    class NoGrad:
        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    return SimpleNamespace(
        as_tensor=lambda array, device: Tensor(array),
        nn=SimpleNamespace(functional=functional),
        backends=backends,
        no_grad=NoGrad,
        cuda=SimpleNamespace(is_available=lambda: True, empty_cache=lambda: None),
        __version__="stand-in",
    )


def cupy() -> Any:
    pool = SimpleNamespace(free_all_blocks=lambda: None)
    return SimpleNamespace(
        asarray=np.asarray, empty_like=np.empty_like, get_default_memory_pool=lambda: pool, __version__="stand-in"
    )


def ndimage() -> Any:
    """SciPy's convention: the output has the input's size, and the middle weight lies on the pixel itself."""

    def correlate(x: Array, w: Array, output: Array, mode: str) -> None:
        assert mode == "constant"
        around = [(extent // 2, (extent - 1) // 2) for extent in w.shape]
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, around), w.shape)
        output[...] = (windows * w).sum(axis=tuple(range(x.ndim, 2 * x.ndim)))

    def uniform_filter1d(x: Array, size: int, output: Array, mode: str) -> None:
        correlate(x, np.full(size, np.float32(1 / size)), output, mode)

    return SimpleNamespace(correlate=correlate, uniform_filter1d=uniform_filter1d)


class NppFilter:
    """nppiFilter as documented: weights in reverse order, the anchor relative to the source pixel."""

    argtypes: Any = None

    def __call__(self, *arguments: Any) -> int:
        source, pitch, target, target_pitch, region, kernel, extent, anchor, context = arguments
        assert isinstance(context, NppStreamContext) and isinstance(region, NppSize) and isinstance(anchor, NppPoint)
        w = np.ctypeslib.as_array((ctypes.c_float * (extent.width * extent.height)).from_address(kernel))
        w = w.reshape(extent.height, extent.width)
        for r in range(region.height):
            for c in range(region.width):
                total = 0.0
                for j in range(extent.height):
                    for i in range(extent.width):
                        at = source + (r + anchor.y - j) * pitch + 4 * (c + anchor.x - i)
                        total += w[j, i] * ctypes.c_float.from_address(at).value
                ctypes.c_float.from_address(target + r * target_pitch + 4 * c).value = total
        return 0


def results(problem: Problem, contender: Contender, expected: Any) -> Mapping[str, float]:
    """Return how far each variant is from what is expected, at most."""
    found = {}
    backend = HostGpu(on_gpu=True)
    with Arrays(backend, problem) as arrays:
        wanted = expected(arrays.inputs())
        for variant in contender.variants:
            backend.poison(arrays.output)
            bound = variant.bind(backend, problem, arrays.buffers)
            bound.run()
            bound.run()
            bound.finish()
            found[variant.label] = float(np.abs(np.asarray(arrays.output) - wanted).max())
            bound.release()
    return found


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = {"torch": torch(), "cupy": cupy(), "cupyx.scipy.ndimage": ndimage()}
    monkeypatch.setattr(libraries, "_library", lambda name: made[name])
    monkeypatch.setattr(libraries, "_npp", lambda: SimpleNamespace(nppiFilter_32f_C1R_Ctx=NppFilter()))
    return made


def test_two_dimensions(stand_ins: Any) -> None:
    """Each gives the valid part; of NPP's two readings one does; cuDNN is told to compute in single precision."""
    problem = conv.problem_2d(5, {"x": 13, "y": 7})
    for contender in libraries.convolution_2d():
        errors = results(problem, contender, lambda arrays: conv.expected_2d(5, arrays))
        assert min(errors.values()) < 1e-3, (contender.name, errors)
        if contender.name == "NPP":
            assert errors["weights as given"] > 1 and errors["weights turned round"] < 1e-3
    assert stand_ins["torch"].backends.cudnn.allow_tf32 is False


def test_one_dimension(stand_ins: Any) -> None:
    """Convolution, and the moving average."""
    for contender in libraries.convolution_1d():
        errors = results(conv.problem_1d(7, {"x": 50}), contender, lambda arrays: conv.expected_1d(7, arrays))
        assert max(errors.values()) < 1e-3, (contender.name, errors)
    for contender in libraries.average_1d(7):
        errors = results(conv.problem_average(7, {"x": 50}), contender, lambda arrays: conv.expected_average(7, arrays))
        assert max(errors.values()) < 1e-3, (contender.name, errors)


def test_a_library_that_fails_is_missing(stand_ins: Any) -> None:
    """Whatever it raises, also when it is only run: the reason is its own."""

    def convolve(x: Tensor, w: Tensor) -> Tensor:
        raise RuntimeError("no algorithm\nand much more")

    stand_ins["torch"].nn.functional.conv1d = convolve
    with pytest.raises(Missing, match=r"^RuntimeError: no algorithm$"):
        results(conv.problem_1d(3, {"x": 5}), libraries.convolution_1d()[0], lambda arrays: 0)


def test_what_is_not_installed_is_missing() -> None:
    """A reason in words for each; on the emulation no library is asked."""
    problem = conv.problem_2d(3, {"x": 4, "y": 4})
    reasons = []
    backend = HostGpu(on_gpu=True)
    with Arrays(backend, problem) as arrays:
        for contender in libraries.convolution_2d():
            with pytest.raises(Missing) as caught:
                contender.variants[0].bind(backend, problem, arrays.buffers)
            reasons.append(str(caught.value))
            with pytest.raises(Missing, match="a library for GPUs"):
                contender.variants[0].bind(Emulation(), problem, arrays.buffers)
    assert [reason.split()[0] for reason in reasons] == ["torch", "cupy", "libnppc"]
