"""The table of elementary operators, generated (`python -m bench.elementary`): candidates, proofs, refutations."""
