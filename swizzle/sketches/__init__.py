"""Sketches as values: `@sketch`, files with their parameters, host functions of several kernels."""
