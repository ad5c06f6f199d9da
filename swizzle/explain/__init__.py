"""Why a sketch has no solution: what cannot be produced, what forbids it, and what was tried that would help."""
