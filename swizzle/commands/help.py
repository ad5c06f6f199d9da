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

A sketch is a kernel in a .py or .swz file, with holes in place of index expressions. docs/language.md begins with a
complete one.

{EXIT_STATUS}"""

SOLVE: Final = f"""\b
Examples:
  swizzle solve conv1d.py                         every sketch of the file
  swizzle solve mult64.py:register -o out         one of them; write out/register.cu and .json
  swizzle solve conv1d.py -D K=5 -D warp_size=8   other sizes
  swizzle solve conv1d.py --space all             the cheapest over all spaces, with proof
  swizzle solve mult64.py --timeout 60 --json     at most a minute; a JSON object for programs
  swizzle solve field.py:register --fill out/product.json   take holes of device functions from there

Next, when solved: swizzle run out/NAME.json, swizzle check out/NAME.json --emitted. When no filling exists: swizzle
explain FILE, then what docs/solving.md lists under 'When there is no solution'. When undecided: a longer --timeout,
--space 1, or smaller sizes with -D. Ctrl-C prints and writes the best solution so far. A question that was answered
before is answered from a cache: swizzle cache.

{EXIT_STATUS}"""

CHECK: Final = f"""\b
Examples:
  swizzle check kernels.py:by_hand                a kernel without holes, for all inputs
  swizzle check out/conv1d.json                   a saved solution, and the sketch that it names
  swizzle check out/conv1d.json --emitted         also compile the printed text, and run it

Next, when not equal: look at the first element that differs, shown as numbers and as terms. When terms differ but
numbers agree, write the specification in the shape that the kernel computes (docs/solving.md).

{EXIT_STATUS}"""

RUN: Final = f"""\b
Examples:
  swizzle run conv1d.py                           solve it first, then run the printed kernel
  swizzle run out/conv1d.json --device cpu        emulated; looks for races and bounds
  swizzle run out/conv1d.json --seed 7            other data

Next: out/NAME.cu needs nothing but the CUDA headers; it has a host function that launches the kernel.

{EXIT_STATUS}"""

CACHE: Final = f"""\b
Examples:
  swizzle cache                                   where it is, and what it holds
  swizzle cache clear                             remove it
  swizzle solve conv1d.py --no-cache              do not use it once
  SWIZZLE_CACHE_DIR=here swizzle solve conv1d.py  keep it somewhere else

{EXIT_STATUS}"""

OPERATOR: Final = """\b
Examples:
  swizzle operator runs.py                        every serial loop of the file
  swizzle operator runs.py:best_run --json        one of them, an object for programs
  swizzle operator runs.py --domain integers      numbers without a width: nothing overflows
  swizzle operator runs.py:best_run -o out        write out/best_run.cuh: a struct, and functors for CUB and Thrust
  swizzle operator runs.py:best_run --emit triton,jax -o out     Python modules for tl.associative_scan and for JAX

Exit status: 0 an operator was found and its laws are proved, 1 refuted, 2 a mistake in what was given, 3 undecided, or
none was found, 70 a bug of swizzle."""

DOCTOR: Final = """\b
Examples:
  swizzle doctor transpose.cu --launch 2x2,32x8 --args 'f32[64,64],f32.out[64,64]'
  swizzle doctor kernels.cu --kernel 'product<16>' --launch 1,16x16 --args 'f32[16,16],f32.out[16,16],i32=16'
  swizzle doctor transpose.cu -o mended           write mended/transpose.cu and a picture of each array
  swizzle doctor out/conv1d.json                  what swizzle printed itself

A comment in the file can say what the flags say: // swizzle doctor: --launch 2x2,32x8 --args f32[64,64],f32.out[64,64].
Arguments are f16, bf16, f32, f64, i8 to i64, u8 to u64, with .out or .inout where the kernel writes; docs/doctor.md.

Exit status: 0 no conflicts, or mended, 1 a race, or conflicts that no layout of the families removes, 2 a mistake in
what was given, 3 undecided: nothing is changed that is not proved, 70 a bug of swizzle."""


PROVE: Final = """\b
Examples:
  swizzle prove saxpy.cu spec.py --launch 4,256 --args 'f32,f32[1000],f32.inout[1000],i32=1000'
  swizzle prove gemm.cu spec.py:product --kernel 'gemm<16>'     of a file whose comments say how each is launched
  swizzle prove fast.cu --against plain.cu:gemm   two kernels, each launched as a comment of its file says
  swizzle prove sums.cu spec.py --kernel partial --launch 4,256 --kernel total --launch 1,32     one after the other
  swizzle prove gemm.cu spec.py -o shown          where they differ, write shown/gemm.npz and a host program

A comment in the file can say what the flags say: // swizzle prove: --launch 4,256 --args f32[1000],f32.out[1000].
A specification takes the arrays that the kernel reads and the numbers without a value, in the kernel's order, or by
name where names agree; docs/prove.md.

Exit status: 0 equal, 1 different, a race or undefined behaviour, 2 a mistake in what was given, 3 undecided, 70 a bug
of swizzle."""


TUNE: Final = """\b
Examples:
  swizzle tune product.py                         search its choices for five minutes of processor time
  swizzle tune product.py:mm --budget 60 -o out   one sketch; write out/mm.cu, .cuh, .json and what was tried
  swizzle tune product.py -o out --resume         go on: what was tried is kept in out/mm.tune.jsonl
  swizzle tune product.py --fix BM=64             a choice that is taken already
  swizzle tune product.py --count                 how many candidates there are
  swizzle tune product.py --explain               what each requirement leaves, and of which values nothing is left
  swizzle tune product.py --table --plot tuned.svg --export kernel-tuner=tuned.json

A budget is processor seconds (300, 5m), seconds by the clock (wall:300), or candidates (candidates:40). Nothing runs:
candidates are ranked by what their machine code says and a table of the device; docs/tune.md.

Exit status: 0 a proved candidate was found, 1 no values are left, or no candidate is right, 2 a mistake in what was
given, 3 stopped before one was found, 70 a bug of swizzle."""
DERIVE: Final = """\b
Examples:
  swizzle derive blas.py                          derive and prove every derivation of a file
  swizzle derive blas.py:gemv -o out              one; write gemv.py, gemv.cu, gemv.json, gemv.derivation.json
  swizzle derive blas.py:gemv --script out/gemv.derivation.json     the same steps again
  swizzle derive blas.py:gemv --search 200        the best of 200 derivations of gemv's specification
  swizzle derive --rules                          every rewrite rule: its law, its side conditions, its proof
  swizzle derive --rules --json                   an object for programs

Exit status: 0 all kernels, or rules, are proved, 1 one is not, 2 a mistake in what was given, 3 undecided, 70 a bug of
swizzle; docs/derive.md."""


SCAN: Final = """\b
Examples:
  swizzle scan runs.py:best_run                   make its scan, and check the kernels
  swizzle scan runs.py:best_run -o out            write out/best_run_scan.cuh: kernels, and a host function scan()
  swizzle scan runs.py:best_run --form look-back -o out      a kernel that reads the input once
  swizzle scan runs.py:best_run --backward        what the loop returns of each element and all behind it
  swizzle scan runs.py:best_run --emitted         validate the compiled kernels too, for every length

Exit status: 0 the scan is checked, 1 the operator is refuted, or a kernel is not right, 2 a mistake in what was given,
3 undecided, or no operator was found, 70 a bug of swizzle."""


BEST: Final = """\b
Examples:
  swizzle layouts best 32x32 rows columns         a tile that is written by rows and read by columns
  swizzle layouts best 64x64 rows:4 columns       rows by four elements a lane; --width 4 is of all patterns
  swizzle layouts best 64x64 cp_async:16 ldmatrix:4 --bits 16 -o tile.svg -o cell.cuh
  swizzle layouts best 24x36 rows columns --families pad      a pitch and nothing else

A pattern is NAME:ARGUMENT:...: rows, columns, linear:row, blocks:4:8, cp_async:16, tma, ldmatrix:4, ldmatrix:4:trans,
stmatrix:4, mma:A:m16n8k16, mma:B:m16n8k16:along=1; docs/layouts.md says what each is. Functions of your own are for
Python: swizzle.layouts.

Exit status: 0 a layout was found, 1 there is none, 2 a mistake in what was given, 3 stopped by a limit, 70 a bug of
swizzle."""

CONVERT: Final = """\b
Examples:
  swizzle layouts convert mma:C:m16n8k8 mma:A:m16n8k8 --shape 16x8 --bits 32
  swizzle layouts convert mma:C:m16n8k8 mma:A:m16n8k8 --shape 16x8 --bits 32 --free 1      k may be permuted
  swizzle layouts convert 'a b | c d x y z' 'c d | a b x y z' --bits 8 -o quads.cuh
  swizzle layouts convert striped:3 blocked:3 --bits 32       structures of three words

A distribution is a pattern, for what lanes hold after it (ldmatrix:4, mma:A:m16n8k16, ...); striped:R or blocked:R, R
elements a lane, every 32nd or neighbours; or bits of the register | of the lane | of the warp, the lowest first
(docs/conversions.md).

Exit status: 0 a conversion was found, 2 a mistake in what was given, 3 stopped by a limit, 70 a bug of swizzle."""

SWEEP: Final = """\b
Examples:
  swizzle sweep aos.py --set struct_size=1..64           every sketch of the file at every size
  swizzle sweep aos.py:crc --set struct_size=1..8 --option space=1,2,all --timeout 60
  swizzle sweep kernels/*.py --do check --workers 8 --json
  swizzle sweep jobs.jsonl --scheduler tcp://host:8786   a cluster of Dask that runs
  swizzle sweep jobs.jsonl --rerun timeout --timeout 600 --show --export csv

A line of jobs.jsonl is {"do": "solve", "target": "aos.py:crc", "set": {"struct_size": 3}}; paths are from its
folder. A line of --json has key, job, answer, attempts and seconds; docs/sweeps.md says more. Ctrl-C stops; the same
command goes on.

Exit status: 0 all jobs have an answer, 2 a mistake in what was given, 3 some have none."""
