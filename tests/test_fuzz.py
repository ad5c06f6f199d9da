"""Case studies and wrong sketches, mutated at random: whatever a file holds, the command line ends in order."""

from __future__ import annotations

import random

import pytest

from bench.fuzz import CASES, KINDS, fuzz
from tests.mutations import as_swz, mutated


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("kind", "tries"), [("sketches", 120), ("solutions", 60)])
def test_a_short_form_of_make_fuzz(kind: str, tries: int) -> None:
    """Exit status 0, 1, 2 or 3; one message for a mistake; nothing that a solution names is run; nothing is left."""
    found = fuzz([kind], 0, 600, tries)[kind]
    assert found.wrong == [] and found.ends.total() == tries


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_for_a_while(kind: str) -> None:
    """Other seeds, in a fraction of the time of `make fuzz`."""
    assert fuzz([kind], 1000, 20)[kind].wrong == []


def test_mutants_are_not_their_sources() -> None:
    """Texts differ from seed to seed; a Python case study reads as a `.swz` file with its holes marked."""
    texts = {mutated(CASES["conv1d.swz"], random.Random(seed)) for seed in range(50)}
    assert len(texts) > 40
    assert as_swz(CASES["conv1d.py"]).count("?sw_") == 3
