"""Choices: what may be decided of the objects of a kernel, what has to hold of it together, and what is left.

The language and the engine of sections 2 and 3 of "On the Representation of Partially Specified Implementations".
"""
