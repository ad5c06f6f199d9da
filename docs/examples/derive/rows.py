"""Rows and tiles: softmax, attention of one head, a weighted mean, sums of segments, transposition.

    swizzle derive rows.py -o out

What softmax makes on the way is kept in shared memory by the threads of a block, or in the registers of a warp. How
the tiles of a transposition are kept in shared memory, or handed on between threads, is left to the solver.
"""

from swizzle import f32, math, maximum, spec
from swizzle.derive.patterns import add, derivation, hole, let, map, mul, reduce, split, transpose


def dot(u, v):
    return reduce(add, map(mul, u, v), 0)


def softmax_row(row):
    def with_largest(most):
        def exps(v):
            return math.exp(v - most)

        def weights(ws):
            def scaled(total):
                def share(w):
                    return w / total

                return map(share, ws)

            def total_weight(ws):
                return reduce(add, ws, 0)

            return let(total_weight(ws), scaled)

        return let(map(exps, row), weights)

    def largest(row):
        return reduce(maximum, row, float("-inf"))

    return let(largest(row), with_largest)


@spec
def softmax(A):
    return map(softmax_row, A)


@derivation(spec=softmax, A=f32["n", "k"], n=4, k=128, threads=32)
def in_blocks(d):
    d.to_blocks()
    d.at("largest").part(32).to_threads().shared()
    d.at("exps").to_threads().shared()
    d.at("total_weight").part(32).to_threads().shared()
    d.at("total_weight").tree()
    d.at("share").to_threads()


@derivation(spec=softmax, A=f32["n", 32], n=8)
def in_warps(d):
    d.split(4).to_blocks().to_warps()
    d.at("exps").to_lanes().registers()
    d.at("total_weight").butterfly()
    d.at("share").to_lanes()


@spec
def attention(Q, K, V):
    def row(q):
        def score(k):
            return dot(q, k)

        def mixed(weights):
            def output(column):
                return dot(weights, column)

            return map(output, transpose(V))

        return let(let(map(score, K), softmax_row), mixed)

    return map(row, Q)


@derivation(spec=attention, Q=f32["n", "d"], K=f32["m", "d"], V=f32["m", "d"], n=4, m=32, d=8)
def one_head(d):
    d.to_blocks()
    d.at("score").to_threads().shared()
    d.at("exps").to_threads().shared()
    d.at("share").to_threads().shared()
    d.at("output").to_threads()


@spec
def weighted_mean(x, w):
    def weighted(v, weight):
        return v * weight, weight

    def both(a, b):
        return a[0] + b[0], a[1] + b[1]

    def quotient(p):
        return p[0] / p[1]

    return let(reduce(both, map(weighted, x, w), (0, 0)), quotient)


@derivation(spec=weighted_mean, x=f32["n"], w=f32["n"], n=256)
def mean(d):
    d.at("both").strided(32).chunks(64).to_blocks()
    d.at("both_chunk").chunks(8).to_threads().shared()
    d.at("both_chunk").tree()


@spec
def segments(x):
    def segment(s):
        return reduce(add, s, 0)

    return map(segment, split(32, x))


@derivation(spec=segments, x=f32["n"], n=256)
def in_lanes(d):
    d.split(4).to_blocks().to_warps()
    d.at("segment").butterfly()


@spec
def transposed(A):
    def tile(t):
        return transpose(t)

    return map(tile, A)


def twice(A):
    """Copy tiles twice, by rows and by columns: what is kept between the copies, steps decide."""

    def tile(t):
        def load(row):
            def loaded(v):
                return v

            return map(loaded, row)

        def store(row):
            def stored(v):
                return v

            return map(stored, row)

        return map(store, transpose(map(load, t)))

    return map(tile, A)


@derivation(spec=transposed, start=twice, A=f32["n", 32, 32], n=2, threads=32)
def through_shared(d):
    d.at("tile").to_blocks()
    d.at("load").to_seq()
    d.at("loaded").to_threads()
    d.at("load").shared(layout=hole)
    d.at("store").to_seq()
    d.at("stored").to_threads()


def by_columns(A):
    """Copy tiles twice, a column a thread."""

    def tile(t):
        def load(column):
            def loaded(v):
                return v

            return map(loaded, column)

        def store(column):
            def stored(v):
                return v

            return map(stored, column)

        return transpose(map(store, transpose(map(load, transpose(t)))))

    return map(tile, A)


@derivation(spec=transposed, start=by_columns, A=f32["n", 32, 32], n=2, threads=32)
def in_registers(d):
    d.at("tile").to_blocks()
    d.at("load").to_threads().registers(exchange=hole)
    d.at("loaded").to_seq()
    d.at("store").to_threads()
    d.at("stored").to_seq()
