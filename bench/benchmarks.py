"""What is measured: kernels of the case studies, and what is asked of each. Data only."""

from __future__ import annotations

from dataclasses import dataclass

LONG = 20  # seconds, after which a row of a comparison or a curve is given up
AT_MOST = f"first, at most {LONG} s"
SPACE_FLAGS: dict[str, tuple[str, ...]] = {
    "first": (),
    "1": ("--space", "1"),
    "2": ("--space", "2"),
    "3": ("--space", "3"),
    "3, all": ("--space", "3", "--all"),
    "all": ("--space", "all"),
    "naive-1": ("--template", "naive-1", "--timeout", str(LONG)),
    "naive-2": ("--template", "naive-2", "--timeout", str(LONG)),
    "no canonical": ("--no-canonical", "--timeout", str(LONG)),
    "first, no light": ("--no-light",),
    AT_MOST: ("--timeout", str(LONG)),
}


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One row: a kernel, a question (a key of SPACE_FLAGS), and which answers count.

    `statuses` empty: any answer counts, and one run is enough if it takes long.
    """

    kernel: str
    question: str = "first"
    statuses: tuple[str, ...] = ("sat",)

    @property
    def name(self) -> str:
        return f"{self.kernel} [{self.question}]"

    @property
    def sketch(self) -> str:
        file, _, rest = self.kernel.partition(":")
        if file.startswith("bench/"):
            return f"{file}.py:{rest.partition(' ')[0]}"
        if not rest:
            file, _, _ = self.kernel.partition(" ")
            return f"case_studies/{file if '.' in file else file + '.py'}"
        return f"case_studies/{file}.py:{rest.partition(' ')[0]}"

    @property
    def target(self) -> list[str]:
        return [self.sketch, *(word for value in self.kernel.split()[1:] for word in ("-D", value))]

    @property
    def arguments(self) -> list[str]:
        return ["solve", *self.target, *SPACE_FLAGS[self.question], "--json"]


def of(kernel: str, *questions: str, none: tuple[str, ...] = ()) -> list[Benchmark]:
    """Return the rows of a kernel; the questions in `none` have the answer that there is no solution."""
    return [Benchmark(kernel, q, ("unsat",) if q in none else ("sat",)) for q in questions]


SPACES = ("first", "3")
MISSING = (6, 10, 12, 14)  # struct sizes without a solution in the paper's template
LARGE_MISSING = (30, 62)  # the same, of more words
SIZES = tuple(size for size in range(1, 17) if size not in MISSING)
COOKBOOK = (
    *("reduction:shared", "reduction:apart", "maximum", "scan:scan", "dot", "matvec", "wave", "moving_average", "fir"),
    *("fft_stage:fft_stage", "fft:fft", "max_pooling", "laplace3d"),
    *(f"{kernel} threads={n}" for kernel in ("tree", "block_scan") for n in (32, 64, 128)),
)
WITHOUT_ANSWER = (
    *(f"{kernel} steps=4" for kernel in ("reduction:shared", "maximum", "scan:scan")),
    *(f"{kernel} threads=32 steps=4" for kernel in ("tree", "block_scan")),
    *(f"{kernel} threads=128 steps=6" for kernel in ("tree", "block_scan")),
    *("scan:blind", "fft_stage:blind", "fft:short", "fft:blind"),
)
BUTTERFLIES = tuple(f"bench/butterflies:{kernel}" for kernel in ("walsh", "both", "bodies", "fir"))
LARGE = tuple(f"bench/large:{kernel} N={n}" for kernel in ("turned", "exchanged", "windows") for n in (256, 720, 1024))
UNMATCHED = tuple(f"bench/large:unmatched N={n}" for n in (256, 720, 1024))
BY_STRUCT = ("aos_sum:crc", "aos_store:crc", "aos_store:rcr")

TABLE = [
    *of("conv1d.swz", "first"),
    *of("stencil1d", *SPACES),
    *(row for k in (3, 5, 7, 9) for row in of(f"conv1d K={k}", *SPACES)),
    *(row for f in ("stencil2d", "conv2d") for k in (3, 5, 7) for row in of(f"{f} K={k}", *SPACES)),
    *(row for form in ("shared", "register") for row in of(f"mult32:{form}", *SPACES, "first, no light")),
    *of("mult64:shared", *SPACES, "first, no light"),
    *of("mult64:register", "first", "2", "3"),
    *(row for s in SIZES for row in of(f"aos_sum:crc struct_size={s}", *SPACES, "3, all")),
    *(row for n in ("crc", "rcr") for s in SIZES for row in of(f"aos_store:{n} struct_size={s}", *SPACES, "3, all")),
    *(row for k in BY_STRUCT for s in MISSING for row in of(f"{k} struct_size={s}", *SPACES, none=SPACES)),
    *(row for k in BY_STRUCT for s in LARGE_MISSING for row in of(f"{k} struct_size={s}", "first", none=("first",))),
    *(row for k in BY_STRUCT for s in (32, 64) for row in of(f"{k} struct_size={s}", "first")),
    *of("transpose", "first"),
    *(row for kernel in LARGE for row in of(kernel, "first")),
    *(row for kernel in UNMATCHED for row in of(kernel, "3", none=("3",))),
    *(row for kernel in COOKBOOK for row in of(f"cookbook/{kernel}", "first")),
    *(row for kernel in BUTTERFLIES for row in of(kernel, "first")),
    *of("bench/butterflies:walsh rounds=4", "first", none=("first",)),
    *(row for kernel in WITHOUT_ANSWER for row in of(f"cookbook/{kernel}", "first", none=("first",))),
]  # fmt: skip
COMPARISON = [
    Benchmark(kernel, question, ())
    for kernel in ("mult32:shared", "mult32:register", *(f"aos_sum:crc struct_size={s}" for s in (1, 2, 3, 5, 7)))
    for question in ("naive-1", "naive-2", "no canonical")
]
WARP_SIZES, STRUCT_SIZES = (4, 8, 16, 32, 64), tuple(range(1, 17))
BY_WARP = ("conv1d", "stencil2d", "mult32:shared", "mult64:shared", "aos_sum:crc", "aos_store:crc", "aos_store:rcr")
GROWTH = [
    *(Benchmark(f"{k} warp_size={w}", AT_MOST, ()) for k in BY_WARP for w in WARP_SIZES),
    *(Benchmark(f"{k} struct_size={s}", AT_MOST, ()) for k in BY_STRUCT for s in STRUCT_SIZES),
]
BENCHMARKS = [*TABLE, *COMPARISON, *GROWTH]
