"""`permute_local`: element i of a local array becomes what element shfl(i) was."""

from swizzle.language.parameters import Parameters
from swizzle.language.specs.verify import verify
from swizzle.sketches.swz_file import read_swz
from tests.swizzle.spelling import spelled

PERMUTED = """
@spec
def wanted(x):
    return [x[(t // 4) * 4 + (t % 4 * 3 + {turns} * (t // 4)) % 4] for t in range(32)]

@sketch(spec=wanted, block=8, warp_size=8, x=f32[32], y=f32.out[32])
def k(x, y):
    lane = cuda.laneid
    v = cuda.local.array(4, f32)
    for i in range(4):
        v[i] = x[lane * 4 + i]
    if lane < 8:
        permute_local(v, lambda i: (i * 3 + lane) % 4)
    for j in range(2):
        permute_local(v, shfl=lambda j: (j + lane) % 4)
    for i in range(4):
        y[lane * 4 + i] = v[i]
"""


def test_it_is_two_loops_over_a_second_array() -> None:
    """The array is gathered in the new order and copied back; the second array stands at the top of the kernel."""
    body = (
        "v = cuda.local.array(3, f32)\n"
        "for k in range(2):\n    permute_local(v, lambda r: ?sw_xform(r, 3, cuda.laneid + k))"
    )
    assert spelled(body) == [
        "local f32 permuted[3]",
        "local f32 v[3]",
        "for k in 0, 2, 1",
        "  for i in 0, 3, 1",
        "    permuted[i] = v[?hole0(i, cuda.laneid + k)]",
        "  for i_1 in 0, 3, 1",
        "    v[i_1] = permuted[i_1]",
    ]


def test_it_permutes_each_lanes_own_array() -> None:
    """Twice in a loop and under a condition, by the machine; another order is not equal."""
    for turns, equal in ((7, True), (2, False)):
        (sketch,) = read_swz(PERMUTED.replace("{turns}", str(turns)), "inline.swz", Parameters())
        verdict = verify(sketch.program, sketch.spec)
        assert not verdict.violations
        assert (not verdict.mismatches) == equal
