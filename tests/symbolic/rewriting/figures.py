"""The derivations of the paper's Figures 2, 8 and 9, from the high-level expressions."""

from __future__ import annotations

from symbolic.patterns.reading import read_pattern, read_type
from symbolic.rewriting.derivation import PatternDerivation

ASUM = "abs = lambda v: max(v, -v)\nadd = lambda a, b: a + b\nreduce(add, 0) o map(abs) o x"
GROUP = 262144
"""As many elements has a workgroup of Figure 9a."""


def begun(text: str, **inputs: str) -> PatternDerivation:
    """Return a derivation without steps."""
    return PatternDerivation(read_pattern(text), {name: read_type(kind) for name, kind in inputs.items()})


def figure_2() -> PatternDerivation:
    """Vector scaling: workgroups of 1024 elements, vectors of 4."""
    made = begun("mul3 = lambda v: v * 3\nmap(mul3) o x", x="f32[n]")
    made.apply("split_join", size=1024).apply("vectorise", at="mul3", width=4)
    return made.apply("lower_map", at="mul3_chunks", kind="block").apply("lower_map", at="mul3", kind="local")


def chunks(made: PatternDerivation, size: str | int) -> PatternDerivation:
    """Reduce and map chunk by chunk: steps (1) to (5) of Figure 8, from a partial reduction on."""
    made.apply("part_split", at="add_part", size=size).apply("split_join", at="abs", size=size)
    return made.apply("split_join_id").apply("map_fusion")


def figure_8() -> PatternDerivation:
    """The eight expressions, at any length that s divides."""
    made = chunks(begun(ASUM, x="f32[n]").apply("reduce_part", parts="n / s"), "s")
    made.apply("lower_map", at="abs", kind="seq").apply("part_reduce").apply("lower_reduce", at="add_part")
    return made.apply("reduce_map_fusion")


def threads(made: PatternDerivation, threads: int, size: int) -> PatternDerivation:
    """In each workgroup, threads reduce `size` elements that are far apart, and then together in rounds of pairs."""
    made.apply("part_reduce").apply("reduce_part", at="add_part", parts=threads).apply("part_reorder", at="add_part")
    made.apply("reorder_of_map").apply("part_split", at="add_part_part", size=size)
    made.apply("split_join", at="abs", size=size).apply("split_join_id", at="abs")
    made.apply("map_fusion", at="add_part_part_chunks")
    made.apply("part_iterate", at="add_part", times=threads.bit_length() - 1, size=2)
    made.apply("copy", at="add_part_rounds").apply("split_join", at="add_part_rounds_copy", size=1)
    made.apply("lower_map", at="add_part_chunks", kind="block")
    for name in ("add_part_part_chunks", "add_part_round", "add_part_rounds_copy_chunks"):
        made.apply("lower_map", at=name, kind="local")
    made.apply("lower_map", at="add_part_rounds_copy", kind="seq").apply("lower_map", at="abs", kind="seq")
    made.apply("to_memory", at="add_part_part_chunks", memory="shared")
    made.apply("to_memory", at="add_part_rounds_copy_chunks", memory="global")
    made.apply("part_reduce").apply("lower_reduce", at="add_part_part").apply("lower_reduce", at="add_part")
    made.apply("reduce_map_fusion").apply("reorder_stride", stride=threads)
    return made.apply("lower_reduce")


def figure_9a() -> PatternDerivation:
    """For an Nvidia GPU: 128 threads of 2048 elements."""
    made = begun(ASUM, x="f32[n]").apply("reduce_part", parts=f"n / {GROUP}")
    return threads(chunks(made, GROUP), 128, 2048)


def vectors(parts: str, size: int) -> PatternDerivation:
    """Reduce vectors of 4 in chunks."""
    made = begun(ASUM, x="f32[n]").apply("reduce_part", parts=parts).apply("vectorise_part", width=4)
    made.apply("vectorise", at="abs", width=4).apply("vector_scalar_id")
    return chunks(made, size)


def figure_9b() -> PatternDerivation:
    """For an AMD GPU: 256 threads of two vectors."""
    return threads(vectors("n / 512", 512), 256, 2)


def figure_9c(size: int = 8192) -> PatternDerivation:
    """For an Intel CPU: one thread of 8192 vectors."""
    made = vectors(f"n / {size}", size).apply("part_split", at="add_part", size=size)
    made.apply("split_join", at="abs", size=size).apply("split_join_id", at="abs")
    made.apply("map_fusion", at="add_part_chunks2").apply("lower_map", at="add_part_chunks", kind="block")
    made.apply("lower_map", at="add_part_chunks2", kind="local").apply("lower_map", at="abs", kind="seq")
    made.apply("part_reduce").apply("lower_reduce", at="add_part").apply("reduce_map_fusion")
    return made.apply("lower_reduce")


def tiled_product() -> PatternDerivation:
    """A product of matrices by tiles of 16 by 16 in shared memory, in 13 steps; any lengths."""
    made = begun(
        "add = lambda a, b: a + b\nmul = lambda p: p[0] * p[1]\n"
        'map(lambda r: map(lambda c: at(reduce(add, 0) o map(mul) o zip(r, c), 0), label="columns") o transpose o B, '
        'label="rows") o A',
        A="f32[m, k]", B="f32[k, n]",
    )  # fmt: skip
    made.apply("lower_reduce").apply("reduce_map_fusion")
    made.apply("split_join", at="rows", size=16).apply("split_join", at="columns", size=16)
    made.apply("map_fission", at="rows").apply("interchange", at="rows_first")
    made.apply("reduce_tiles", size=16)
    made.apply("lower_map", at="rows_chunks", kind="block", axis="y")
    made.apply("lower_map", at="columns_chunks", kind="block").apply("keep_tile", item=0)
    made.apply("keep_tile", item=1, turned=True)
    made.apply("lower_map", at="rows_first", kind="local", axis="y")
    return made.apply("lower_map", at="columns", kind="local")


def tiled_convolution() -> PatternDerivation:
    """A convolution in two dimensions by tiles of 16 by 16 windows that overlap; of any lengths."""
    made = begun(
        "add = lambda a, b: a + b\nmul = lambda p: p[0] * p[1]\n"
        "map(lambda row: map(lambda win: at(reduce(add, 0) o join o map(lambda p: map(mul) o zip(p[0], p[1])) o "
        'zip(win, w), 0), label="points") o row, label="rows") o map(transpose) o slide(3, 1) o map(slide(3, 1)) o x',
        x="f32[m, n]", w="f32[3, 3]",
    )  # fmt: skip
    made.apply("slide_tiles_2d", tile=16)
    made.apply("map_of_join", at="rows").apply("map_fusion", at="rows_chunks").apply("map_fusion", at="rows", nth=0)
    made.apply("map_of_join", at="points").apply("map_fission", at="rows").apply("map_of_transpose", at="rows_first")
    made.apply("map_fusion", at="rows_chunks").apply("map_fusion", at="rows_first")
    made.apply("lower_map", at="rows_chunks", kind="block", axis="y").apply("lower_map", at="rows_first", kind="block")
    made.apply("lower_map", at="points_chunks", kind="local", axis="y")
    return made.apply("lower_map", at="points", kind="local")
