"""Words of several small elements: what is one, and random kernels of such moves, which the machine runs as well."""

from __future__ import annotations

from random import Random

import pytest

from cuda_out.compile.toolchain import available_tools
from cuda_out.passes.packed_words import PackedWords, write_out_words
from cuda_out.passes.pipeline import optimize
from cuda_out.passes.printed_accesses import printed_moves
from cuda_out.ptx.running.validate import validate
from swizzle.language.parameters import Parameters
from swizzle.sketches.swz_file import read_swz
from symbolic.algebra.terms import Terms
from symbolic.ir.program import For, Program
from symbolic.ir.walk import statements
from tests.cuda_out.ptx.kernels import compiled, machine_terms

KERNEL = """
@sketch(block=32, x={type}[{inputs}], y={type}.out[{outputs}])
def k(x, y):
    t = cuda.laneid
    a = cuda.local.array({count}, {type})
    b = cuda.local.array({count}, {type})
    for i in range({count}):
        a[i] = x[{count} * t + i]
        b[i] = x[{count} * t + i + 1]
{body}
    for i in range({count}):
        y[{count} * t + i] = a[i]
        y[{count} * t + i + 32 * {count}] = b[i]
"""
LANES = ("t ^ 1", "31 - t", "5 * t % 32")
CONDITIONS = ("t < 16", "t & 1 == 0", "t % 3 == 2")


def kernel(body: list[str], count: int = 8, dtype: str = "u8") -> Program:
    values = {"type": dtype, "inputs": 32 * count + 1, "outputs": 64 * count, "count": count}
    text = KERNEL.format(body="\n".join(f"    {line}" for line in body), **values)
    (sketch,) = read_swz(text, "k.swz", Parameters())
    return sketch.program


def move(random: Random, count: int, per: int) -> list[str]:
    """Return stores to the elements of a word, of which each other move has a flaw."""
    one, other = random.sample("ab", 2)
    at = random.randrange(-(-count // per)) * per
    places = range(at, min(at + per, count))
    flaw = random.choice(["", "", "place", "lane", "gap", "missing"])
    lanes = [random.choice(LANES)] * len(places)
    if flaw == "lane":
        lanes[-1] = random.choice(LANES)
    if random.random() < 0.5:
        source = random.randrange(-(-count // per)) * per
        picks = [min(source + place - at, count - 1) for place in places]
        if flaw == "place":
            random.shuffle(picks)
        lines = [
            f"{one}[{p}] = cuda.shfl_sync(cuda.FULL_MASK, {other}[{q}], {lane})"
            for p, q, lane in zip(places, picks, lanes, strict=True)
        ]
    else:
        name = random.choice([other, other, one])
        conditions = random.sample(CONDITIONS, random.randrange(3))
        words = [random.randrange(-(-count // per)) * per for _ in range(2)]

        def leaf() -> str:
            return f"{name}[{min(random.choice(words) + random.randrange(per), count - 1)}]"

        lines = []
        for p in places:
            text = leaf()
            for condition in conditions:
                text = f"{leaf()} if {condition} else ({text})"
            lines.append(f"{one}[{p}] = {text}")
    if flaw == "gap":
        lines.insert(1, f"{other}[{random.randrange(count)}] = {one}[{random.randrange(count)}]")
    elif flaw == "missing":
        lines.pop()
    if random.random() < 0.2:
        lines = (
            [f"if {random.choice(CONDITIONS)}:", *(f"    {line}" for line in lines)]
            if "shfl" not in lines[0]
            else lines
        )
    return lines


@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@pytest.mark.parametrize(("seed", "count", "dtype"), [(3, 7, "i8"), (2, 6, "f16")])
def test_random_moves(seed: int, count: int, dtype: str) -> None:
    random = Random(seed)
    body = ["for i in range(4):", f"    a[i] = cuda.shfl_sync(cuda.FULL_MASK, b[i], {LANES[0]})"]
    per = 4 if dtype[1:] == "8" else 2
    body += [f"a[{i}] = cuda.shfl_sync(cuda.FULL_MASK, b[{i}], t ^ 2)" for i in range(per)]  # a and b are words
    for _ in range(12):
        body += move(random, count, per)
    program = kernel(body, count, dtype)
    words = PackedWords(optimize(program))
    assert words.arrays.keys() == {"a", "b"} and 2 < len(words.moves) < 12
    terms = Terms()
    source, ptx = compiled(program)
    assert validate(program, ptx, source.entry, machine_terms(program, terms), terms).verdict == "equal"
    permuted = [m for m in words.moves.values() if m.shuffle is None and not m.is_copy and not m.takes_words]
    assert source.text.count("__byte_perm(") == len(permuted)


def test_what_is_counted() -> None:
    """A word that is shuffled, chosen or permuted counts once; one that is copied, nothing."""
    shuffled = [f"a[{i}] = cuda.shfl_sync(cuda.FULL_MASK, b[{i}], t ^ 1)" for i in range(4)]
    chosen = [f"a[{i + 4}] = b[{i}] if t < 16 else b[{i + 4}]" for i in range(4)]
    permuted = [f"b[{i}] = a[{i + 4 if i % 2 else i}]" for i in range(4)]
    copied = [f"b[{i + 4}] = a[{i}]" for i in range(4)]
    moves = printed_moves(kernel([*shuffled, *chosen, *permuted, *copied]))
    assert (moves.shuffles, moves.selects) == (1, 2)
    apart = printed_moves(kernel(shuffled[:3]))
    assert (apart.shuffles, apart.selects) == (3, 0)


SEED = [f"a[{i}] = cuda.shfl_sync(cuda.FULL_MASK, b[{i}], t ^ 1)" for i in range(4)]


CHOSEN = [f"a[{i}] = b[{i}] if n < 9 else b[{i - 4}]" for i in range(4, 8)]
SHUFFLED = [f"a[{i}] = cuda.shfl_sync(cuda.FULL_MASK, b[{i}], n)" for i in range(4, 8)]


@pytest.mark.parametrize(
    ("lines", "at", "instead", "moves"),
    [
        (CHOSEN, 3, "a[7] = b[7] if n < 9 else b[3]", 2),
        (CHOSEN, 3, "a[7] = b[6] if n < 9 else b[1]", 2),  # in another order
        (CHOSEN, 3, "a[7] = b[7]", 2),  # one of both is the same
        (CHOSEN, 3, "a[7] = b[7] if n < 8 else b[3]", 1),
        (CHOSEN, 3, "a[7] = b[7] if n < 9 else a[3]", 1),  # of three words
        (CHOSEN, 3, "a[7] = b[7] if n < 9 else a[4]", 1),
        ([f"a[{i}] = a[{11 - i}]" for i in range(4, 8)], 3, "a[7] = a[4]", 1),  # which is a[7] by then
        (CHOSEN, 3, "a[6] = b[7] if n < 9 else b[3]", 1),
        (CHOSEN, 3, "b[0] = b[7] if n < 9 else b[3]", 1),
        (CHOSEN, 1, "n = 2 * n", 1),
        (CHOSEN, 1, "m = 2 * n", 1),
        (SHUFFLED, 3, "a[7] = cuda.shfl_sync(cuda.FULL_MASK, b[7], n)", 2),
        (SHUFFLED, 3, "a[7] = cuda.shfl_sync(cuda.FULL_MASK, b[6], n)", 1),
        (SHUFFLED, 3, "a[7] = cuda.shfl_sync(cuda.FULL_MASK, b[3], n)", 1),
        (SHUFFLED, 3, "a[7] = cuda.shfl_sync(cuda.FULL_MASK, b[7], n ^ 1)", 1),
        (SHUFFLED, 3, "a[7] = cuda.shfl_xor_sync(cuda.FULL_MASK, b[7], n)", 1),
    ],
)  # fmt: skip
def test_what_is_a_word_and_what_is_nearly_one(lines: list[str], at: int, instead: str, moves: int) -> None:
    changed = [*lines[:at], instead, *lines[at + 1 :]]
    assert len(PackedWords(kernel(["n = t ^ 3", *SEED, *changed])).moves) == moves


@pytest.mark.parametrize(
    ("loop", "moves"),
    [
        ("for i in range(8): a[i] = cuda.shfl_sync(cuda.FULL_MASK, b[i], t ^ 1)", 2),
        ("for i in range(4): a[i + 4] = cuda.shfl_sync(cuda.FULL_MASK, a[i], t ^ 1)", 1),
        ("for i in range(4): a[i + 4] = cuda.shfl_sync(cuda.FULL_MASK, a[i + 1], t ^ 1)", 0),
        ("for i in range(4): a[i] = cuda.shfl_sync(cuda.FULL_MASK, b[i], t ^ i)", 0),
        ("for i in range(6): a[i] = cuda.shfl_sync(cuda.FULL_MASK, b[i], t ^ 1)", 0),
    ],
)
def test_a_loop_over_the_elements_of_words(loop: str, moves: int) -> None:
    """It is written out where all of it are words, and is a loop otherwise."""
    program = kernel([loop.replace(": a", ":\n        a")])
    loops = sum(isinstance(each, For) for each in statements(program.body))
    written = write_out_words(program)
    assert len(PackedWords(optimize(program)).moves) == moves
    assert sum(isinstance(each, For) for each in statements(written.body)) == loops - (moves > 0)


def test_an_index_between_the_elements_of_a_word() -> None:
    """It may be computed there, unless an element before it uses what it changes."""
    for between, moves in (("m = 2 * n", 2), ("n = 2 * n", 1)):
        assert len(PackedWords(kernel(["n = t ^ 3", *SEED, *CHOSEN[:2], between, *CHOSEN[2:]])).moves) == moves


@pytest.mark.parametrize("line", ["b[t % 8] = a[0]", "a[0] = b[t % 3]"])
def test_an_array_that_threads_index_by_their_number_is_none_of_words(line: str) -> None:
    body = [line, *(f"a[{i}] = cuda.shfl_sync(cuda.FULL_MASK, b[{i}], t ^ 1)" for i in range(4))]
    assert not PackedWords(kernel(body)).moves
