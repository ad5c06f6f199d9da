"""Scans in chunks: each chunk is reduced, what comes before it is summed up, and it is scanned from there.

    swizzle derive scans.py -o out

Three kernels each, of a proved operator; a chunk is cut again among the threads of its block.
"""

from swizzle import f32, maximum, spec
from swizzle.derive.patterns import add, derivation, scan


@spec
def sums(x):
    return scan(add, x, 0)


@derivation(spec=sums, x=f32["n"], n=128)
def in_blocks(d):
    d.at("sums").scan_chunks(32)
    d.at("sums_totals").to_blocks()
    d.at("sums_chunks").to_blocks()


@derivation(spec=sums, x=f32["n"], n=256)
def in_threads(d):
    d.at("sums").scan_chunks(64)
    d.at("sums_totals").to_blocks()
    d.at("sums_chunks").to_blocks()
    d.at("sums_chunk").scan_chunks(4)
    d.at("sums_chunk_totals").to_threads().shared()
    d.at("sums_chunk_chunks").to_threads()
    d.at("sums_moved").to_threads()


@spec
def maxima(x):
    return scan(maximum, x, float("-inf"))


@derivation(spec=maxima, x=f32["n"], n=128)
def prefix_maxima(d):
    d.at("maxima").scan_chunks(32)
    d.at("maxima_totals").to_blocks()
    d.at("maxima_chunks").to_blocks()
