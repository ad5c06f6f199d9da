"""CUDA files that somebody else wrote."""
