"""Conversions between two distributions of a tile over registers, lanes and warps."""
