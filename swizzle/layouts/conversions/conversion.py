"""The result of a conversion: its counts, what is proved of them, and its text."""

from __future__ import annotations

from msgspec import Struct

from cuda_out.c.identifiers import is_c_name
from swizzle.layouts.access import mistake
from swizzle.layouts.conversions.bounds import SelectBound, ShuffleBound
from swizzle.layouts.conversions.network import ExchangeNetwork
from swizzle.layouts.conversions.shared import SharedPlan
from swizzle.layouts.conversions.shared_text import shared_text
from swizzle.layouts.conversions.text import cuda_text
from swizzle.layouts.distribution import Distribution
from swizzle.layouts.picture import side_by_side, with_text
from symbolic.ir.program import LANES


class Conversion(Struct, frozen=True):
    """How threads get from one distribution of a tile to another: by a `network` in registers, or a plan for `shared`.

    It was run on tokens: every element lands where `target` says. `permutation[k]` is the source's index that stands
    for index k of the target along the free axis; empty where none is.
    """

    source: Distribution
    target: Distribution
    bits: int
    network: ExchangeNetwork | None
    shared: SharedPlan | None
    least: ShuffleBound
    permutation: tuple[int, ...] = ()
    fewer: SelectBound | None = None

    @property
    def via(self) -> str:
        """'shuffles' (or nothing but moves) in registers, or 'shared'."""
        return "shuffles" if self.network is not None else "shared"

    @property
    def shuffles(self) -> int:
        """How many shuffles a warp does."""
        return self.network.shuffles if self.network else 0

    @property
    def selects(self) -> int:
        """How many selects, byte permutes and shifts a warp does."""
        return self.network.selects if self.network else self._plan.selects

    @property
    def transpositions(self) -> int:
        """How many matrices of 8x8 elements a warp transposes by `movmatrix`."""
        return self.network.transpositions if self.network else 0

    @property
    def clocks(self) -> float:
        """The clocks of a warp by the bound of pipes.

        A shuffle takes 1, and `movmatrix` is counted alike, although it was not measured. A select or a byte permute
        takes 1/2, and 128 bytes of shared memory in one turn take 1.
        """
        return self.network.clocks if self.network else self._plan.clocks

    @property
    def bound(self) -> int:
        """The shuffles that every program in registers does at least; with `movmatrix`, of both together."""
        return self.least.shuffles

    @property
    def clocks_bound(self) -> float:
        """The clocks that every program of shuffles and selects in registers takes at least, as far as is known."""
        return max(float(self.bound), self.fewer.clocks if self.fewer else 0.0)

    @property
    def _plan(self) -> SharedPlan:
        assert self.shared is not None
        return self.shared

    @property
    def proof(self) -> str:
        """What is proved to be minimal, and why; 'open' is what is not."""
        if self.shared is not None:
            return self.shared.found.proof
        if self.transpositions:
            both = self.shuffles + self.transpositions
            return (
                f"{'open: ' if both > self.bound or self.selects else ''}every way in registers takes "
                f"{_plural(self.bound, 'shuffle or movmatrix', 'shuffles or movmatrix')} at least, as "
                f"{self.least.reason}"
            )
        if self.fewer is not None:
            return self._proof_by_selects(self.fewer)
        moves = f"{_plural(self.shuffles, 'shuffle')} at least: {self.least.reason}"
        if self.shuffles > self.bound:
            return (
                f"open: every way in registers takes {_plural(self.bound, 'shuffle')} at least, as {self.least.reason}"
            )
        if self.selects == 0:
            return f"{moves}; no select is needed"
        if self.clocks > self.shuffles:
            return f"{moves}; the selects are open"
        return f"{moves}; the selects take no longer, so the clocks are minimal, too"

    def _proof_by_selects(self, fewer: SelectBound) -> str:
        takes = f"{_plural(fewer.shuffles, 'shuffle')} take {_plural(fewer.selects, 'select')} at least"
        if self.clocks <= self.clocks_bound:
            return (
                f"{self.clocks:g} clocks at least for whole words in registers: {takes}, by the entropy of their ways"
            )
        if self.shuffles == fewer.shuffles == self.bound:
            moves = f"{_plural(self.shuffles, 'shuffle')} at least: {self.least.reason}"
            some = f"{takes}, by the entropy of the ways of whole words"
            return f"{moves}; {some}" if self.selects == fewer.selects else f"{moves}; the selects are open: {some}"
        return (
            f"open: every way of whole words in registers takes {self.clocks_bound:g} clocks at least, as {takes}, by "
            "the entropy of their ways"
        )

    def cuda(self, name: str = "convert") -> str:
        """Return a CUDA device function, `void name(const unsigned (&x)[...], unsigned (&y)[...])`.

        x and y are different arrays of registers. Through shared memory it takes the tile as a third argument,
        a pointer to `shared.layout.bytes` bytes at a multiple of `shared.layout.alignment` that nobody else uses.
        """
        if not is_c_name(name):
            mistake(f"the function's name is {name!r}", "a name in C++", "convert")
        title = f"{self.source} to {self.target}: {self._counts()}"
        return cuda_text(self.network, name, title) if self.network else shared_text(self._plan, name, title)

    def _counts(self) -> str:
        selects = _plural(self.selects, "select")
        if self.shared is not None:
            return f"{_plural(self.shared.passes, 'turn')} of shared memory, {selects}"
        moves = f"{self.transpositions} movmatrix, " if self.transpositions else ""
        return f"{moves}{_plural(self.shuffles, 'shuffle')}, {selects}"

    def __repr__(self) -> str:
        return f"{self.source} to {self.target}: {self._counts()}; {self.clocks:g} clocks\n  {self.proof}"

    def svg(self) -> str:
        """Return a figure of the tile with the lanes that hold its cells, before and after."""
        tiles = [(each.name, each.holders()) for each in (self.source, self.target)]
        return side_by_side(tiles, "the lanes that hold the tile, before and after", LANES)

    def _repr_html_(self) -> str:
        return with_text(repr(self), self.svg())


def _plural(number: int, noun: str, nouns: str = "") -> str:
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"
