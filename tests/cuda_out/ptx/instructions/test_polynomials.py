"""Sums and products of polynomials with fractions are those that are worked out one coefficient after the other."""

import random
from fractions import Fraction

from cuda_out.ptx.instructions.polynomials import Polynomial, product_of, sum_of


def some(rng: random.Random, terms: int) -> Polynomial:
    """Return a polynomial over four factors, with integers and fractions."""
    return {
        tuple(sorted(rng.choices(range(4), k=rng.randrange(3)))): rng.choice(
            (rng.randrange(-4, 5), Fraction(rng.randrange(-9, 10), rng.randrange(1, 7)))
        )
        for _ in range(terms)
    }


def test_fractions_are_added_and_multiplied_exactly() -> None:
    """Also of one part or none."""
    rng = random.Random(1)
    for _ in range(300):
        parts = [some(rng, rng.randrange(7)) for _ in range(rng.randrange(1, 6))]
        left, right = parts[0], rng.choice(parts)
        added: Polynomial = {}
        for part in parts:
            for factors, c in part.items():
                added[factors] = added.get(factors, 0) + c
        assert sum_of(parts) == added
        multiplied: Polynomial = {}
        for a, x in left.items():
            for b, y in right.items():
                factors = tuple(sorted(a + b))
                multiplied[factors] = multiplied.get(factors, 0) + x * y
        assert product_of(left, right) == multiplied
