"""How somebody's kernel is launched: grid, block, and what each argument is, from flags or from a comment of the file.

--launch 2x2,32x8            grid and block; a third number gives bytes of dynamic shared memory
--args 'i32[8]<16,f32[16],f32.out[8]'          integers from 0 to 15
--args 'f32[64,64],f32.out[64,64],i32=64'      NAME:WORD calls an array or a number otherwise than its parameter
// swizzle doctor: --launch 2x2,32x8 --args f32[64,64],f32.out[64,64] -D TILE=32 -I include

A comment for `swizzle prove` says the same.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence
from math import prod
from pathlib import Path
from typing import Final

import numpy as np
from msgspec import Struct

from cuda_out.compile.launch import Shape3, check_shapes
from swizzle.strangers.reading.text import CudaKernel, CudaText, SpelledParameter
from symbolic.errors import SwizzleError, near

KINDS: Final = {
    "f16": "f16", "bf16": "b16", "f32": "f32", "f64": "f64", "i8": "s8", "u8": "u8", "i16": "s16", "u16": "u16",
    "i32": "s32", "u32": "u32", "i64": "s64", "u64": "u64",
}  # fmt: skip
"""Element types as they are written here, and as PTX has them."""
ROLES: Final = ("in", "const", "out", "inout")
MOST_ELEMENTS: Final = 1 << 22
_SPELLED: Final = {
    "float": "f32", "double": "f64", "half": "f16", "__half": "f16", "__nv_bfloat16": "bf16", "nv_bfloat16": "bf16",
    "int": "i32", "int32_t": "i32", "unsigned": "u32", "unsigned int": "u32", "uint32_t": "u32", "uint": "u32",
    "long long": "i64", "long": "i64", "int64_t": "i64", "unsigned long long": "u64", "uint64_t": "u64",
    "size_t": "u64", "unsigned long": "u64", "char": "i8", "signed char": "i8", "int8_t": "i8",
    "unsigned char": "u8", "uint8_t": "u8", "bool": "u8", "short": "i16", "int16_t": "i16", "unsigned short": "u16",
    "uint16_t": "u16", "half2": "f16", "__half2": "f16",
    **{f"{name}{count}": kind for name, kind in (("float", "f32"), ("int", "i32"), ("uint", "u32"), ("double", "f64"))
       for count in (2, 3, 4)},
}  # fmt: skip
_COMMENT: Final = re.compile(r"(?://|\*|/\*)\s*swizzle (doctor|prove):\s*(-[^\n]*?)\s*(?:\*/)?\s*$", re.M)
_NAMED: Final = re.compile(r"([A-Za-z_]\w*):")
_ARRAY: Final = re.compile(r"([a-z]+\d+)(?:\.(\w+))?(?:\[([\d\s,]+)\])?(?:<(\d+))?")
_NUMBER: Final = re.compile(r"(?:([a-z]+\d+)\s*=\s*)?(-?(?:0[xX][0-9a-fA-F]+|\d+))")
_FLOAT: Final = re.compile(r"(?:(f16|f32|f64)\s*=\s*)?([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")
_JOINED: Final = re.compile(r"-[ID](?=.)")
_FLAGS: Final = ("--kernel", "--launch", "--args", "-I", "-D")
EXAMPLE: Final = "--launch 2x2,32x8"


class GivenArgument(Struct, frozen=True):
    """What a parameter is given: an array of a shape; a number that nothing is known of (no shape); a number; or, as a
    structure, such an argument for each of its `fields`. Integers are `below` a number and not negative, where it is
    not 0: index data, of which that is assumed."""

    name: str
    kind: str
    role: str = "in"
    shape: tuple[int, ...] = ()
    value: int | float | None = None
    fields: tuple[GivenArgument, ...] = ()
    below: int = 0

    @property
    def size(self) -> int:
        return prod(self.shape)


class KernelLaunch(Struct, frozen=True):
    """Grid, block, bytes of dynamic shared memory, and where this was said, '' for the flags. `touched`: nothing said
    how many bytes, and these are as many as the kernel touches."""

    grid: Shape3
    block: Shape3
    dynamic: int
    said: str = ""
    touched: bool = False

    def __str__(self) -> str:
        grid, block = ("x".join(map(str, _short(shape))) for shape in (self.grid, self.block))
        return f"{grid},{block}" + (f",{self.dynamic}" if self.dynamic else "")


class SaidFlags(Struct, frozen=True):
    """What a comment of a file says of one kernel, and where it stands; `includes` and `defines` are its `-I` and `-D`.
    A comment with several `--kernel` says something of each."""

    at: int
    flags: dict[str, str]
    includes: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()


def said_flags(text: CudaText) -> list[SaidFlags]:
    """Return the flags that comments of a file say: `// swizzle doctor: --launch 2x2,32x8`."""
    found = []
    for match in _COMMENT.finditer(text.text):
        try:
            words = shlex.split(match[2])
        except ValueError:
            words = match[2].split()
        words = [part for word in words for part in ((word[:2], word[2:]) if _JOINED.match(word) else (word,))]
        if unknown := [word for word in words[::2] if word not in _FLAGS]:
            raise SwizzleError(
                f"{unknown[0]} in a comment for swizzle {match[1]}", place=text.place(match.start(), match.end()),
                expected=f"{', '.join(_FLAGS)}, each with a word", fix=f"// swizzle {match[1]}: {EXAMPLE}",
            )  # fmt: skip
        given: dict[str, list[str]] = {flag: [] for flag in _FLAGS}
        for flag, word in zip(words[::2], words[1::2], strict=False):
            given[flag].append(word)
        count = max(1, len(given["--kernel"]))
        try:
            check_counts(given["--launch"], given["--args"], count)
        except SwizzleError as error:
            place = text.place(match.start(), match.end())
            raise SwizzleError(error.found, place=place, expected=error.expected, fix=error.fix) from None
        for number in range(count):
            flags = {flag: words[number] for flag, words in given.items() if flag[1] == "-" and number < len(words)}
            found.append(SaidFlags(match.start(), flags, tuple(given["-I"]), tuple(given["-D"])))
    return found


def check_counts(launches: Sequence[str], args: Sequence[str], count: int) -> None:
    """Raise SwizzleError for more launches or arguments than kernels."""
    for flag, words in (("--launch", launches), ("--args", args)):
        if len(words) > count:
            raise SwizzleError(
                f"{flag} is given {len(words)} times for {count} kernel{'s' * (count > 1)}",
                expected=f"{flag} once for each --kernel, in the same order",
                fix="--kernel first --launch 4,256 --kernel second --launch 1,32",
            )


def said_chain(text: CudaText) -> list[SaidFlags]:
    """Return what the only comment with several kernels says of each, in order; none where there is no such one."""
    said = said_flags(text)
    chains = [[each for each in said if each.at == at] for at in dict.fromkeys(each.at for each in said)]
    chains = [chain for chain in chains if len(chain) > 1]
    return chains[0] if len(chains) == 1 else []


def with_said_options(text: CudaText, kernel: CudaKernel) -> CudaText:
    """Return a file's text with the folders of headers and the macros that its comments say for a kernel; a folder is
    taken from the file's own."""
    said = [each for each in said_flags(text) if base_name(each.flags.get("--kernel", kernel.name)) == kernel.name]
    said.sort(key=lambda each: "--kernel" in each.flags)
    folders = [str(Path(text.path).parent / folder) for each in said for folder in each.includes]
    for each in said:
        try:
            check_options(folders, each.defines)
        except SwizzleError as error:
            raise SwizzleError(error.found, place=text.place(each.at), expected=error.expected, fix=error.fix) from None
    return text.with_options(folders, [define for each in said for define in each.defines])


def check_options(includes: Sequence[str], defines: Sequence[str]) -> None:
    """Raise SwizzleError for a `-I` that is no folder and a `-D` that is no macro."""
    for folder in includes:
        if not Path(folder).is_dir():
            raise SwizzleError(
                f"-I {folder} is no folder", expected="a folder of headers", fix="name one that is there: -I include"
            )
    for define in defines:
        if not re.fullmatch(r"[A-Za-z_]\w*(?:\([\w\s,.]*\))?(?:=.*)?", define, re.S):
            raise SwizzleError(
                f"-D {define} is no macro", expected="-D NAME=VALUE, or -D NAME", fix="-D TILE=32",
            )  # fmt: skip


def said_kernel(text: CudaText) -> str | None:
    """Return the kernel that a comment names, if one does and no other names another."""
    names = {each.flags["--kernel"] for each in said_flags(text) if "--kernel" in each.flags}
    return names.pop() if len(names) == 1 else None


def chosen_kernel(text: CudaText, name: str | None) -> tuple[CudaKernel, str]:
    """Return a kernel by its name, or the only one, and the arguments of a template as they are spelled."""
    kernels = text.kernels()
    name = name if name is not None else said_kernel(text)
    for begin, end, mistake in text.mistakes:  # of another kernel they are its own
        if name is None or re.search(rf"\b{re.escape(base_name(name))}\s*\(", text.code[begin:end]):
            raise mistake
    if not kernels:
        having = [file for file, header in text.headers.items() if header.kernels()]
        raise SwizzleError(
            f"{text.path} has no kernel",
            expected="a function with __global__ and a body",
            fix="name the file that has it" + (f": {', '.join(having[:3])}" if having else ""),
        )
    bare, instance = base_name(name or ""), "".join((name or "").partition("<")[1:])
    names = [each.name for each in kernels]
    if name is None and len(kernels) > 1:
        raise SwizzleError(
            f"{text.path} has {len(kernels)} kernels: {', '.join(names)}", place=text.place(kernels[1].begin),
            expected="one of them", fix=f"--kernel {names[0]}",
        )  # fmt: skip
    found = [each for each in kernels if name is None or each.name == bare]
    if not found:
        raise SwizzleError(
            f"{text.path} has no kernel {bare}", expected=f"one of {', '.join(names)}",
            fix=near(bare, names) or f"--kernel {names[0]}",
        )  # fmt: skip
    if len(found) > 1:
        raise SwizzleError(
            f"{text.path} has {len(found)} kernels with the name {bare}", place=text.place(found[1].begin),
            expected="one", fix="give the other one another name",
        )  # fmt: skip
    return found[0], instance


def flags_of(
    text: CudaText, kernel: CudaKernel, launch: str | None, args: str | None
) -> tuple[str | None, str | None, str]:
    """Return the flags; of those that are not given, what a comment says that names the kernel, or the last one before
    the kernel's end that names none; and where that stands."""
    said = [
        each for each in said_flags(text)
        if base_name(each.flags.get("--kernel", kernel.name)) == kernel.name and each.at < kernel.end
        and each.flags.keys() & {"--launch", "--args"}
    ]  # fmt: skip
    said.sort(key=lambda each: ("--kernel" in each.flags, each.at))
    if not said or (launch is not None and args is not None):
        return launch, args, ""
    flags = said[-1].flags
    where = f"line {text.line(said[-1].at)}" if launch is None and "--launch" in flags else ""
    return launch or flags.get("--launch"), args or flags.get("--args"), where


def base_name(kernel: str) -> str:
    """Return a kernel's own name, without its namespace and the arguments of a template.

    >>> base_name("own::product<16, float>")
    'product'
    """
    return kernel.split("<")[0].strip().split("::")[-1]


def parse_launch(words: str) -> KernelLaunch:
    """Return the launch that `--launch` says.

    >>> str(parse_launch("2x2,32x8")), str(parse_launch("4,256,8192")), str(parse_launch("(2,2),(32,8)"))
    ('2x2,32x8', '4,256,8192', '2x2,32x8')
    """
    bare = re.sub(r"dim3|\s|'|\"", "", words)
    parts: list[list[int]] = []
    for group, single in re.findall(r"\(([\dx,]+)\)|([\dx]+)", bare):
        parts.append([int(n) for n in re.split(r"[x,]", group or single) if n])
    left = re.sub(r"\([\dx,]+\)|[\dx]+", "N", bare)
    sizes = [tuple([*part, 1, 1, 1][:3]) for part in parts]
    if left == "N,N,N,N,N,N":  # both with three sizes, and no mark between them
        numbers = [part[0] for part in parts]
        sizes, left = [tuple(numbers[:3]), tuple(numbers[3:])], "N,N"
    elif left == "N,N,N,N":
        numbers = [part[0] for part in parts]
        sizes, left = [(*numbers[:2], 1), (*numbers[2:], 1)], "N,N"
    if left not in ("N,N", "N,N,N") or any(not 1 <= len(part) <= 3 for part in parts):
        raise SwizzleError(
            f"--launch {words}", expected="GRID,BLOCK, or GRID,BLOCK,BYTES with dynamic shared memory", fix=EXAMPLE
        )
    dynamic = parts[2][0] if left == "N,N,N" else 0
    grid, block = sizes[0], sizes[1]
    try:
        check_shapes(grid, block)  # type: ignore[arg-type]
    except SwizzleError as error:
        fix = error.fix if min(*grid, *block) > 0 else EXAMPLE
        raise SwizzleError(f"--launch {words}: {error.found}", expected=error.expected, fix=fix) from None
    return KernelLaunch(grid, block, dynamic)  # type: ignore[arg-type]


def launch_of(
    text: CudaText, kernel: CudaKernel, words: str | None, said: str, most_threads: int | None
) -> KernelLaunch:
    """Return the launch of the flag, of the comment, or what `__launch_bounds__` says of the block."""
    if words is not None:
        found = parse_launch(words)
        return KernelLaunch(found.grid, found.block, found.dynamic, said)
    body = text.code[kernel.begin : kernel.end]
    if most_threads is not None and not re.search(r"\bthreadIdx\s*\.\s*[yz]\b|\bblockDim\s*\.\s*[yz]\b", body):
        return KernelLaunch((1, 1, 1), (most_threads, 1, 1), 0, "__launch_bounds__")
    raise SwizzleError(
        f"nothing says how {kernel.name} is launched", place=text.place(kernel.begin),
        expected="--launch GRID,BLOCK, or a comment with it in the file",
        fix=f"{EXAMPLE}, or // swizzle doctor: {EXAMPLE} --args {example_of(kernel, text.structures())}",
    )  # fmt: skip


def example_of(kernel: CudaKernel, structures: Collection[str] = ()) -> str:
    """Return an example of `--args` for a kernel's parameters; `structures` are the names of types that are some."""
    words = []
    for each in kernel.parameters:
        kind, pointer, const = spelled(each)
        bare = re.sub(r"\b(?:const|struct)\b|&", " ", each.type).split()
        if pointer:
            words.append(f"{kind or 'f32'}{'' if const else '.out'}[4096]")
        elif not kind and "".join(bare) in structures:
            words.append("{i32=64,...}")
        else:
            words.append(f"{kind or 'i32'}=64" if not (kind or "i32").startswith(("f", "b")) else f"{kind}")
    return ",".join(words) or "''"


def spelled(parameter: SpelledParameter) -> tuple[str, bool, bool]:
    """Return a parameter's element type, '' where it is not known, whether it is a pointer, and to constants."""
    bare = " ".join(re.sub(r"[*&]|\b(?:const|struct)\b", " ", parameter.type).split())
    return _SPELLED.get(bare, ""), "*" in parameter.type, re.search(r"\bconst\b[^*]*\*", parameter.type) is not None


def arguments_of(
    text: CudaText, kernel: CudaKernel, words: str | None, variables: Collection[str] = ()
) -> list[GivenArgument]:
    """Return what each parameter is given, and behind them what some of the module's `variables` hold, by their names;
    raise SwizzleError where the flag does not fit the kernel."""
    parameters = kernel.parameters
    if words is None and parameters:
        raise SwizzleError(
            f"nothing says what {kernel.name} is given", place=text.place(kernel.begin),
            expected=f"--args with a word for each of {', '.join(p.name or p.type for p in parameters)}",
            fix=f"--args {shlex.quote(example_of(kernel, text.structures()))}",
        )  # fmt: skip
    given, named_variables = _split(words or ""), list[GivenArgument]()
    while len(given) > len(parameters) and (named := _NAMED.match(given[-1])) and named[1] in variables:
        word = given.pop()[named.end() :]
        parameter = SpelledParameter("float*" if "[" in word else "", named[1])
        named_variables.insert(0, _argument(word, parameter, named[1], kernel, within=True))
    if len(given) != len(parameters):
        raise SwizzleError(
            f"--args has {len(given)} words, and {kernel.name} takes {len(parameters)} arguments",
            place=text.place(kernel.begin), expected=", ".join(f"{p.type} {p.name}" for p in parameters) or "none",
            fix=f"--args {shlex.quote(example_of(kernel, text.structures()))}",
        )  # fmt: skip
    names: dict[str, int] = {}
    found = []
    for number, (word, parameter) in enumerate(zip(given, parameters, strict=True)):
        name = parameter.name or f"argument {number}"
        if named := _NAMED.match(word):
            name, word = named[1], word[named.end() :]
        names[name] = names.get(name, 0) + 1
        found.append(_argument(word, parameter, name, kernel))
    return [*found, *named_variables]


def _argument(
    word: str, parameter: SpelledParameter, name: str, kernel: CudaKernel, *, within: bool = False
) -> GivenArgument:
    own, pointer, _ = spelled(parameter)
    if word.startswith("{") and word.endswith("}") and not (own or pointer):
        fields = []
        for place, each in enumerate(_split(word[1:-1])):
            part = SpelledParameter("float*" if "[" in each else "", f"{name}.{place}")
            fields.append(_argument(each, part, part.name, kernel, within=True))
        if fields:
            return GivenArgument(name, "record", fields=tuple(fields))
    array, number = _ARRAY.fullmatch(word), _NUMBER.fullmatch(word)
    example = example_of(CudaKernel("", 0, 0, 0, 0, (parameter,), False))
    if number and not pointer:
        kind = number[1] or own or "i32"
        if kind in KINDS and not kind.startswith(("f", "b")):
            return _checked(GivenArgument(name, KINDS[kind], value=int(number[2], 0)), kind, own, word, parameter)
    real = _FLOAT.fullmatch(word)
    if real and not pointer and (kind := real[1] or own) in ("f16", "f32", "f64"):
        return _checked(GivenArgument(name, kind, value=float(real[2])), kind, own, word, parameter)
    if array and array[1] in KINDS:
        role = array[2] or "in"
        shape = tuple(int(n) for n in array[3].split(",") if n.strip()) if array[3] else ()
        if role == "scalar" and not shape:
            role = "in"
        whole = bool(shape) and all(n >= 1 for n in shape) and prod(shape) <= MOST_ELEMENTS
        if role in ROLES and pointer == bool(shape) and (whole or not pointer):
            own = "" if within else own
            below = int(array[4] or 0)
            if array[4] is not None:
                _check_range(word, array[1], role, below)
            made = GivenArgument(name, KINDS[array[1]], role, shape, below=below)
            return _checked(made, array[1], own, word, parameter)
    raise SwizzleError(
        f"--args: {word!r} for {parameter.type} {parameter.name}",
        expected=f"TYPE[SHAPE], TYPE.out[SHAPE] or TYPE.inout[SHAPE], {MOST_ELEMENTS} elements at most, for a pointer; "
        "{...} with a word for each field for a structure; else TYPE=VALUE, or TYPE for a number that may be any; "
        f"types: {', '.join(KINDS)}",
        fix=f"{example}",
    )


def _check_range(word: str, kind: str, role: str, below: int) -> None:
    """Refuse a range of floats, one that is empty or more than the type has, and of what is only written."""
    most = 1 << int(kind.lstrip("biuf")) - (kind[0] == "i")
    if kind[0] not in "iu" or role == "out" or not 1 <= below <= most:
        raise SwizzleError(
            f"--args: {word!r}, a range", fix="i32[8]<16 for the indices of 16 elements",
            expected="integers that the kernel reads, and a number from 1 to the type's largest and 1",
        )  # fmt: skip


def _checked(argument: GivenArgument, kind: str, own: str, word: str, parameter: SpelledParameter) -> GivenArgument:
    number = kind.startswith(("i", "u"))
    if own and (
        {own, kind} == {"f16", "bf16"}
        or own.startswith(("i", "u")) != number
        or own.lstrip("bfiu") != kind.lstrip("bfiu")
    ):
        raise SwizzleError(
            f"--args: {word!r} for {parameter.type} {parameter.name}", expected=f"elements of the type {own}",
            fix=word.replace(kind, own, 1),
        )  # fmt: skip
    return argument


def _split(words: str) -> list[str]:
    """Return the words between commas that stand in no bracket.

    >>> _split("f32[4,4], {i32=1,{f32,u8}}, 7")
    ['f32[4,4]', '{i32=1,{f32,u8}}', '7']
    """
    found, depth = [""], 0
    for mark in words.replace(" ", ""):
        depth += (mark in "[{") - (mark in "]}")
        if mark == "," and depth <= 0:
            found.append("")
        else:
            found[-1] += mark
    return [word for word in found if word]


def number_of(argument: GivenArgument) -> np.generic:
    """Return a number as the launch passes it."""
    assert argument.value is not None
    size = int(argument.kind[1:])
    if isinstance(argument.value, float):
        floats: dict[int, type[np.generic]] = {16: np.float16, 32: np.float32, 64: np.float64}
        return floats[size](argument.value)
    types: dict[int, type[np.generic]] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
    return types[size](argument.value & (1 << size) - 1)


def _short(shape: Sequence[int]) -> tuple[int, ...]:
    found = tuple(shape)
    while len(found) > 1 and found[-1] == 1:
        found = found[:-1]
    return found
