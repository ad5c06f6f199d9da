"""`python -m swizzle` is the command line."""

from swizzle.cli import main

main()
