"""Why a sketch has no solution: what cannot be produced, what forbids it, and which changes help."""
