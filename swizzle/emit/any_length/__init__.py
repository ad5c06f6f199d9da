"""May a kernel that was proved at one size be run at any other?

Two things are shown, for every length at once. The specification goes on as it began: what it says of one block's
outputs it says, moved, of every other block's (`continuation`). And each block of the kernel computes its own part of
that, also where the arrays end inside the block (`conditions`). What cannot be shown leaves the kernel at its sizes.
"""
