"""Which instructions of PTX are read: their modifiers in order, and the types of their operands.

A form is a pattern of the whole name and the operands in short: `=t` is a register that is written, `t` one that is
read, or a literal. An instruction in no form, or whose registers have other types, is refused: what would be ignored
might change what it does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.ptx.kinds import KINDS, is_float, record_size, width
from cuda_out.ptx.syntax import Address, Group, Immediate, Instruction, Name, NotInterpreted, Operand

_SPACE: Final = r"(?:\.(?P<space>global|shared|local|const))?"
_LEVELS: Final = r"(?:\.L1::\w+)?(?:\.L2::evict_\w+)?(?P<policy>\.L2::cache_hint)?(?:\.L2::(?:64|128|256)B)?"
"""What a cache is told, which changes no value."""
_ATOMIC: Final = r"(?:\.(?:relaxed|acquire|release|acq_rel))?(?:\.(?:cta|gpu|sys))?(?:\.(?P<space>global|shared))?"
_COPY: Final = "in_shared in_global literal|in_shared in_global literal b32"
_MATRIX: Final = (
    r"\.sync\.aligned(?=(?:\.\w+)*\.m8n8\b)(?:\.m8n8)?(?P<vector>\.x[124])(?:\.trans|\.m8n8)*"
    r"\.shared(?:::cta)?\.(?P<t>b16)"
)
"""ptxas takes the shape and the number of matrices in any order, CUTLASS's among them."""
_VALUE: Final = r"(?P<vector>\.v2|\.v4)?\.(?P<t>[bus](?:8|16|32|64)|f32|f64)"
_LOADED: Final = "=loaded address|=loaded address b64"
_STORED: Final = "address stored|address stored b64"
_SIGNED: Final = "eq|ne|lt|le|gt|ge"
_UNORDERED: Final = "|equ|neu|ltu|leu|gtu|geu|num|nan"
_ROUND: Final = "(?:rni|rzi|rmi|rpi)"

_FORMS: Final = (
    # Arithmetic; .ftz and approximations count as the true value, as floats are real numbers.
    (r"(?:add|sub)\.(?P<t>[us](?:16|32|64))", "=t t t"),
    (r"(?:add|sub|mul)(?:\.rn|\.rz)?(?:\.ftz)?\.(?P<t>f32)", "=t t t"),
    (r"(?:add|sub|mul)(?:\.rn)?\.(?P<t>f64)", "=t t t"),
    (r"(?:add|sub|mul)(?:\.rn)?(?:\.ftz)?\.(?P<t>f16)", "=t t t"),
    (r"mul\.(?:lo|hi)\.(?P<t>[us](?:16|32|64))", "=t t t"),
    (r"mul\.wide\.(?P<t>[us](?:16|32))", "=w t t"),
    (r"mad\.lo\.(?P<t>[us](?:16|32|64))", "=t t t t"),
    (r"mad\.hi\.(?P<t>[us](?:16|32|64))", "=t t t t"),
    (r"mad\.wide\.(?P<t>[us](?:16|32))", "=w t t w"),
    (r"fma\.(?:rn|rz|rm|rp)(?:\.ftz)?\.(?P<t>f32)", "=t t t t"),
    (r"fma\.rn\.(?P<t>f64)", "=t t t t"),
    (r"fma\.rn(?:\.ftz)?\.(?P<t>f16)", "=t t t t"),
    (r"(?:neg|abs)\.(?P<t>s(?:16|32|64)|f64)", "=t t"),
    (r"(?:neg|abs)(?:\.ftz)?\.(?P<t>f16|f32)", "=t t"),
    (r"(?:min|max)\.(?P<t>[us](?:16|32|64)|f64)", "=t t t"),
    (r"(?:min|max)(?:\.ftz)?\.(?P<t>f16|f32)", "=t t t"),
    (r"(?:div|rem)\.(?P<t>[us](?:16|32|64))", "=t t t"),
    (r"div\.(?:approx|full|rn)(?:\.ftz)?\.(?P<t>f32)", "=t t t"),
    (r"div\.rn\.(?P<t>f64)", "=t t t"),
    (r"(?:rcp|sqrt)\.(?:approx|rn)(?:\.ftz)?\.(?P<t>f32)", "=t t"),
    (r"(?:rcp|sqrt)\.rn\.(?P<t>f64)", "=t t"),
    (r"(?:ex2|lg2|sin|cos|rsqrt)\.approx(?:\.ftz)?\.(?P<t>f32)", "=t t"),
    (r"tanh\.approx\.(?P<t>f32)", "=t t"),
    (r"cvt\.rna\.(?P<t>tf32)\.(?P<s>f32)", "=b32 s"),
    (r"cvt\.rn(?:\.relu)?\.(?P<t>f16x2|bf16x2)\.(?P<s>f32)", "=b32 s s"),
    (r"cvt\.rn(?:\.relu)?\.(?P<t>bf16)\.(?P<s>f32)", "=b16 s"),
    (r"(?:add|sub|mul|min|max)(?:\.rn)?(?:\.ftz)?\.(?P<t>f16x2|bf16x2)", "=b32 b32 b32"),
    (r"fma\.rn(?:\.ftz)?(?:\.relu)?\.(?P<t>f16x2|bf16x2)", "=b32 b32 b32 b32"),
    (r"(?:add|sub|mul|min|max)(?:\.rn)?\.(?P<t>bf16)", "=b16 b16 b16"),
    (r"fma\.rn(?:\.relu)?\.(?P<t>bf16)", "=b16 b16 b16 b16"),
    (r"copysign\.(?P<t>f32|f64)", "=t t t"),
    # Bits.
    (r"(?:and|or|xor)\.(?P<t>pred|b16|b32|b64)", "=t t t"),
    (r"not\.(?P<t>pred|b16|b32|b64)", "=t t"),
    (r"shl\.(?P<t>b(?:16|32|64))", "=t t u32"),
    (r"shr\.(?P<t>[bus](?:16|32|64))", "=t t u32"),
    (r"bfe\.(?P<t>[us](?:32|64))", "=t t u32 u32"),
    (r"bfi\.(?P<t>b(?:32|64))", "=t t t u32 u32"),
    (r"lop3\.(?P<t>b32)", "=t t t t literal"),
    (r"prmt\.(?P<t>b32)", "=t t t u32"),
    (r"dp4a\.(?P<t>[us]32)\.(?P<s>[us]32)", "=s32 t s s32"),
    (r"dp2a\.(?:lo|hi)\.(?P<t>[us]32)\.(?P<s>[us]32)", "=s32 t s s32"),
    (r"shf\.[lr]\.(?:wrap|clamp)\.(?P<t>b32)", "=t t t u32"),
    (r"(?:popc|clz)\.(?P<t>b(?:32|64))", "=u32 t"),
    (r"bfind(?:\.shiftamt)?\.(?P<t>u(?:32|64))", "=u32 t"),
    (r"brev\.(?P<t>b(?:32|64))", "=t t"),
    # Comparisons, choices, conversions, moves.
    (r"setp\.(?:eq|ne)\.(?P<t>b(?:16|32|64))", "=pred t t"),
    (rf"setp\.(?:{_SIGNED})\.(?P<t>s(?:16|32|64))", "=pred t t"),
    (rf"setp\.(?:{_SIGNED}|lo|ls|hi|hs)\.(?P<t>u(?:16|32|64))", "=pred t t"),
    (rf"setp\.(?:{_SIGNED}{_UNORDERED})(?:\.ftz)?\.(?P<t>f16|f32)", "=pred t t"),
    (rf"setp\.(?:{_SIGNED}{_UNORDERED})\.(?P<t>f64)", "=pred t t"),
    (r"setp\.(?:eq|ne)\.(?:and|or|xor)\.(?P<t>b(?:16|32|64))", "=pred t t condition"),
    (rf"setp\.(?:{_SIGNED})\.(?:and|or|xor)\.(?P<t>s(?:16|32|64))", "=pred t t condition"),
    (rf"setp\.(?:{_SIGNED}|lo|ls|hi|hs)\.(?:and|or|xor)\.(?P<t>u(?:16|32|64))", "=pred t t condition"),
    (rf"setp\.(?:{_SIGNED}{_UNORDERED})\.(?:and|or|xor)(?:\.ftz)?\.(?P<t>f16|f32)", "=pred t t condition"),
    (rf"setp\.(?:{_SIGNED}{_UNORDERED})\.(?:and|or|xor)\.(?P<t>f64)", "=pred t t condition"),
    (r"selp\.(?P<t>[bus](?:16|32|64)|f32|f64)", "=t t t pred"),
    (r"cvt\.(?P<t>[us](?:8|16|32|64))\.(?P<s>[us](?:8|16|32|64))", "=wider s"),
    (rf"cvt\.{_ROUND}(?:\.ftz)?\.(?P<t>[us](?:16|32|64))\.(?P<s>f(?:16|32))", "=t s"),
    (rf"cvt\.{_ROUND}\.(?P<t>[us](?:16|32|64))\.(?P<s>f64)", "=t s"),
    (r"cvt\.rn\.(?P<t>f(?:16|32|64))\.(?P<s>[us](?:8|16|32|64))", "=t s"),
    (rf"cvt\.{_ROUND}(?:\.ftz)?\.(?P<t>f32)\.(?P<s>f32)", "=t s"),
    (r"cvt\.sat(?:\.ftz)?\.(?P<t>f32)\.(?P<s>f32)", "=t s"),
    (rf"cvt\.{_ROUND}\.(?P<t>f64)\.(?P<s>f64)", "=t s"),
    (rf"cvt\.{_ROUND}\.(?P<t>f16)\.(?P<s>f16)", "=t s"),
    (r"cvt(?:\.ftz)?\.(?P<t>f32)\.(?P<s>f16)", "=t s"),
    (r"cvt(?:\.ftz)?\.(?P<t>f64)\.(?P<s>f32)", "=t s"),
    (r"cvt\.(?P<t>f64)\.(?P<s>f16)", "=t s"),
    (r"cvt\.rn(?:\.ftz)?\.(?P<t>f32)\.(?P<s>f64)", "=t s"),
    (r"cvt\.rn\.(?P<t>f16)\.(?P<s>f(?:32|64))", "=t s"),
    (r"mov\.(?P<t>pred|[bus](?:16|32|64)|f32|f64)", "=moved moved"),
    (r"cvta\.(?P<space>global|shared|local|const)\.(?P<t>u64)", "=t variable"),
    (r"cvta\.to\.(?P<space>global|shared|local|const)\.(?P<t>u64)", "=t t"),
    # Memory and other threads.
    (rf"ld(?:\.weak|\.volatile)?{_SPACE}(?:\.c[agsv]|\.lu)?{_LEVELS}{_VALUE}", _LOADED),
    (rf"ld\.(?P<space>global)(?:\.c[ags])?\.nc{_LEVELS}{_VALUE}", _LOADED),
    (r"ld\.(?P<space>param)(?P<vector>\.v2|\.v4)?\.(?P<t>[bus](?:8|16|32|64)|f32|f64)", "=loaded address"),
    (rf"st(?:\.weak|\.volatile)?{_SPACE}(?:\.c[gs]|\.w[bt])?{_LEVELS}{_VALUE}", _STORED),
    (r"st\.(?P<space>param)\.(?P<t>[bus](?:8|16|32|64)|f32|f64)", "address stored"),
    (rf"atom{_ATOMIC}\.add\.(?P<t>[us](?:32|64)|f32|f64)", "=t address t"),
    (rf"atom{_ATOMIC}\.(?:min|max)\.(?P<t>[us](?:32|64))", "=t address t"),
    (rf"atom{_ATOMIC}\.(?:and|or|xor)\.(?P<t>b(?:32|64))", "=t address t"),
    (rf"atom{_ATOMIC}\.cas\.(?P<t>b(?:32|64))", "=t address t t"),
    (rf"atom{_ATOMIC}\.exch\.(?P<t>b(?:32|64))", "=t address t"),
    (rf"atom{_ATOMIC}\.(?:inc|dec)\.(?P<t>u32)", "=t address t"),
    (rf"red{_ATOMIC}\.(?:inc|dec)\.(?P<t>u32)", "address t"),
    (rf"red{_ATOMIC}\.add\.(?P<t>[us](?:32|64)|f32|f64)", "address t"),
    (rf"red{_ATOMIC}\.(?:min|max)\.(?P<t>[us](?:32|64))", "address t"),
    (rf"red{_ATOMIC}\.(?:and|or|xor)\.(?P<t>b(?:32|64))", "address t"),
    (r"shfl\.sync\.(?:up|down|bfly|idx)\.(?P<t>b32)", "=t t u32 u32 u32|=t =pred t u32 u32 u32"),
    (r"vote\.sync\.ballot\.(?P<t>b32)", "=t condition u32"),
    (r"vote\.sync\.(?:all|any|uni)\.(?P<t>pred)", "=t condition u32"),
    (r"match\.any\.sync\.(?P<t>b(?:32|64))", "=b32 t u32"),
    (r"match\.all\.sync\.(?P<t>b(?:32|64))", "=b32 t u32|=b32 =pred t u32"),
    (r"redux\.sync\.(?:add|min|max)\.(?P<t>[us]32)", "=t t u32"),
    (r"redux\.sync\.(?:and|or|xor)\.(?P<t>b32)", "=t t u32"),
    (r"activemask\.(?P<t>b32)", "=t"),
    (r"(?:bar|barrier)(?:\.cta)?\.sync(?:\.aligned)?", "u32|u32 u32"),
    (r"(?:bar|barrier)(?:\.cta)?\.red\.(?:and|or)(?:\.aligned)?\.pred", "=pred u32 condition|=pred u32 u32 condition"),
    (r"(?:bar|barrier)(?:\.cta)?\.red\.popc(?:\.aligned)?\.u32", "=u32 u32 condition|=u32 u32 u32 condition"),
    (r"bar\.warp\.sync", "u32"),
    (r"cp\.async\.c[ag]\.shared(?:::cta)?\.global(?:\.L2::(?:64|128|256)B)?", _COPY),
    (r"cp\.async\.(?:commit_group|wait_all)", ""),
    (r"cp\.async\.wait_group", "literal"),
    (rf"ldmatrix{_MATRIX}", "=pieces in_shared"),
    (rf"stmatrix{_MATRIX}", "in_shared pieces"),
    (r"movmatrix\.sync\.aligned\.m8n8\.trans\.(?P<t>b16)", "=b32 b32"),
    (r"mma\.sync\.aligned\.m\d+n8k\d+\.row\.col(?:\.satfinite)?\.(?P<t>\w+)\.\w+\.\w+\.\w+", "fragments"),
    (r"membar\.(?:cta|gl|sys)", ""),
    (r"fence\.(?:sc|acq_rel)\.(?:cta|gpu|sys)", ""),
    (r"nanosleep\.u32", "u32"),
    (r"prefetchu?\.(?:global|local)?\.?L[12](?:::evict_\w+)?", "address"),
    # Control.
    (r"bra(?:\.uni)?", "label"),
    (r"ret(?:\.uni)?", ""),
    (r"exit|trap", ""),
    (r"call(?:\.uni)?", "call"),
)  # fmt: skip
_COMPILED: Final = tuple((re.compile(pattern), operands) for pattern, operands in _FORMS)
LANE_MASKS: Final = ("eq", "le", "lt", "ge", "gt")
SPECIAL: Final = frozenset(
    (
        "%laneid",
        *(f"%lanemask_{which}" for which in LANE_MASKS),
        "WARP_SZ",
        "%dynamic_smem_size",
        *(f"{name}.{axis}" for name in ("%tid", "%ntid", "%ctaid", "%nctaid") for axis in "xyz"),
    )
)
"""The special registers that are known: 32 bits each, and read by `mov` only."""


class InstructionForm(Struct, frozen=True):
    """What an instruction of some name takes: its type, that of a conversion's source, the state space (None where it
    is generic or there is none), how many elements a vector access has, and the operands, in one of several ways."""

    kind: str
    source: str
    space: str | None
    count: int
    ways: tuple[tuple[str, ...], ...]


@cache
def form(op: tuple[str, ...]) -> InstructionForm | None:
    """Return the form of an instruction's name, None for one that is not known."""
    name = ".".join(op)
    for pattern, operands in _COMPILED:
        if found := pattern.fullmatch(name):
            said = found.groupdict()
            count = int((said.get("vector") or ".v1")[2:])
            ways = tuple(tuple(way.split()) for way in operands.split("|"))
            return InstructionForm(said.get("t") or "", said.get("s") or "", said.get("space"), count, ways)
    return None


class Checker:
    """Holds instructions to their forms; `registers`, `variables` (to their spaces) and `parameters` (to their types)
    are what their operands may name. The tables may grow; of the parameters, those that are there at first are read."""

    def __init__(
        self,
        registers: Mapping[str, str],
        variables: Mapping[str, str],
        parameters: Mapping[str, str],
    ) -> None:
        self.registers, self.variables, self.parameters = registers, variables, parameters
        self.given = frozenset(parameters)

    def check(self, instruction: Instruction) -> None:
        """Raise NotInterpreted for an instruction in no form, or with operands of other types."""
        found = form(instruction.op)
        if found is None:
            raise NotInterpreted(str(instruction))
        if found.ways == (("call",),):  # its operands are held to the function when it runs
            return
        if found.ways == (("fragments",),):
            if wrong := self._fragments(instruction.operands):
                raise NotInterpreted(f"{instruction} ({wrong})")
            return
        why = [self._mismatch(found, way, instruction.operands) for way in found.ways]
        if all(why):
            raise NotInterpreted(f"{instruction} ({why[0]})")

    def _mismatch(self, found: InstructionForm, way: tuple[str, ...], operands: tuple[Operand, ...]) -> str:
        """Return which operand does not fit and why, '' where all do."""
        if len(way) != len(operands):
            return f"{len(operands)} operands, not {len(way)}"
        groups = [isinstance(operand, Group) for operand in operands]
        if sum(groups) > 1:
            return "two groups of operands"
        for says, operand in zip(way, operands, strict=True):
            if why := self._operand(found, says, operand):
                return why
        return ""

    def _fragments(self, operands: tuple[Operand, ...]) -> str:
        """Return why operands are no fragments of matrices: four groups of registers, of 32 or 64 bits."""
        if len(operands) != 4 or not all(isinstance(operand, Group) for operand in operands):
            return "not four fragments"
        for number, operand in enumerate(operands):
            for item in operand.items if isinstance(operand, Group) else ():
                kind = self.registers.get(item.text, "") if isinstance(item, Name) else ""
                if isinstance(item, Immediate) and number == 3:
                    continue
                if kind in ("", "pred") or width(kind) not in (32, 64):
                    return f"{item} in a fragment"
        return ""

    def _operand(self, found: InstructionForm, says: str, operand: Operand) -> str:
        kind = {"t": found.kind, "s": found.source, "w": _doubled(found.kind)}.get(says.lstrip("="), says.lstrip("="))
        if kind in ("loaded", "stored", "moved"):
            return self._moved(found, kind, operand, written=says[0] == "=")
        match kind:
            case "in_shared" | "in_global":
                return self._address(replace(found, space=kind[3:]), operand, written=False)
            case "pieces":
                if not isinstance(operand, Group) or len(operand.items) != found.count:
                    return f"not {found.count} registers"
                whys = [self._register("b32", item) for item in operand.items]
                return next((why for why in whys if why), "")
            case "address":
                return self._address(found, operand, written="stored" in found.ways[0])
            case "label":
                return "" if isinstance(operand, Name) and not (operand.negated or operand.offset) else "no label"
            case "zero":
                return "" if operand == Immediate(0, 0) else "a barrier other than 0"
            case "literal":
                return "" if isinstance(operand, Immediate) and operand.width == 0 else "no literal"
            case "condition":
                bare = Name(operand.text) if isinstance(operand, Name) and not operand.offset else operand
                return self._register("pred", bare)
            case "wider":
                return self._register(found.kind, operand, most=64)
            case "variable":
                return "" if self._is_variable(operand, found.space) else self._read("u64", operand)
        return (
            self._register(kind, operand)
            if says[0] == "="
            else self._read(kind, operand, most=64 if says == "s" else 0)
        )

    def _register(self, kind: str, operand: Operand, *, most: int = 0) -> str:
        """Return why an operand is no register of a type, or of one of more bits, up to `most`; '' for one that is."""
        if not isinstance(operand, Name) or operand.negated or operand.offset or operand.text not in self.registers:
            return f"no register where {kind} is wanted" if not isinstance(operand, Name) else (
                f"{operand.text}, which is no register that was declared"
            )  # fmt: skip
        has = self.registers[operand.text]
        if "pred" in (has, kind):
            return "" if has == kind else f"{operand.text} is .{has}, not .{kind}"
        same = is_float(has) == is_float(kind) or "b" in (has[0], kind[0])
        fits = width(has) == width(kind) or (width(kind) < width(has) <= most and not (is_float(has) or is_float(kind)))
        return "" if same and fits else f"{operand.text} is .{has}, not .{kind}"

    def _read(self, kind: str, operand: Operand, *, most: int = 0) -> str:
        if not isinstance(operand, Immediate):
            return self._register(kind, operand, most=most)
        if kind == "pred":
            return "a literal where a predicate is wanted"
        if operand.width:
            fits = operand.width == width(kind) and kind[0] in "fb"
            return "" if fits else f"a float of {operand.width} bits where {kind} is wanted"
        if is_float(kind):
            return f"the integer {operand.bits} where {kind} is wanted"
        return "" if _in_range(operand.bits, width(kind)) else f"a literal of more bits than {kind}"

    def _is_variable(self, operand: Operand, space: str | None) -> bool:
        return isinstance(operand, Name) and not operand.negated and self.variables.get(operand.text) == space

    def _moved(self, found: InstructionForm, how: str, operand: Operand, *, written: bool) -> str:
        """Return why an operand is none of a move, load or store of the form's type."""
        kind, count = found.kind, found.count
        if how == "moved":
            if isinstance(operand, Group):
                count = len(operand.items)
                if kind[0] != "b" or (width(kind), count) not in ((32, 2), (64, 2), (64, 4)):
                    return f"{count} pieces of {kind}"
                kind = f"b{width(kind) // count}"
            elif isinstance(operand, Name) and not written:
                if operand.text in SPECIAL:
                    plain = not operand.negated and not operand.offset
                    return "" if plain and kind in ("u32", "b32") else f"{operand.text} where .{kind} is wanted"
                if operand.text in self.variables:
                    narrow = self.variables[operand.text] == "shared" and kind in ("u32", "b32")
                    fits = (kind in ("u64", "b64") or narrow) and not operand.negated
                    return "" if fits else f"the address {operand.text} as .{kind}"
            elif kind == "pred" and isinstance(operand, Immediate) and operand.width == 0:
                return "" if operand.bits in (0, 1, (1 << 64) - 1) else "a literal that is no predicate"
        elif isinstance(operand, Group) != (count > 1):
            return f"{count} elements"
        items = operand.items if isinstance(operand, Group) else (operand,)
        if len(items) != count and (how != "moved" or count != 1):
            return f"{len(items)} elements, not {count}"
        most = 0 if how == "moved" else 64
        for item in items:
            if written and isinstance(operand, Group) and item == Name("_"):
                continue
            if isinstance(item, Immediate):
                why = "a literal is written" if written else self._read(kind, item)
            else:
                why = self._register(kind, item, most=most)
            if why:
                return why
        if len({self.registers[item.text] for item in items if isinstance(item, Name) and item != Name("_")}) > 1:
            return "elements of several types"
        return ""

    def _address(self, found: InstructionForm, operand: Operand, *, written: bool) -> str:
        if not isinstance(operand, Address):
            return "no address"
        base, space = operand.base, found.space
        if space == "param":
            if base not in self.parameters:
                return f"{base}, which is no parameter"
            if written and base in self.given:
                return f"the parameter {base} is written"
            has = self.parameters[base]
            if size := record_size(has):
                inside = 0 <= operand.offset <= size - width(found.kind) // 8 * found.count
                return "" if inside else f"what is not in the parameter {base}"
            half = width(has) == 64 and width(found.kind) == 32 and not is_float(found.kind)  # of a number: `Transfers`
            fits = (half or width(has) == width(found.kind)) and operand.offset == 0
            return "" if fits else f"a part of the parameter {base}, which is .{has}"
        if base in self.variables:
            fits = self.variables[base] == space
            return "" if fits else f"{base} is in .{self.variables[base]}"
        if base not in self.registers:
            return f"{base}, which is no register that was declared"
        kind = "u32" if space == "shared" and width(self.registers[base]) == 32 else "u64"
        return self._register(kind, Name(base))


def _doubled(kind: str) -> str:
    return f"{kind[0]}{2 * width(kind)}" if kind in KINDS and kind != "pred" else kind


def _in_range(bits: int, size: int) -> bool:
    """Tell whether a literal, 64 bits, is a signed or an unsigned number of a size."""
    return bits < 1 << size or bits >= (1 << 64) - (1 << size - 1)
