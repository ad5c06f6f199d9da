"""Lower bounds: never above a child's, below every time in the paper, and explained."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from cuda_out.devices.device import device, device_names
from swizzle.derive.schedules.schedule_space import ScheduleSpace
from symbolic.choices.propagation import Propagator
from symbolic.choices.search import children
from tests.swizzle.derive.schedules.kernels import KERNELS, descent, schedules


def pairs(name: str, descents: int, seed: int = 0) -> int:
    """Compare the bounds of parents and children on random descents, on all devices, and return how many there were."""
    space, chooser, compared = schedules(name), random.Random(seed), 0
    propagation = Propagator(space.space)
    root = propagation.root()
    for _ in range(descents):
        for gpu in map(device, device_names()):
            least = space.bound(root, gpu).seconds
            for child in descent(space, propagation, root, chooser)[1:]:
                bound = space.bound(child, gpu).seconds
                assert bound >= least * (1 - 1e-12)
                least, compared = bound, compared + 1
    return compared


@pytest.mark.parametrize("name", ["axpy", "transposition"])
def test_a_child_is_never_below_its_parent(name: str) -> None:
    """On some descents."""
    assert pairs(name, 3) > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_no_child_is_below_its_parent(name: str) -> None:
    """On many descents of every kernel."""
    pairs(name, 12, seed=3)


def test_every_value_of_a_choice_is_a_child() -> None:
    """The same of all values of each open choice, not only of those on a descent."""
    space = schedules("transposition")
    propagation = Propagator(space.space)
    path = descent(space, propagation, propagation.root(), random.Random(1))
    gpu = device("h100")
    for candidate in path[:6]:
        least = space.bound(candidate, gpu).seconds
        for variable in list(space.decisions.values())[:20]:
            if candidate.masks[variable] & (candidate.masks[variable] - 1):
                for _, child in children(propagation, candidate, variable):
                    assert space.bound(child, gpu).seconds >= least * (1 - 1e-12)


@pytest.mark.parametrize(
    ("name", "lengths", "measured", "least"),
    [
        ("axpy", {"N": 1 << 26}, 7.05e-3, 5.9e-3),
        pytest.param("matmul", {"M": 256, "N": 256, "K": 32}, 34.2e-6, 3.3e-6, marks=pytest.mark.slow),
        pytest.param("matmul", {"M": 1024, "N": 1024, "K": 1024}, 4.81e-3, 1.7e-3, marks=pytest.mark.slow),
        pytest.param("strided", {"M": 1024, "N": 1024, "K": 1024}, 10.1e-3, 1.7e-3, marks=pytest.mark.slow),
    ],
)
def test_the_root_is_below_the_times_of_the_paper(
    name: str, lengths: dict[str, int], measured: float, least: float
) -> None:
    """Table 2, on the K4000: below what was measured, and not by far."""
    space = schedules(name, lengths=lengths)
    assert least < space.bound(Propagator(space.space).root(), device("k4000")).seconds < measured


def test_what_a_bound_says() -> None:
    """The unit that decides, and what it has to do."""
    space = schedules("axpy", lengths={"N": 1 << 26})
    bound = space.bound(Propagator(space.space).root(), device("h100"))
    assert str(bound) == ("at least 209 us: 7e+08 bytes of memory beyond L2 at 3.35e+12 B/s on NVIDIA H100 SXM5 80GB")


def test_decisions_raise_the_bound() -> None:
    """Lanes that are rows apart cost lines of the first cache; blocks of one thread waste the others' lanes."""
    gpu = device("h100")
    turned = schedules("transposition", lengths={"M": 1024, "N": 1024})
    propagation = Propagator(turned.space)
    root = propagation.root()
    along = turned.decide(propagation, root, {"kind(load_x.j1)": "THREAD.x", "size(j1)": 32})
    assert "first cache" in turned.bound(along, gpu).why
    assert "first cache" not in turned.bound(root, gpu).why
    at = turned.decide(propagation, root, {f"threads(THREAD.{axis})": 1 for axis in "xyz"})
    assert "1 lane of a warp" in turned.bound(at, gpu).why


def test_a_warp_that_loads_all_by_itself_is_bounded_so() -> None:
    """A thread's loads, of four words at most, are issued one after the other; in many blocks there are few."""
    gpu = device("h100")
    space = schedules("axpy", lengths={"N": 1 << 14})
    propagation = Propagator(space.space)
    root = propagation.root()
    one = {"threads(THREAD.x)": 32, "threads(THREAD.y)": 1, "kind(store_out.i0)": "LOOP"}
    alone = space.bound(space.decide(propagation, root, one), gpu)
    assert alone.seconds >= (gpu.latency_global + 2 * (1 << 14) / 4 / 32 - 1) / gpu.clock_hz
    assert alone.why.startswith(f"a load of {gpu.latency_global} clocks after 255 others of a thread")
    assert "of a thread" not in space.bound(root, gpu).why


def test_what_is_not_sure_is_not_counted() -> None:
    """L2 may hold input before a kernel and output after it; later blocks may load from the first cache."""
    gpu = device("h100")
    two = schedules("axpy", lengths={"N": 1 << 23})
    propagation = Propagator(two.space)
    root = propagation.root()
    assert "of L2 at" in two.bound(root, gpu).why  # 96 MiB: more than L2 has, and less than twice as much
    one = {"kind(store_out.i0)": "BLOCK", "size(i1)": 2, "size(i2)": 1, "kind(store_out.i1)": "THREAD.x"}
    slow = msgspec.structs.replace(gpu, latency_global=10**9)
    bound = two.bound(two.decide(propagation, root, one), slow)
    assert "a load of 1000000000 clocks, " in bound.why and bound.seconds < 1.01e9 / gpu.clock_hz


def test_banks_of_eight_bytes_serve_two_words() -> None:
    """Lanes that are rows of a plain tile apart, on banks as wide as those of the K4000."""
    turned = schedules("transposition", lengths={"M": 1024, "N": 1024})
    propagation = Propagator(turned.space)
    decisions = {"memory(copy_x)": "SHARED", "size(i1)": 32, "size(i2)": 1, "size(j1)": 32, "size(j2)": 1}
    decisions |= {"kind(store_y.i0)": "BLOCK", "kind(store_y.j0)": "BLOCK", "layout(copy_x)": "PLAIN"}
    decisions |= {"kind(load_x.i1)": "THREAD.x", "kind(load_x.j1)": "THREAD.y"}
    decisions |= {"kind(store_y.j1)": "THREAD.x", "kind(store_y.i1)": "THREAD.y"}
    plain = turned.decide(propagation, propagation.root(), decisions)
    gpu = device("h100")
    wide = msgspec.structs.replace(gpu, shared_bytes_per_clock=2 * gpu.shared_bytes_per_clock)
    assert "clocks of shared memory" in turned.bound(plain, gpu).why
    assert turned.bound(plain, wide).seconds == pytest.approx(turned.bound(plain, gpu).seconds / 2, rel=0.05)


@pytest.mark.slow
def test_integers_have_two_pipes_and_halves_twice_the_lanes(tmp_path: Path) -> None:
    """The lanes of an A100 in the arithmetic of sums: 64 of floats, 128 of integers, 256 of halves."""
    times = {}
    for element in ("f32", "i32", "f16"):
        path = tmp_path / f"{element}.py"
        path.write_text(KERNELS["matmul"].replace("f32", element))
        space = ScheduleSpace.of(path, lengths={"M": 512, "N": 512, "K": 32})
        times[element] = space.bound(Propagator(space.space).root(), device("a100")).seconds
    assert times["i32"] < 0.55 * times["f32"] and times["f16"] < 0.3 * times["f32"]
