"""CUDA files of somebody else, read: their text, what it is compiled to, and how a kernel is launched and run."""
