"""What a user picks today for convolutions: CuPy, PyTorch (cuDNN), NPP. Where one is not, it is Missing, with a reason.

They work on the problem's own arrays, through `__cuda_array_interface__`, on the same stream. A library that computes a
frame around the result does so into an array of its own; `finish` cuts the result out.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.gpu.driver import DriverError
from bench.gpu.kernels import Kernel
from bench.gpu.missing import Missing, in_a_line
from bench.gpu.problem import Bound, Contender, Problem

if TYPE_CHECKING:
    from bench.gpu.backend import Backend, Buffer

Buffers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """A variant that calls a library; `tie` makes the call for arrays on the device."""

    label: str
    tie: Callable[[Backend, Problem, Buffers], Bound]

    @property
    def kernels(self) -> Sequence[Kernel]:
        return ()

    def bind(self, backend: Backend, problem: Problem, buffers: Mapping[str, Buffer]) -> Bound:
        if not backend.on_gpu:
            raise Missing("a library for GPUs")
        with _missing_if_it_fails():
            bound = self.tie(backend, problem, buffers)

        def run() -> None:
            with _missing_if_it_fails():
                bound.run()

        def finish() -> None:
            with _missing_if_it_fails():
                bound.finish()

        return replace(bound, run=run, finish=finish)


@contextmanager
def _missing_if_it_fails() -> Iterator[None]:
    """Turn whatever a library raises into Missing: it may want memory, an algorithm, another version of something."""
    try:
        yield
    except (Missing, DriverError):
        raise
    except Exception as error:
        raise Missing(in_a_line(error)[:180]) from error


def _library(name: str) -> ModuleType:
    """Import a package of the user's; raise Missing where it is not installed or does not start."""
    try:
        return import_module(name)
    except Exception as error:  # a package that does not fit its driver raises whatever it likes
        first = str(error).splitlines() or [type(error).__name__]
        raise Missing(f"{name.partition('.')[0]} cannot be imported: {first[0][:160]}") from None


def _torch() -> Any:
    torch = _library("torch")
    if not torch.cuda.is_available():
        raise Missing("this PyTorch sees no GPU")
    torch.backends.cudnn.allow_tf32 = False  # or a convolution of floats would not be one of floats
    torch.backends.cudnn.benchmark = True  # cuDNN tries its algorithms in the first run, which is not timed
    return torch


def _pytorch_convolution(dimensions: int) -> Callable[[Backend, Problem, Buffers], Bound]:
    def tie(backend: Backend, problem: Problem, buffers: Buffers) -> Bound:
        torch = _torch()
        convolve = getattr(torch.nn.functional, f"conv{dimensions}d")
        x, w, y = (torch.as_tensor(buffers[name], device="cuda") for name in ("x", "w", "y"))
        found: list[Any] = []

        def run() -> None:
            found[:] = []  # what the run before made is free for this one
            with torch.no_grad():
                found.append(convolve(x[None, None], w[None, None]))

        return _bound_tensor(torch, run, found, y)

    return tie


def _bound_tensor(torch: Any, run: Callable[[], None], found: list[Any], y: Any) -> Bound:
    """Return a call whose result is a new tensor, the only one of `found`."""

    def release() -> None:
        found.clear()
        torch.cuda.empty_cache()

    return Bound(run, lambda: y.copy_(found[0][0, 0]), release, {"version": torch.__version__})


def _pytorch_average(k: int) -> Callable[[Backend, Problem, Buffers], Bound]:
    def tie(backend: Backend, problem: Problem, buffers: Buffers) -> Bound:
        torch = _torch()
        x, y = (torch.as_tensor(buffers[name], device="cuda") for name in ("x", "y"))
        found: list[Any] = []

        def run() -> None:
            found[:] = []
            with torch.no_grad():
                found.append(torch.nn.functional.avg_pool1d(x[None, None], k, stride=1))

        return _bound_tensor(torch, run, found, y)

    return tie


def _cupy_correlate(backend: Backend, problem: Problem, buffers: Buffers) -> Bound:
    cupy, ndimage = _library("cupy"), _library("cupyx.scipy.ndimage")
    x, w, y = (cupy.asarray(buffers[name]) for name in ("x", "w", "y"))
    return _bound_frame(
        cupy, x, y, lambda whole: ndimage.correlate(x, w, output=whole, mode="constant"), w.shape[0] // 2
    )


def _cupy_average(k: int) -> Callable[[Backend, Problem, Buffers], Bound]:
    def tie(backend: Backend, problem: Problem, buffers: Buffers) -> Bound:
        cupy, ndimage = _library("cupy"), _library("cupyx.scipy.ndimage")
        x, y = (cupy.asarray(buffers[name]) for name in ("x", "y"))
        return _bound_frame(
            cupy, x, y, lambda whole: ndimage.uniform_filter1d(x, k, output=whole, mode="constant"), k // 2
        )

    return tie


def _bound_frame(cupy: Any, x: Any, y: Any, call: Callable[[Any], object], first: int) -> Bound:
    """Return a call that fills an array as large as the input, in which the result begins at `first`."""
    whole = [cupy.empty_like(x)]

    def run() -> None:
        call(whole[0])

    def finish() -> None:
        y[...] = whole[0][tuple(slice(first, first + extent) for extent in y.shape)]

    def release() -> None:
        whole.clear()
        cupy.get_default_memory_pool().free_all_blocks()

    return Bound(run, finish, release, {"version": cupy.__version__})


# ---- NPP -------------------------------------------------------------------------------------------------------


class NppSize(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int), ("height", ctypes.c_int)]


class NppPoint(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]


class NppStreamContext(ctypes.Structure):
    """nppdefs.h; the last two fields came with CUDA 11."""

    _fields_ = [
        ("stream", ctypes.c_void_p),
        ("device", ctypes.c_int),
        ("multiprocessors", ctypes.c_int),
        ("threads_per_multiprocessor", ctypes.c_int),
        ("threads_per_block", ctypes.c_int),
        ("shared_bytes", ctypes.c_size_t),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("stream_flags", ctypes.c_uint),
        ("reserved", ctypes.c_int),
    ]


def _npp() -> Any:
    """Load NPP's filters, of any version that the loader or the toolkit has."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    found = None
    for name in ("nppc", "nppif"):  # the second needs the first
        files = [ctypes.util.find_library(name), *(f"lib{name}.so.{major}" for major in (13, 12, 11))]
        files += [f"{home}/lib64/lib{name}.so" for home in homes if home]
        for file in filter(None, files):
            with suppress(OSError):
                found = ctypes.CDLL(file, mode=ctypes.RTLD_GLOBAL)
                break
        else:
            raise Missing(f"lib{name} (NPP) is not on this machine")
    return found


def _npp_filter(turned: bool) -> Callable[[Backend, Problem, Buffers], Bound]:
    """Return a call with the anchor in the middle, where all that can be meant by it is the same, and the weights as
    they are or turned round: which of the two is right is found out by comparing the results."""

    def tie(backend: Backend, problem: Problem, buffers: Buffers) -> Bound:
        try:
            call = _npp().nppiFilter_32f_C1R_Ctx
        except AttributeError:
            raise Missing("this NPP has no nppiFilter_32f_C1R_Ctx") from None
        facts = backend.facts()
        names = ("multiprocessors", "threads_per_multiprocessor", "threads_per_block", "shared_bytes_per_block")
        context = NppStreamContext(None, 0, *(facts[name] for name in names), facts["major"], facts["minor"], 0, 0)
        address, number = ctypes.c_void_p, ctypes.c_int
        call.argtypes = [address, number, address, number, NppSize, address, NppSize, NppPoint, NppStreamContext]
        x, w, y = (buffers[name] for name in ("x", "w", "y"))
        weights = backend.download(w)
        kept = backend.upload(np.ascontiguousarray(weights[::-1, ::-1] if turned else weights))
        (height, width), k = y.shape, w.shape[0]
        middle = x.address + 4 * (k // 2) * (x.shape[1] + 1)
        sizes = NppSize(width, height), kept.address, NppSize(k, k), NppPoint(k // 2, k // 2)

        def run() -> None:
            if status := call(middle, 4 * x.shape[1], y.address, 4 * width, *sizes, context):
                raise RuntimeError(f"nppiFilter_32f_C1R_Ctx gave {status}")

        return Bound(run, release=lambda: backend.release(kept))

    return tie


# ---- contenders ------------------------------------------------------------------------------------------------


def _contender(name: str, tie: Callable[[Backend, Problem, Buffers], Bound], *, exact: bool = True) -> Contender:
    return Contender(name, False, [LibraryCall("as it comes", tie)], exact=exact)


def convolution_2d() -> list[Contender]:
    npp = [
        LibraryCall("weights turned round" if turned else "weights as given", _npp_filter(turned))
        for turned in (True, False)
    ]
    return [
        _contender("PyTorch (cuDNN)", _pytorch_convolution(2), exact=False),
        _contender("CuPy ndimage", _cupy_correlate, exact=False),
        Contender("NPP", False, npp, exact=False),
    ]


def convolution_1d() -> list[Contender]:
    return [
        _contender("PyTorch (cuDNN)", _pytorch_convolution(1), exact=False),
        _contender("CuPy ndimage", _cupy_correlate, exact=False),
    ]


def average_1d(k: int) -> list[Contender]:
    return [
        _contender("PyTorch", _pytorch_average(k), exact=False),
        _contender("CuPy ndimage", _cupy_average(k), exact=False),
    ]
