"""The version of swizzle; setup.cfg says the same."""

__version__ = "0.1.0"
