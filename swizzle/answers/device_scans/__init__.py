"""Device-wide scans: kernels of a proved operator on words, their composition, and the texts that run them."""
