"""Exchanges: what goes where is read off the specification, each home is a program, and the cheapest is the answer."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import numpy as np
import pytest
from msgspec.structs import replace

from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.emulate.emulate import emulate
from cuda_out.ptx.running.validate import validate
from swizzle import load_solution, solve
from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import Meaning
from swizzle.language.specs.verify import verify
from swizzle.sketches.sketch import Sketch
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.exchanges import PREFERRED
from swizzle.solving.homes.programs import lowered
from swizzle.solving.homes.sources import NoSources, Sources, sources_of
from swizzle.solving.homes.ways import floor_of, way_of
from swizzle.solving.solution.solution import Limits
from symbolic.errors import SwizzleError
from tests.cuda_out.ptx.kernels import compiled

ALL = '?sw_home("shuffle", "shared", "vector")'
MOVE = """
TABLE = ({table})
@spec
def wanted(x):
    return [x[TABLE[i]] for i in range({size})]

@sketch(spec=wanted, block={block}, x={type}[{size}], y={type}.out[{size}])
def moved(x, y):
    t = cuda.threadIdx.x
    mine = cuda.local.array({slots}, {type})
    theirs = cuda.local.array({slots}, {type})
    for i in range({slots}):
        mine[i] = x[{block} * i + t]
    exchange(mine, theirs, home={home})
    for i in range({slots}):
        y[{block} * i + t] = theirs[i]
"""


def sketch_of(text: str) -> Sketch:
    (sketch,) = read_swz(text, "k.swz", Parameters())
    return sketch


def moving(table: list[int], block: int, home: str = ALL, dtype: str = "f32") -> Sketch:
    """Return the sketch in which element i, `block` threads by slots, becomes what element `table[i]` was."""
    listed = ", ".join(map(str, table))
    values = {"table": listed, "size": len(table), "block": block, "slots": len(table) // block}
    return sketch_of(MOVE.format(home=home, type=dtype, **values))


def structures(slots: int, block: int = 32) -> list[int]:
    """Return the table of structures of some words, each warp's for itself."""
    return [
        t // 32 * 32 + (slots * (t % 32) + i) % 32 + (slots * (t % 32) + i) // 32 * block
        for i in range(slots)
        for t in range(block)
    ]


def shuffled(slots: int, block: int, seed: int) -> list[int]:
    table = list(range(slots * block))
    Random(seed).shuffle(table)
    return table


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("table", "block", "dtype"),
    [
        (structures(3), 32, "f32"),
        (structures(2, 64), 64, "f64"),
        (structures(2), 32, "u8"),
        (shuffled(1, 32, 1), 32, "f32"),
        (shuffled(1, 64, 2), 64, "f16"),
    ],
)
def test_each_home_alone(table: list[int], block: int, dtype: str) -> None:
    """The answer is the cheapest of the homes' answers, and no home is below what it takes at least."""
    together = solve(moving(table, block, dtype=dtype))
    costs = {}
    for home in PREFERRED:
        alone = solve(moving(table, block, f'"{home}"', dtype))
        (said,) = alone.certificate["homes"] if alone.solutions else [{"least": None}]
        if alone.solutions:
            costs[home] = alone.best.cost["clocks"]
            assert costs[home] >= said["least"] and alone.best.holes[0].formula == home
        else:
            assert home == "shuffle" and block > 32 and alone.status == "unsat" and "warp to warp" in alone.reason
    assert together.best.cost["clocks"] == min(costs.values()) == costs[together.best.holes[0].formula]
    for said in together.certificate["homes"]:
        (home,) = said["homes"]
        if "clocks" in said or "expected" in said:
            assert said.get("clocks", said.get("expected")) == costs[home]
        elif said["least"] is not None:
            assert said["why"] == "not tried" and said["least"] >= together.best.cost["clocks"]


@pytest.mark.parametrize("seed", range(4))
def test_any_permutation_and_its_mutants(seed: int) -> None:
    """Sources are the table, the programs of all homes are verified, and with two elements exchanged they are wrong."""
    random = Random(seed)
    block, slots = [(32, 3), (64, 1), (64, 2), (32, 1)][seed]
    table = shuffled(slots, block, seed) if slots == 1 else structures(slots, block)
    sketch = moving(table, block)
    meaning = Meaning.of(sketch.program, sketch.spec)
    (found,) = sources_of(sketch.program, meaning)
    assert not isinstance(found, NoSources)
    (sources,) = found
    mine, theirs = (side.reshape(-1, slots) for side in (sources.mine, sources.theirs))
    for i, t in np.ndindex(slots, len(theirs)):
        j, other = divmod(table[block * i + t], block)
        assert theirs[t, i] == mine[other, j]
    a, b = random.sample(range(theirs.size), 2)
    wrong = theirs.reshape(-1).copy()
    wrong[[a, b]] = wrong[[b, a]]
    mutant = Sources(sources.mine, wrong.reshape(sources.theirs.shape), sources.times, sources.bits)
    for home in PREFERRED:
        if floor_of(home, sources).clocks is None:
            continue
        for some, right in ((sources, True), (mutant, False)):
            way = way_of(home, some)
            if way is not None:
                done = verify(lowered(sketch.program, [way]), sketch.spec, meaning)
                assert not done.violations and done.equal == right


SUMS = """
@spec
def wanted(x, w):
    return [max(w[0] * x[3 * i] + w[1] * x[3 * i + 1] + w[2] * x[3 * i + 2] + 1, 0) for i in range(64)]

@sketch(spec=wanted, block=32, grid=2, x=f32[192], w=f32.const[3], y=f32.out[64])
def sums(x, w, y):
    mine = cuda.local.array(3, f32)
    warp_load(x, mine, offset=96 * cuda.blockIdx.x)
    exchange(mine, mine)
    total = accumulator(f32, outer="+", inner="*", init=1, final=lambda v: max(v, 0))
    for i in range(3):
        total.accumulate({factor}mine[i])
    y[cuda.grid(1)] = total.value
"""


def test_sums_are_compared_term_by_term() -> None:
    """An element's place follows from its factor; without factors, from the order of the inputs."""
    text = SUMS.replace("max(w", "maximum(w")
    weighted = solve(sketch_of(text.format(factor="w[i], ")))
    assert weighted.best.cost == {"accumulates": 1, "clocks": 6} and weighted.optimal
    text = text.replace("w[0] * ", "").replace("w[1] * ", "").replace("w[2] * ", "")
    plain = sketch_of(text.format(factor="").replace(', inner="*"', ""))
    assert solve(plain).best.cost == weighted.best.cost


def test_selects_bound_an_exchange() -> None:
    """4x4 words in every four threads: four shuffles would take ten selects, and three take fourteen."""
    table = [32 * (t % 4) + t // 4 * 4 + slot for slot in range(4) for t in range(32)]
    found = solve(moving(table, 32))
    assert found.best.cost == {"clocks": 5} and found.optimal
    assert found.certificate["homes"][0]["because"] == "4 shuffles take 10 selects at least"


def test_elements_in_any_order_over_several_threads() -> None:
    """There it is open whether others would be cheaper: nothing is called minimal."""
    text = """
@spec
def wanted(x):
    return [x[i] + x[i + 32] + x[63 - i] + x[31 - i] for i in range(32)]

@sketch(spec=wanted, block=32, x=f32[64], y=f32.out[32])
def pairs(x, y):
    mine = cuda.local.array(2, f32)
    warp_load(x, mine)
    exchange(mine, mine)
    v = mine[0] + mine[1]
    y[cuda.laneid] = v + cuda.shfl_xor_sync(cuda.FULL_MASK, v, 31)
"""
    found = solve(sketch_of(text))
    assert found.status == "sat" and not found.optimal and not found.proved.get("clocks")


@pytest.mark.parametrize(
    ("before", "after", "status", "reason"),
    [
        ("x[3 * i + 2] for", "x[3 * i + 3] for", "unsat", "y[95] is what the exchange gives; the specification says x"),
        ("x[3 * i + 2] for", "2 * x[3 * i] for", "unsat", "which no thread of its block has"),
        ("= mine[2]", "= x[t]", "unsat", "y[64] is x[0], whatever is exchanged; the specification says x[2]"),
        ("= mine[2]", "= mine[0]", "unsat", "y[64] is what has to be x[0] somewhere else"),
        ("= mine[2]", "= mine[2] + mine[1]", "unknown", "not comparable term by term"),
    ],
)  # fmt: skip
def test_no_exchange(before: str, after: str, status: str, reason: str) -> None:
    text = """
@spec
def wanted(x):
    return ([x[3 * i] for i in range(32)] + [x[3 * i + 1] for i in range(32)] + [x[3 * i + 2] for i in range(32)])

@sketch(spec=wanted, block=32, x=f32[128], y=f32.out[96])
def none(x, y):
    t = cuda.laneid
    mine = cuda.local.array(3, f32)
    warp_load(x, mine)
    exchange(mine, mine)
    y[t] = mine[0]
    y[t + 32] = mine[1]
    y[t + 64] = mine[2]
"""
    assert before in text and (before != "= mine[2]" or after != "= x[t]" or solve(sketch_of(text)).status == "sat")
    found = solve(sketch_of(text.replace(before, after)))
    assert (found.status, reason in found.reason) == (status, True), found.reason
    assert reason in str(found.explain())


@pytest.mark.parametrize(
    ("home", "theirs", "message"),
    [
        ('"shraed"', "theirs", "'shraed' is no home of an exchange"),
        ('?sw_home("shared", "shared")', "theirs", "'shared' is named twice"),
        ('sw_home("shared")', "theirs", "the hole sw_home without its question mark"),
        (ALL, "x", "`theirs` of exchange is a parameter array"),
    ],
)
def test_mistakes(home: str, theirs: str, message: str) -> None:
    text = MOVE.format(table="0, 1", size=32, block=32, slots=1, type="f32", home=home)
    with pytest.raises(SwizzleError, match=r"exchange|sw_home|named") as raised:
        sketch_of(text.replace("exchange(mine, theirs", f"exchange(mine, {theirs}"))
    assert raised.value.found == message and raised.value.place is not None


def test_holes_that_are_not_of_elements_are_refused() -> None:
    text = MOVE.format(table=", ".join(map(str, range(32))), size=32, block=32, slots=1, type="f32", home=ALL)
    with pytest.raises(SwizzleError, match="part1 is open beside an exchange"):
        solve(sketch_of(text.replace("= theirs[i]", "= theirs[?sw_part(1, t)]")))


BESIDE = """
@spec
def wanted(x):
    return [x[31 - t] + x[(t + {turn}) % 32] for t in range(32)]

@sketch(spec=wanted, block=32, x=f32[32], y=f32.out[32])
def beside(x, y):
    mine = cuda.local.array(1, f32)
    mine[0] = x[cuda.laneid]
    exchange(mine, mine, home="shuffle")
    y[cuda.laneid] = mine[0] + x[?sw_xform(cuda.laneid, 32, 1)]
"""


def test_another_hole_is_solved_beside_an_exchange(tmp_path: Path) -> None:
    """It is worked out with the first light function with which the outputs can be right; no proof follows."""
    path = tmp_path / "beside.swz"
    path.write_text(BESIDE.format(turn=1))
    (sketch,) = read_swz(path.read_text(), str(path), Parameters())
    result = solve(sketch)
    assert [hole.formula for hole in result.best.holes] == ["shuffle", "(cuda.laneid + 1) % 32"]
    assert verify(result.best.program, sketch.spec).equal
    assert result.status == "sat" and not result.optimal
    result.save(tmp_path / "beside.json")
    assert load_solution(tmp_path / "beside.json").holes == result.best.holes


def test_what_light_functions_do_not_decide_is_undecided() -> None:
    """There is an answer, a hole that loads every second element; it is not looked for, and not denied."""
    text = ORDER.format(index="62 - 2 * t").replace("x=f32[32]", "x=f32[64]").replace("laneid, 32", "laneid, 64")
    result = solve(sketch_of(text))
    assert result.status == "unknown"
    assert result.reason.startswith("with light functions of xform1, what the exchange must bring is not known: y[0]")


READ = """
@spec
def wanted(x, w):
    return [sum(w[{weight}] * x[(3 * t + r) % 96] for r in range(3)) for t in range(32)]

@sketch(spec=wanted, block=32, x=f32[96], w=f32[{shape}], y=f32.out[32])
def weighted(x, w, y):
    mine = cuda.local.array(3, f32)
    theirs = cuda.local.array(3, f32)
    for r in range(3):
        mine[r] = x[32 * r + cuda.laneid]
    exchange(mine, theirs, home="shuffle")
    total = f32(0)
    for r in range(3):
        total += theirs[r] * w[{read}]
    y[cuda.laneid] = total
"""


@pytest.mark.parametrize(
    ("weight", "shape", "read"),
    [
        ("(2 * r + 3) % 5", "5", "?sw_xform(r, 5)"),
        ("(3 * (t % 5) + r + 4) % 5", "5", "?sw_xform(cuda.laneid % 5, 5, r)"),
        ("r, (t + 2 * r) % 4", "3, 4", "r, ?sw_xform(cuda.laneid % 4, 4, r)"),
        ("31 - t ^ 5", "32", "31 - ?sw_xform(cuda.laneid, 32)"),
    ],
)
def test_a_hole_that_chooses_what_is_multiplied(weight: str, shape: str, read: str) -> None:
    """It reads what suits, as far as a line goes through that; then it is searched like any other hole."""
    sketch = sketch_of(READ.format(weight=weight, shape=shape, read=read))
    found = solve(sketch)
    assert found.best.cost == {"clocks": 3} and not found.optimal
    assert verify(found.best.program, sketch.spec).equal


def test_a_hole_that_reads_what_no_function_says_is_undecided() -> None:
    """Nor is it denied that there is an answer where the kernel subtracts."""
    text = READ.format(weight="t * t % 5", shape="5", read="?sw_xform(cuda.laneid % 5, 5)")
    for some in (text, text.replace("theirs[r] *", "theirs[r] -")):
        assert solve(sketch_of(some)).status == "unknown"


def test_by_a_turn_of_two() -> None:
    """Both items of the sum are open then."""
    assert [each.formula for each in solve(sketch_of(BESIDE.format(turn=2))).best.holes] == [
        "shuffle",
        "(cuda.laneid + 2) % 32",
    ]


SMALL = """
@spec
def wanted(x):
    return {wanted}

@sketch(spec=wanted, block={block}, grid={grid}, x=f32[128], y=f32.out[{out}])
def small(x, y):
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    mine = cuda.local.array({mine}, f32)
    theirs = cuda.local.array({theirs}, f32)
    other = cuda.local.array(1, f32)
    for i in range({mine}):
        mine[i] = x[(64 * i + t) % 128]
    {body}
"""


def small(
    wanted: str, body: str, block: int = 32, mine: int = 1, theirs: int = 1, out: str = "", grid: int = 1
) -> Sketch:
    values = {"block": block, "mine": mine, "theirs": theirs, "out": out or str(block * grid), "grid": grid}
    return sketch_of(SMALL.format(wanted=wanted, body=body.replace("; ", "\n    "), **values))


@pytest.mark.parametrize("home", ['"shared"', '"vector"', ALL])
def test_what_a_thread_has_or_loads_already_is_not_moved(home: str) -> None:
    """Of three slots one is the thread's own, two are the same: one store and one load for each of two warps."""
    again = "y[t, 0] = theirs[0]; y[t, 1] = theirs[1]; y[t, 2] = theirs[2]"
    wanted = "[[x[(i + 33) % 64], x[i], x[(i + 33) % 64]] for i in range(64)]"
    sketch = small(wanted, f"exchange(mine, theirs, home={home}); {again}", 64, theirs=3, out="64, 3")
    found = solve(sketch)
    assert found.optimal and found.best.cost == {"clocks": 4}


@pytest.mark.parametrize("home", ["shuffle", "shared", "vector"])
def test_own_elements_and_an_array_that_takes_and_gives(home: str) -> None:
    """Slots change places within a thread: no clock, though the array is the same."""
    body = f'exchange(mine, mine, home="{home}"); y[t, 0] = mine[0]; y[t, 1] = mine[1]'
    found = solve(small("[[x[64 + i], x[i]] for i in range(32)]", body, mine=2, out="32, 2"))
    assert found.optimal and found.best.cost == {"clocks": 0}


@pytest.mark.parametrize("where", ["exchange(mine, theirs)", "for k in range(0):; \texchange(mine, theirs)"])
def test_an_exchange_that_nobody_needs(where: str) -> None:
    found = solve(small("[x[i] for i in range(32)]", f"{where}; y[t] = x[t]".replace("\t", "    ")))
    assert found.optimal and found.best.cost == {"clocks": 0}


def test_what_is_not_known_is_not_called_impossible() -> None:
    """By hand, there is a kernel for the second; unlike warps are not worked out, and that a chain has no end is not
    proved."""
    chained = "exchange(mine, theirs); exchange(theirs, other); y[t] = other[0]"
    found = solve(small("[x[100] for i in range(32)]", chained))
    assert (found.status, "elements that another one gave" in found.reason) == ("unknown", True)
    unlike = small("[x[i // 32 * 32 + (i + i // 32) % 32] for i in range(64)]", MOVED.format('"shuffle"'), 64)
    found = solve(unlike)
    assert (found.status, "do not exchange alike" in found.reason) == ("unknown", True)
    across = small("[x[63 - i] for i in range(64)]", MOVED.format('"shuffle"'), 64)
    assert solve(across).status == "unsat"


TWICE = "exchange(mine, theirs, home={}); exchange(theirs, theirs, home={})"
AGAIN = "y[t, 0] = theirs[0]; y[t, 1] = theirs[1]"


@pytest.mark.parametrize(
    ("wanted", "homes", "block", "slots", "clocks"),
    [
        ("[x[31 - i]] for i in range(32)", (ALL, ALL), 32, 1, 1),  # one of both leaves everything where it is
        ("[x[63 - i]] for i in range(64)", ('"shuffle"', '"shared"'), 64, 1, 4),
        ("[x[63 - i]] for i in range(64)", ('"shared"', '"shuffle"'), 64, 1, 4),
        ("[x[i ^ 1], x[i ^ 2]] for i in range(32)", ('"shuffle"', ALL), 32, 2, 2),  # mine has one slot
        ("[x[127 - i], x[(i + 1) % 32]] for i in range(64)", (ALL, ALL), 64, 2, 7),
    ],
)
def test_what_one_exchange_gives_goes_into_another(
    wanted: str, homes: tuple[str, str], block: int, slots: int, clocks: int
) -> None:
    body = f"{TWICE.format(*homes)}; {'; '.join(AGAIN.split('; ')[:slots])}"
    mine = 2 if "127" in wanted else 1
    sketch = small(f"[{wanted}]", body, block, mine=mine, theirs=slots, out=f"{block}, {slots}")
    found = solve(sketch)
    assert found.best.cost == {"clocks": clocks} and not found.optimal


def test_what_an_output_has_of_the_first_exchange_is_no_choice() -> None:
    body = "exchange(mine, theirs); exchange(theirs, other); y[t, 0] = other[0]; y[t, 1] = theirs[0]"
    found = solve(small("[[x[31 - i], x[i ^ 1]] for i in range(32)]", body, out="32, 2"))
    assert found.best.cost == {"clocks": 2}


STAGES = """
@spec
def wanted(x, w):
    v = list(x)
    for d in (1, 16, 4):
        v = [v[i] + w[i & d] * v[i ^ d] for i in range(32)]
    return v

@sketch(spec=wanted, block=32, x=f32[32], w=f32.const[32], y=f32.out[32])
def stages(x, w, y):
    mine = cuda.local.array(1, f32)
    theirs = cuda.local.array(1, f32)
    mine[0] = x[cuda.laneid]
{stages}
    y[cuda.laneid] = mine[0]
"""
STAGE = """
    exchange(mine, theirs)
    mine[0] = mine[0] + w[cuda.laneid & {distance}] * theirs[0]
"""


def test_stages_of_exchanges(tmp_path: Path) -> None:
    """What is computed of a stage's elements goes into the next one: each takes one shuffle, at its own distance."""
    file = tmp_path / "k.swz"
    file.write_text(STAGES.format(stages="".join(STAGE.format(distance=d) for d in (1, 16, 4))))
    (sketch,) = read_swz(file.read_text(), str(file), Parameters())
    found = solve(sketch)
    assert found.best.cost == {"clocks": 3} and verify(found.best.program, sketch.spec).equal
    assert load_solution(found.save(tmp_path / "k.json")).program == found.best.program


PARTIAL = """
@spec
def wanted(x):
    return [{wanted} for i in range({block})]

@sketch(spec=wanted, block={block}, x=f32[{block}], y=f32.out[{block}])
def sums(x, y):
    t = cuda.threadIdx.x
    mine = cuda.local.array(1, f32)
    theirs = cuda.local.array(1, f32)
    mine[0] = x[t]
{stages}
    y[t] = mine[0]
"""
RING = """
@spec
def wanted(x, w):
    return [sum(w[k] * x[(i + {turn} * (k + 1)) % 32] for k in range(4)) for i in range(32)]

@sketch(spec=wanted, block=32, x=f32[32], w=f32.const[4], y=f32.out[32])
def ring(x, w, y):
    mine = cuda.local.array(1, f32)
    mine[0] = x[cuda.laneid]
    total = f32(0)
    for k in range(4):
        exchange(mine, mine)
        total += mine[0] * w[k]
    y[cuda.laneid] = total
"""


@pytest.mark.parametrize(
    ("wanted", "block", "stage", "rounds", "clocks"),
    [
        ("sum(x[i // 8 * 8 + j] for j in range(8))", 32, "mine[0] += theirs[0]", (1, 2, 4), 3),
        ("sum(x[j] for j in range(32) if j <= i)", 32, "if t >= {d}: mine[0] += theirs[0]", (1, 2, 4, 8, 16), 5),
        pytest.param("max(x[j] for j in range(64))", 64, "mine[0] = max(mine[0], theirs[0])", (1, 2, 4, 8, 16, 32), 14,
                     marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_sums_of_sums(wanted: str, block: int, stage: str, rounds: tuple[int, ...], clocks: int) -> None:
    """Reductions and scans by stages: of each, the distance is found."""
    stages = "".join(f"    exchange(mine, theirs)\n    {stage.format(d=d)}\n" for d in rounds)
    sketch = sketch_of(PARTIAL.format(wanted=wanted, block=block, stages=stages))
    found = solve(sketch)
    assert found.best.cost == {"clocks": clocks} and not found.optimal
    assert verify(found.best.program, sketch.spec).equal


def test_rounds_of_a_loop() -> None:
    """The same in each round, as in a ring; a turn that is not near is undecided, and so is one that must grow."""
    sketch = sketch_of(RING.format(turn=-2))
    found = solve(sketch)
    assert found.best.cost == {"clocks": 4} and verify(found.best.program, sketch.spec).equal
    assert solve(sketch_of(RING.format(turn=5))).status == "unknown"
    stages = "    for d in range(3):\n        exchange(mine, theirs)\n        mine[0] += theirs[0]\n"
    summed = PARTIAL.format(wanted="sum(x[i // 8 * 8 + j] for j in range(8))", block=32, stages=stages)
    assert solve(sketch_of(summed)).status == "unknown"


MOVED = "exchange(mine, theirs, home={}); y[t] = theirs[0]"


@pytest.mark.parametrize(
    ("wanted", "result"),
    [
        ("sum([x[j] for j in NEAR])", "theirs[0] + theirs[1] + theirs[2]"),
        ("sum([(j - i + 2) * x[j] for j in NEAR])", "theirs[0] + 2 * theirs[1] + 3 * theirs[2]"),
        ("max([x[j] for j in NEAR])", "max(max(theirs[0], theirs[1]), theirs[2])"),
    ],
)
def test_at_the_borders_there_is_less(wanted: str, result: str) -> None:
    """Zeros among `mine` fill sums up, in each block where others have elements; a maximum takes one twice."""
    given = "mine[0] = x[max(t + 32 * b - 1, 0)] if t + b > 0 else 0"
    given += "; mine[1] = x[t + 32 * b + 1] if t >= 30 and t + 32 * b < 95 else 0"
    grid, near = 3, "[j for j in (i - 1, i, i + 1) if 0 <= j < 96]"
    text = f"[{wanted.replace('NEAR', near)} for i in range(96)]"
    if "max" in wanted:
        given, grid, text = "mine[0] = x[t]", 1, text.replace("96", "32")
    found = solve(
        small(text, f"{given}; exchange(mine, theirs); y[t + 32 * b] = {result}", mine=2, theirs=3, grid=grid)
    )
    assert found.status == "sat" and not found.proved.get("clocks")


@pytest.mark.parametrize(
    ("wanted", "result"),
    [
        ("2 * x[31 - i]", "theirs[0] + theirs[1]"),
        ("x[31 - i]", "min(theirs[0], theirs[1])"),
        ("3 * x[31 - i] + x[i]", "theirs[0] + theirs[1] + theirs[2] + x[t]"),
    ],
)
def test_one_element_for_several_items(wanted: str, result: str) -> None:
    found = solve(small(f"[{wanted} for i in range(32)]", f"exchange(mine, theirs); y[t] = {result}", theirs=3))
    assert found.best.cost == {"clocks": 1} and found.optimal


def test_where_mine_has_sums_nothing_is_called_minimal() -> None:
    """A sum and a zero of the thread's own would take no clock; what is taken are elements, one of another thread."""
    given = "mine[0] = x[t]; mine[1] = x[t] + x[(t + 1) % 32]; mine[2] = 0"
    body = f"{given}; exchange(mine, theirs); y[t] = theirs[0] + theirs[1]"
    found = solve(small("[x[i] + x[(i + 1) % 32] for i in range(32)]", body, mine=3, theirs=2))
    assert found.status == "sat" and (found.best.cost == {"clocks": 0} or not found.optimal)


def test_a_turn_is_one_warps() -> None:
    """Where an 8 by 8 matrix is transposed, some threads keep theirs: no warp is spared a store or a load for that."""
    body = MOVED.format('?sw_home("shared", "vector")')
    sketch = small("[x[i % 8 * 8 + i // 8] for i in range(64)]", body, 64)
    found = solve(sketch)
    assert found.optimal and found.best.cost == {"clocks": 4}
    few = small("[x[32] if i == 1 else x[i] for i in range(64)]", body, 64)
    assert solve(few).certificate["homes"][0]["least"] == 2


def test_of_several_places_the_thread_takes_its_own() -> None:
    """In block 0 thread 1 has what it wants, and so has thread 0, at another place; nobody else wants anything."""
    given = "mine[1] = x[max(t - 1, 0)] if b == 0 else x[t + 32]; mine[0] = x[t + 64 * b]"
    body = f"{given}; exchange(mine, theirs); y[t + 32 * b] = theirs[0] if t == 1 and b == 0 else x[t]"
    sketch = small("[x[0] if i == 1 else x[i % 32] for i in range(64)]", body, mine=2, grid=2)
    (home,) = (each for each in solve(sketch).certificate["homes"] if each["homes"] == ["shuffle"])
    assert home["least"] == 0 and home["how"] == "0 shuffles, 0 selects"


def test_one_thread_hands_out_more_than_the_others_take() -> None:
    """Fewer slots are wanted than there are: a map of bits would number them as if there were one."""
    given = "mine[1] = x[2 * t % 64 + 1] if t == 0 else x[0]; mine[0] = x[2 * t % 64]"
    body = f'{given}; exchange(mine, theirs, home="shuffle"); y[t] = theirs[0]'
    found = solve(small("[x[i % 2] for i in range(32)]", body, mine=2))
    assert found.status == "sat"


APART = """
@spec
def wanted(x):
    return [x[31 - t] for t in range(32)], [x[(5 * t + 3) % 32] for t in range(32)]

@sketch(spec=wanted, block=32, x=f32[32], y=f32.out[32], z=f32.out[32])
def apart(x, y, z):
    mine = cuda.local.array(1, f32)
    mine[0] = x[cuda.laneid]
    exchange(mine, mine)
    y[cuda.laneid] = mine[0]
    z[cuda.laneid] = x[?sw_xform(cuda.laneid, 32)]
"""


def test_an_output_that_has_nothing_of_an_exchange_is_the_other_holes_alone() -> None:
    """No light function makes it right; what the exchange brings is known by the other outputs."""
    found = solve(sketch_of(APART))
    assert [hole.formula for hole in found.best.holes] == ["shuffle", "(5 * cuda.laneid + 3) % 32"]
    assert found.best.cost == {"clocks": 1} and not found.optimal


ORDER = """
@spec
def wanted(x):
    return [x[{index}] for t in range(32)]

@sketch(spec=wanted, block=32, x=f32[32], y=f32.out[32])
def order(x, y):
    mine = cuda.local.array(1, f32)
    mine[0] = x[?sw_xform(cuda.laneid, 32)]
    exchange(mine, mine)
    y[cuda.laneid] = mine[0]
"""


def test_beside_another_hole_nothing_is_whole_and_only_0_is_minimal() -> None:
    """`31 - lane` would leave nothing to exchange, but is not looked at; nothing is less than 0."""
    front = solve(sketch_of(ORDER.format(index="31 - t")), Limits(cost=("bytes", "clocks"), pareto=True))
    assert front.best.cost == {"bytes": 0, "clocks": 1} and not front.optimal
    assert not front.certificate["front"]["whole"]
    every = solve(sketch_of(ORDER.format(index="31 - t")), Limits(all_solutions=True))
    assert len(every.solutions) == 3 and "left_out" in every.certificate
    assert solve(sketch_of(ORDER.format(index="t"))).optimal


LOOPS = """
@spec
def wanted(x):
    return [[x[k, 2 * i] for i in range(64)] + [x[k, 2 * i + 1] for i in range(64)] for k in range(3)]

@cuda.jit(device=True)
def parted(some):
    exchange(some, some, home=?sw_home("shared", "vector"))

@sketch(spec=wanted, block=64, x=f32[3, 128], y=f32.out[3, 128])
def loops(x, y):
    t = cuda.threadIdx.x
    mine = cuda.local.array(2, f32)
    for k in range(3):
        for i in range(2):
            mine[i] = x[k, 64 * i + t]
        parted(mine)
        for i in range(2):
            y[k, 64 * i + t] = mine[i]
"""


def test_warps_that_are_off_take_no_time() -> None:
    text = """
@spec
def wanted(x):
    return [x[(i + 1) % 32] for i in range(32)]

@sketch(spec=wanted, block=96, x=f32[32], y=f32.out[32])
def first(x, y):
    some = cuda.local.array(1, f32)
    if cuda.warpid == 1:
        some[0] = x[cuda.laneid]
        exchange(some, some)
        y[cuda.laneid] = some[0]
"""
    found = solve(sketch_of(text))
    assert found.best.cost == {"clocks": 1} and found.optimal and found.certificate["homes"][0]["least"] == 1


def test_an_exchange_in_a_loop_waits_for_the_round_before() -> None:
    """The machine's rule against races would say otherwise. `--pareto` looks at all homes."""
    found = solve(sketch_of(LOOPS))
    assert found.optimal and found.best.cost == {"clocks": 24}
    front = solve(sketch_of(LOOPS.replace('"shared", "vector"', "")), Limits(cost=("clocks", "bytes"), pareto=True))
    assert [each.cost for each in front.solutions] == [{"clocks": 24, "bytes": 512}]
    inside = MOVE.format(table=", ".join(map(str, structures(2))), size=64, block=32, slots=2, type="f32", home=ALL)
    both = solve(sketch_of(inside), Limits(cost=("bytes", "clocks"), pareto=True))
    assert [each.cost["bytes"] for each in both.solutions] == [0]


def test_a_solution_is_kept_and_read(tmp_path: Path) -> None:
    """What goes where is worked out again when it is read."""
    file = tmp_path / "k.swz"
    file.write_text(
        MOVE.format(table=", ".join(map(str, structures(3))), size=96, block=32, slots=3, type="f32", home=ALL)
    )
    (sketch,) = read_swz(file.read_text(), str(file), Parameters())
    found = solve(sketch)
    again = load_solution(found.save(tmp_path / "k.json"))
    assert again.program == found.best.program and again.holes == found.best.holes


@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@pytest.mark.parametrize(
    ("home", "has"), [("shuffle", "shfl.sync"), ("shared", "bar.warp"), ("vector", "st.shared.v4")]
)
def test_what_is_printed(home: str, has: str) -> None:
    """The compiler's PTX computes the specification's terms, and has what the home says."""
    sketch = moving([(32 * i + t) // 4 % 32 + (32 * i + t) % 4 * 32 for i in range(4) for t in range(32)], 32)
    sketch = replace(
        sketch, program=replace(sketch.program, holes=(replace(sketch.program.holes[0], families=(home,)),))
    )
    program, meaning = solve(sketch).best.program, Meaning.of(sketch.program, sketch.spec)
    source, ptx = compiled(program)
    assert has in ptx
    assert validate(program, ptx, source.entry, meaning.wanted, meaning.terms).verdict == "equal"


QUADS = """
@spec
def wanted(x):
    return [x[4 * (i // 16) * 4 + 4 * (i % 4) + i % 16 // 4] for i in range(128)]

@sketch(spec=wanted, block=32, x=u8[128], y=u8.out[128])
def quads(x, y):
    mine = cuda.local.array(4, u8)
    for k in range(4):
        mine[k] = x[4 * cuda.laneid + k]
    exchange(mine, mine)
    for k in range(4):
        y[4 * cuda.laneid + k] = mine[k]
"""


@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@pytest.mark.parametrize(("slots", "dtype", "clocks"), [(0, "u8", 2), (4, "f16", 4)])
def test_small_elements_are_shuffled_in_words(slots: int, dtype: str, clocks: int) -> None:
    """What is printed has the shuffles and the permutes that are counted, and a wrong selector is not the same."""
    sketch = moving(structures(slots), 32, '"shuffle"', dtype) if slots else sketch_of(QUADS)
    found, meaning = solve(sketch), Meaning.of(sketch.program, sketch.spec)
    assert found.best.cost == {"clocks": clocks} and found.optimal == (slots == 0)
    source, ptx = compiled(found.best.program)
    shuffles, selects = map(int, re.findall(r"\d+", found.certificate["homes"][0]["how"]))
    assert source.text.count("__shfl_") == ptx.count("shfl.sync") == shuffles
    assert source.text.count("__byte_perm(") + source.text.count("] : exchanged") == selects
    assert validate(found.best.program, ptx, source.entry, meaning.wanted, meaning.terms).verdict == "equal"
    wrong = source.text.replace("0x7632u", "0x6732u").replace("0x6240u", "0x6241u")
    validated = validate(
        found.best.program, compile_to_ptx(wrong, "sm_80"), source.entry, meaning.wanted, meaning.terms
    )
    assert wrong != source.text and validated.verdict == "different"
    if not slots:
        x, y = np.arange(128, dtype=np.uint8) + 100, np.zeros(128, np.uint8)
        emulate(source.text, source.entry, source.grid, source.block, [x, y])
        assert (y.reshape(8, 4, 4) == x.reshape(8, 4, 4).transpose(0, 2, 1)).all()
