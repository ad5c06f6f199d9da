"""All networks of a size against trying everything; modules against words; recursions against the literature."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from swizzle import SwizzleError, scans
from swizzle.scans import Network
from swizzle.scans.discovery import HALVES
from swizzle.scans.network import IDLE
from tests.swizzle.scans.examples import FAMILIES, brent_kung, is_scan, kogge_stone, odd_places, sklansky


def every(size: int, depth: int) -> Iterator[Network]:
    """Yield all scans of a size and depth, by trying every source of every element in every step."""
    rows = [row for row in itertools.product(*([IDLE, *range(i)] for i in range(size))) if set(row) != {IDLE}]
    for steps in itertools.product(rows, repeat=depth):
        made = Network(size, steps)
        if is_scan(made, False):
            yield made


@pytest.mark.parametrize("depth", [2, 3])
def test_discovery_against_trying_everything(depth: int) -> None:
    """Every number of operations, and with each property."""
    wanted = list(every(4, depth))
    for operations in range(3, 7) if depth == 2 else (4, 5):
        found = list(scans.discover(4, depth, operations))
        assert len(set(found)) == len(found)
        assert set(found) == {each for each in wanted if each.operations == operations}
        for fan_out, apart in ((1, False), (2, True)):
            some = set(scans.discover(4, depth, operations, fan_out=fan_out, apart=apart))
            assert some == {each for each in found if each.fan_out <= fan_out and (each.apart or not apart)}
    fewest = min(each.operations for each in wanted)
    assert set(scans.discover(4, depth)) == {each for each in wanted if each.operations == fewest}


def test_depth_and_operations_of_eight() -> None:
    """The fewest operations are Snir's: with the depth they come to 2 N - 2 from depth 4 on. Known ones are found."""
    assert [next(scans.discover(8, depth)).operations for depth in (3, 4, 5)] == [12, 10, 9]
    assert sklansky(8) in set(scans.discover(8, 3))
    assert brent_kung(8) in set(scans.discover(8, 5, 11, fan_out=1))
    assert list(scans.discover(8, 3, where=lambda each: each.fan_out == 1)) == [kogge_stone(8)]


def test_nothing_to_discover() -> None:
    for call, said in (
        (lambda: next(scans.discover(8, 2)), "no network of 8 elements has 2 steps"),
        (lambda: next(scans.discover(32, 5)), "the size is 32"),
        (lambda: scans.modules(kogge_stone(8).mirrored()), "modules of a network that is backward"),
        (lambda: scans.recursions(Network(6, kogge_stone(6).steps)), "recursions of"),
    ):
        with pytest.raises(SwizzleError, match=said):
            call()


@pytest.mark.parametrize("name", FAMILIES)
def test_modules_are_scans(name: str) -> None:
    """Each is a scan of its elements in its steps, and none lies within another."""
    network = FAMILIES[name](16)
    found = scans.modules(network)
    for module in found:
        assert is_scan(module.network, False)
        for at, step in enumerate(module.network.steps):
            outer = network.steps[module.first + at]
            for i, source in enumerate(step):
                assert outer[module.places[i]] == (IDLE if source == IDLE else module.places[source])
    largest = {(each.places, each.network.depth) for each in found}
    wanted = {
        "kogge_stone": (range(1, 17, 2), 3),
        "sklansky": (range(8, 16), 3),
        "brent_kung": (range(1, 17, 2), 5),
        "han_carlson": (range(1, 17, 2), 3),
        "ladner_fischer": (range(1, 17, 2), 3),
    }
    assert wanted[name] in {(range(p.start, p.stop, p.step), depth) for p, depth in largest}


def test_recursions_build_the_families() -> None:
    """A network of eight says how to make one of twice any size."""
    (halves,) = scans.recursions(sklansky(8))
    assert halves.halves == "left and right" and halves.around(sklansky(16)) == sklansky(32)
    (interleaved,) = scans.recursions(kogge_stone(8))
    assert interleaved.halves == "odd and even" and interleaved.around(kogge_stone(16)) == kogge_stone(32)
    (odd,) = scans.recursions(brent_kung(8))
    assert odd.halves == "odd" and odd.around(brent_kung(16)) == brent_kung(32)
    assert odd.around(sklansky(8)) == FAMILIES["ladner_fischer"](16) == odd_places(sklansky(8))


def test_recursions_are_put_together() -> None:
    """Networks that nobody drew: recursions within each other, each a scan, one of them with its loops for all N."""
    found = [scans.recursions(family(8))[0] for family in (sklansky, kogge_stone, brent_kung)]
    assert {each.halves for each in found} == set(HALVES)
    start = Network(2, ((IDLE, 0),))
    made = [c.around(b.around(a.around(start))) for a, b, c in itertools.product(found, repeat=3)]
    assert all(is_scan(each, False) for each in made) and len(set(made)) > 15
    every_second = scans.solve(like=found[2].around(found[0].around(sklansky(4))))
    assert every_second.status == "proved"
