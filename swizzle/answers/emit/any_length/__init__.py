"""May a kernel that was proved at one size be run at any other?

Two things are shown, for every length at once. First, the specification continues in the same way: what it says of one
block's outputs, it says, shifted, of every other block's (`continuation`). Second, each block of the kernel computes
its own part of that, even if the arrays end inside the block (`conditions`). If this cannot be shown, the kernel keeps
its sizes.
"""
