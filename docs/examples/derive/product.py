"""A product of matrices, by rules: tiles of 16 by 16 in shared memory, one sum a thread, any three lengths.

swizzle derive product.py -o out
"""

from swizzle import f32, spec
from swizzle.derive.patterns import add, derivation, map, mul, reduce, transpose


def dot(u, v):
    return reduce(add, map(mul, u, v), 0)


@spec
def product(A, B):
    def row(r):
        def element(c):
            return dot(r, c)

        return map(element, transpose(B))

    return map(row, A)


@derivation(spec=product, A=f32["m", "k"], B=f32["k", "n"], m=32, k=32, n=32)
def tiled(d):
    d.at("dot").lower_reduce().reduce_map_fusion()
    d.at("row").split(16)
    d.at("element").split(16)
    d.at("row").map_fission()
    d.at("row_first").interchange()
    d.reduce_tiles(16)
    d.at("row_chunks").to_blocks("y")
    d.at("element_chunks").to_blocks("x").keep_tile(0)
    d.keep_tile(1, turned=True)
    d.at("row_first").to_threads("y")
    d.at("element").to_threads("x")
