"""Instructions of a whole warp as CUDA C++: a device function for each, with inline PTX, and its calls.

A fragment is an array of the lane; registers of 32 bits are put together of its elements, which compilers see through.
"""

from __future__ import annotations

from collections.abc import Sequence

from cuda_out.c.types import C_TYPE
from symbolic.elements import DType
from symbolic.ir.matrices import PRODUCTS, SUMS, MatrixProduct
from symbolic.ir.program import WarpInstruction
from symbolic.ir.warp_meaning import elements_of, registers

_REGISTER = {DType.F32: "f", DType.F64: "d", DType.I32: "r"}


def function_of(node: WarpInstruction) -> str:
    """Return the name of the device function of an instruction; some have several, of other types."""
    if isinstance(node.row, MatrixProduct):
        return f"mma_{node.row.shape}"
    return node.row.name.replace(".", "_")


def function_text(node: WarpInstruction) -> str:
    """Return the device function of an instruction."""
    if isinstance(node.row, MatrixProduct):
        return _product(node, node.row)
    sizes = [(each.dtype, elements_of(node, each)) for each in registers(node)]
    if node.row.kind == "movmatrix":
        (dtype, count), _ = sizes
        head = f"{function_of(node)}({C_TYPE[dtype]} (&target)[{count}], const {C_TYPE[dtype]} (&source)[{count}])"
        return _function(
            "Transposes a matrix of 8 x 8 elements.", head,
            [f"unsigned word = {_packed('source', 0, dtype)};",
             'asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(word));',
             *_unpacked("target", 0, dtype, "word")],
        )  # fmt: skip
    loads = node.row.kind == "ldmatrix"
    names = [f"f{number}" for number in range(len(sizes))] if len(sizes) > 1 else ["f"]
    given = [
        f"{'' if loads else 'const '}{C_TYPE[dtype]} (&{name})[{count}]"
        for name, (dtype, count) in zip(names, sizes, strict=True)
    ]
    words = [
        (name, register, dtype)
        for name, (dtype, count) in zip(names, sizes, strict=True)
        for register in range(count * dtype.bits // 32)
    ]
    places = ", ".join(f"%{number}" for number in range(len(words)))
    trans = ".trans" * node.row.transposed
    opcode = f"{node.row.kind}.sync.aligned.m8n8.x{node.row.count}{trans}.shared.b16"
    address = '"r"(unsigned(__cvta_generic_to_shared(row)))'
    if loads:
        lines = [
            f"unsigned words[{len(words)}];",
            f'asm volatile("{opcode} {{{places}}}, [%{len(words)}];"',
            *_listed("", [f'"=r"(words[{number}])' for number in range(len(words))], ""),
            f'             : {address} : "memory");',
        ]
        for number, (name, register, dtype) in enumerate(words):
            lines += _unpacked(name, register, dtype, f"words[{number}]")
        does = f"Loads {node.row.count} matri{'x' if node.row.count == 1 else 'ces'} of 8 rows"
    else:
        given_words = [f'"r"({_packed(name, register, dtype)})' for name, register, dtype in words]
        lines = [
            f'asm volatile("{opcode} [%{len(words)}], {{{places}}};"',
            *_listed(": ", [*given_words, address], ' : "memory");'),
        ]
        does = f"Stores {node.row.count} matri{'x' if node.row.count == 1 else 'ces'} of 8 rows"
    head = f"{function_of(node)}({', '.join(given)}, const void* row)"
    return _function(f"{does} of 16 bytes; lane 8 * j + i names where row i of matrix j begins.", head, lines)


def _function(says: str, head: str, lines: Sequence[str]) -> str:
    body = "".join(f"  {line}\n" for line in lines)
    return f"/// {says}\n__device__ __forceinline__ void {head} {{\n{body}}}\n"


def _product(node: WarpInstruction, row: MatrixProduct) -> str:
    held = PRODUCTS[row.a].held
    assert held is not None, "a sketch has no such product"
    total = SUMS[row.c]
    counts = {"a": row.size("a") // PRODUCTS[row.a].packed, "b": row.size("b") // PRODUCTS[row.a].packed}
    head = (
        f"{function_of(node)}({C_TYPE[total]} (&c)[{row.size('c')}], "
        f"const {C_TYPE[held]} (&a)[{counts['a']}], const {C_TYPE[held]} (&b)[{counts['b']}])"
    )
    wide = held is DType.F64
    per = 1 if wide else 32 // held.bits
    registers_of = {name: count // per for name, count in counts.items()}
    sums = row.size("c") * total.bits // (64 if wide else 32)
    places, number = [], 0
    for count in (sums, registers_of["a"], registers_of["b"]):
        places.append("{" + ", ".join(f"%{number + each}" for each in range(count)) + "}")
        number += count
    opcode = f"mma.sync.aligned.{row.shape}.row.col.{row.c}.{row.a}.{row.b}.{row.c}"
    inputs = [
        f'"d"({name}[{register}])' if wide else f'"r"({_packed(name, register, held)})'
        for name in "ab"
        for register in range(registers_of[name])
    ]
    packs = total.bits < 32
    words = ", ".join(f"w{each} = {_packed('c', each, total)}" for each in range(sums))
    lines = [f"unsigned {words};"] if packs else []
    names = [f'"+r"(w{each})' if packs else f'"+{_REGISTER[total]}"(c[{each}])' for each in range(sums)]
    lines += [
        f'asm volatile("{opcode} "',
        f'             "{places[0]}, {places[1]}, {places[2]}, {places[0]};"',
        *_listed("", names, ""),
        *_listed("", inputs, ");"),
    ]
    for each in range(sums if packs else 0):
        lines += _unpacked("c", each, total, f"w{each}")
    return _function(
        f"c += a * b of the warp's fragments: {row.m} x {row.k} and {row.k} x {row.n} {row.a}.", head, lines
    )


def _listed(head: str, items: Sequence[str], end: str) -> list[str]:
    """Return the operands of inline PTX, as many a line as fit."""
    lines, line = list[str](), f"             : {head}"
    for number, item in enumerate(items):
        piece = item + (end if number == len(items) - 1 else ",")
        if line.strip(" :") and len(line) + len(piece) > 104:
            lines.append(line.rstrip())
            line = " " * 15
        line += f"{piece} "
    return [*lines, line.rstrip()]


def _packed(array: str, register: int, dtype: DType) -> str:
    """Return the bits of a register of several elements."""
    per = 32 // dtype.bits
    if dtype.row.half is not None:
        low, high = (f"unsigned({dtype.row.half.bits}({array}[{per * register + each}]))" for each in range(2))
        return f"{low} | {high} << 16"
    if dtype is DType.F32:
        return f"__float_as_uint({array}[{register}])"
    if per == 1:
        return f"unsigned({array}[{register}])"
    unsigned = "unsigned char" if per == 4 else "unsigned short"
    parts = [f"unsigned(static_cast<{unsigned}>({array}[{per * register + each}]))" for each in range(per)]
    return " | ".join(part if not each else f"{part} << {dtype.bits * each}" for each, part in enumerate(parts))


def _unpacked(array: str, register: int, dtype: DType, word: str) -> list[str]:
    """Return the statements that take elements out of a register."""
    per = 32 // dtype.bits
    if dtype.row.half is not None:
        of = dtype.row.half.of_bits
        return [
            f"{array}[{2 * register}] = {of}({word} & 0xffffu);",
            f"{array}[{2 * register + 1}] = {of}({word} >> 16);",
        ]
    if dtype is DType.F32:
        return [f"{array}[{register}] = __uint_as_float({word});"]
    kind = C_TYPE[dtype]
    return [
        f"{array}[{per * register + each}] = static_cast<{kind}>({word}{f' >> {dtype.bits * each}' if each else ''});"
        for each in range(per)
    ]
