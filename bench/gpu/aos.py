"""Arrays of structures, of 1 to 16 words: load and store as arrays, load and sum (paper, section 7.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from math import gcd

from bench.gpu.contenders import Setup, solved, written
from bench.gpu.kernels import Kernel, Lengths, by_hand
from bench.gpu.problem import Array, ArraySpec, Case, Contender, Problem
from bench.gpu.solved import Sketch, sketch

SIZES = range(1, 17)
FORMS = ("store", "sum")
SMALL: tuple[Lengths, ...] = ({"x": 1}, {"x": 700}, {"x": 1024})


def cases(setup: Setup) -> Iterator[Case]:
    for form in FORMS:
        for size in SIZES:
            yield Case(
                f"AoS load-{form}",
                size,
                partial(problem, form, size),
                partial(expected, form, size),
                SMALL,
                partial(full, size),
                partial(sketches, form, size),
                partial(contenders, setup, form, size),
                "structures",
            )


def problem(form: str, size: int, lengths: Lengths) -> Problem:
    n = lengths["x"]
    shape = (size, n) if form == "store" else (n,)
    arrays = (ArraySpec("x", "uint32", (n * size,), "in"), ArraySpec("y", "uint32", shape, "out"))
    return Problem(lengths, arrays, n)


def expected(form: str, size: int, arrays: Mapping[str, Array]) -> Array:
    structures = arrays["x"].reshape(-1, size)
    return structures.T if form == "store" else structures.sum(axis=1, dtype="uint32")


def full(size: int, bytes_: int) -> Lengths:
    """Inputs of so many bytes, and a length that no block divides."""
    return {"x": bytes_ // (4 * size) - 1}


def sketches(form: str, size: int) -> dict[str, list[Sketch]]:
    """Return our kernels by name; of each, what it is tuned over."""
    found = {}
    if form == "store":
        for name in ("crc", "rcr"):
            found[f"ours: {name}"] = [sketch(f"case_studies/aos_store.py:{name}", struct_size=size, warps=4)]
    else:
        found["ours: crc"] = [sketch("case_studies/aos_sum.py:crc", struct_size=size, warps=4)]
    vector = gcd(size, 4)
    name = "store" if form == "store" else "load_sum"
    structs = sorted({1, max(1, min(8, 8 // size)), max(1, min(16, 16 // size))})
    file = f"bench/gpu/sketches/aos.py:{name}"
    found["ours: vectors"] = [
        sketch(file, struct_size=size, vector=vector, structs=s, warps=w)
        for s, w in [*((s, 4) for s in structs), (structs[0], 8)]
    ]
    if 1 < vector < size:  # by vectors of its own, a lane needs no shuffle
        found["ours: direct vectors"] = [
            sketch(file, struct_size=size, vector=vector, structs=s, warps=4, direct=1) for s in sorted({*structs, 6})
        ]
    return found


def contenders(setup: Setup, form: str, size: int) -> list[Contender]:
    ours = [solved(setup, name, variants) for name, variants in sketches(form, size).items()]
    vectors = sorted({1, gcd(size, 4)})

    def kernels(
        file: str, name: str, labels: Mapping[str, Mapping[str, int]], includes: tuple[str, ...] | None = None
    ) -> dict[str, Kernel]:
        common = {"AOS_WORDS": size, "AOS_THREADS": 256}
        return {
            label: by_hand(file, f"{name}_{form}", 256, "xy", (256,), includes=includes, **common, **defines)
            for label, defines in labels.items()
        }

    def trove() -> dict[str, Kernel]:
        folder = setup.checkout("trove", "trove/aos.h", "--trove")
        return kernels("aos_trove.cu", "trove", {"contiguous": {}}, (folder,))

    direct = {f"{v} words at once": {"V": v, "PAD": 0} for v in vectors}
    shared = {f"{v} words at once{', padded' * pad}": {"V": v, "PAD": pad} for v in vectors for pad in (0, 1)}
    return [
        written("direct", lambda: kernels("aos.cu", "direct", direct)),
        written("shared memory", lambda: kernels("aos.cu", "shared", shared)),
        written("CUB", lambda: kernels("aos_cub.cu", "cub", {"warp transpose": {}}, ())),
        written("trove", trove),
        *ours,
    ]
