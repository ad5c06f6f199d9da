"""The ways to make contenders that all cases share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.gpu.kernels import Kernel
from bench.gpu.missing import Missing
from bench.gpu.problem import Contender, OneKernel, Variant
from bench.gpu.solved import Sketch, Store


@dataclass(frozen=True, slots=True)
class Setup:
    """Where the kernels come from: the store of solved ones, checkouts of other people's by name."""

    store: Store
    checkouts: Mapping[str, Path]

    def checkout(self, name: str, header: str, option: str) -> str:
        """Return the folder of a checkout; raise Missing where it was not given or is another one."""
        if name not in self.checkouts:
            raise Missing(f"no checkout was given ({option} DIR)")
        folder = self.checkouts[name].resolve()
        if not (folder / header).is_file():
            raise Missing(f"{folder} has no {header}")
        return str(folder)


def solved(setup: Setup, name: str, sketches: Sequence[Sketch]) -> Contender:
    """Return a contender of ours whose variants are the same sketch for several values of its parameters."""
    variants: list[Variant] = []
    reasons = {}
    for each in sketches:
        try:
            variants.append(OneKernel(each.label, setup.store.kernel(each)))
        except Missing as why:
            reasons[each.label] = str(why)
    if not variants:
        return Contender(name, True, (), missing="; ".join(dict.fromkeys(reasons.values())))
    return Contender(name, True, variants, missing="; ".join(f"{label}: {why}" for label, why in reasons.items()))


def written(name: str, kernels: Mapping[str, Kernel] | Callable[[], Mapping[str, Kernel]]) -> Contender:
    """Return a rival whose variants are kernels by their labels; making them may raise Missing."""
    try:
        made = kernels() if callable(kernels) else kernels
    except Missing as why:
        return Contender(name, False, (), missing=str(why))
    return Contender(name, False, [OneKernel(label, kernel) for label, kernel in made.items()])
