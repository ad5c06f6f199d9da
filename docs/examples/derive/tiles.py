"""Tiles that a function of patterns says, and steps that spread them: what is derived is proved of the specification.

    swizzle derive tiles.py -o out

`registers` is a product of matrices with 4 by 4 sums in each thread's registers, `shared` a stencil whose tiles
overlap, and `norm` the rows of a layer norm.
"""

from swizzle import f32, math, spec
from swizzle.derive.patterns import add, derivation, join, let, map, mul, reduce, slide, split, transpose, zip

ROWS, COLUMNS, DEPTH = 16, 16, 4
"""A tile of a product, and as many of its k are in shared memory at once."""
EACH = 4
"""A thread has so many rows and columns of sums."""
WIDTH = 64


def joined(tiles):
    """Return a matrix of its tiles."""
    return join(map(lambda row: map(join, transpose(row)), tiles))


@spec
def product(A, B):
    return map(lambda r: map(lambda c: reduce(add, map(mul, r, c), 0), transpose(B)), A)


def product_tiles(A, B):
    def band(a):
        def block(b):
            def step(sums, chunk):
                def thread_row(own, rows):
                    def thread(sums, columns):
                        def outer(s, ab):
                            return map(lambda line, x: map(lambda v, y: v + x * y, line, ab[1]), s, ab[0])

                        return reduce(outer, zip(transpose(rows), transpose(columns)), sums)

                    return map(thread, own, split(EACH, chunk[1]))

                return map(thread_row, sums, split(EACH, chunk[0]))

            def zeros(rows):
                return map(lambda columns: map(lambda r: map(lambda c: 0.0, columns), rows), split(EACH, b))

            chunks = zip(transpose(map(lambda r: split(DEPTH, r), a)), transpose(map(lambda r: split(DEPTH, r), b)))
            return joined(reduce(step, chunks, map(zeros, split(EACH, a))))

        return map(block, split(COLUMNS, transpose(B)))

    return joined(map(band, split(ROWS, A)))


@derivation(spec=product, start=product_tiles, A=f32["m", "k"], B=f32["k", "n"], m=32, n=32, k=8,
            threads=(COLUMNS // EACH, ROWS // EACH))  # fmt: skip
def registers(d):
    d.at("band").to_blocks("y")
    d.at("block").to_blocks("x")
    d.at("thread_row").to_threads("y")
    d.at("thread").to_threads("x")
    d.at("step").cached(place=0).cached(place=1)


def windows(x):
    return map(transpose, slide(3, 1, map(lambda r: slide(3, 1, r), x)))


@spec
def stencil(x):
    return map(lambda row: map(lambda window: reduce(add, join(window), 0), row), windows(x))


def stencil_tiles(x):
    def band(tiles):
        def tile(inside):
            def line(row):
                def cell(window):
                    return reduce(add, join(window), 0)

                return map(cell, row)

            return map(line, windows(inside))

        return map(tile, tiles)

    return joined(map(band, map(transpose, slide(6, 4, map(lambda r: slide(18, 16, r), x)))))


@derivation(spec=stencil, start=stencil_tiles, x=f32["m + 2", "n + 2"], m=8, n=32)
def shared(d):
    d.at("band").to_blocks("y")
    d.at("tile").to_blocks("x").cached()
    d.at("line").to_threads("y")
    d.at("cell").to_threads("x")


@spec
def layer_norm(x, weights, epsilon):
    def row(r):
        def normalised(mean):
            def scaled(scale):
                return map(lambda v, w: (v - mean) * scale * w, r, weights)

            variance = reduce(add, map(lambda v: (v - mean) * (v - mean), r), 0) / WIDTH
            return let(math.rsqrt(variance + epsilon), scaled)

        return let(reduce(add, r, 0) / WIDTH, normalised)

    return map(row, x)


@derivation(spec=layer_norm, x=f32["m", WIDTH], weights=f32[WIDTH], epsilon=f32.scalar, m=64, threads=32)
def norm(d):
    d.to_grid()
