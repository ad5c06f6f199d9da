"""What `--help` says below the options: examples, exit statuses, what to do next."""

from __future__ import annotations

from typing import Final

EXIT_STATUS: Final = """Exit status: 0 solved or equal, 1 proved that no solution exists or not equal, 2 a mistake in
what was given, 3 undecided (timeout, interrupted, or different terms whose numbers agree), 70 a bug of swizzle."""

START: Final = f"""\b
Begin with:
  swizzle solve case_studies/conv1d.py -o out     fill the holes; write out/conv1d.cu
  swizzle run out/conv1d.json                     run what was printed, on a GPU or the CPU
  swizzle solve --help                            examples and options of a command

A sketch is a kernel in a .py or a .swz file whose hard index expressions are holes; docs/language.md begins with a
whole one.

{EXIT_STATUS}"""

SOLVE: Final = f"""\b
Examples:
  swizzle solve conv1d.py                         every sketch of the file
  swizzle solve mult64.py:register -o out         one of them; write out/register.cu and .json
  swizzle solve conv1d.py -D K=5 -D warp_size=8   other sizes
  swizzle solve conv1d.py --space all             the cheapest over all spaces, with proof
  swizzle solve mult64.py --timeout 60 --json     at most a minute; an object for programs
  swizzle solve field.py:register --fill out/product.json   device functions' holes as another sketch found them

Next, when solved: swizzle run out/NAME.json, swizzle check out/NAME.json --emitted. When no choice exists: a smaller
-D, then what docs/solving.md lists under 'When there is no solution'. When undecided: a longer --timeout, --space 1,
or a smaller -D; Ctrl-C prints and writes the best so far. What was solved before is answered from a cache: swizzle
cache.

{EXIT_STATUS}"""

CHECK: Final = f"""\b
Examples:
  swizzle check kernels.py:by_hand                a kernel without holes, for all inputs
  swizzle check out/conv1d.json                   a saved solution, and the sketch that it names
  swizzle check out/conv1d.json --emitted         also compile the printed text, and run it

Next, when not equal: the first element that differs is shown, as numbers and as terms. When terms differ but no
number does, write the specification in the shape that the kernel computes (docs/solving.md).

{EXIT_STATUS}"""

RUN: Final = f"""\b
Examples:
  swizzle run conv1d.py                           solve it first, then run the printed text
  swizzle run out/conv1d.json --device cpu        emulated, with races and bounds looked for
  swizzle run out/conv1d.json --seed 7            other data

Next: out/NAME.cu needs nothing but the CUDA headers; it has a host function that launches the kernel.

{EXIT_STATUS}"""

CACHE: Final = f"""\b
Examples:
  swizzle cache                                   where it is, and what it holds
  swizzle cache clear                             remove it
  swizzle solve conv1d.py --no-cache              do without it once
  SWIZZLE_CACHE_DIR=here swizzle solve conv1d.py  keep it somewhere else

{EXIT_STATUS}"""
