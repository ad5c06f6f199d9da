"""Benchmarks of printed kernels on a GPU: `python -m bench.gpu`, described in bench/README.md."""
