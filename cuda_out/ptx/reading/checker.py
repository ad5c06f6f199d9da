"""Whether instructions have the operands that their forms say.

An instruction in no form, or whose registers have other types, is refused: what would be ignored might change what it
does.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from cuda_out.ptx.instructions.operation import InstructionForm
from cuda_out.ptx.instructions.table import form
from cuda_out.ptx.kinds import is_float, record_size, width
from cuda_out.ptx.syntax import (
    SPECIAL,
    Address,
    Group,
    Immediate,
    Instruction,
    Name,
    NotInterpreted,
    Operand,
)


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
        whys = [self._fragment(operand, literals=number == 3) for number, operand in enumerate(operands)]
        return next((why for why in whys if why), "")

    def _fragment(self, operand: Operand, *, literals: bool = False) -> str:
        """Return why an operand is no group of registers, of 32 or 64 bits, '' for one that is."""
        if not isinstance(operand, Group):
            return "no fragment"
        for item in operand.items:
            kind = self.registers.get(item.text, "") if isinstance(item, Name) else ""
            if isinstance(item, Immediate) and literals:
                continue
            if kind in ("", "pred") or width(kind) not in (32, 64):
                return f"{item} in a fragment"
        return ""

    def _operand(self, found: InstructionForm, says: str, operand: Operand) -> str:
        written = says[0] == "="
        match says.lstrip("="):
            case "loaded" | "stored" | "moved" as how:
                return self._moved(found, how, operand, written=written)
            case "in_shared" | "in_global" as where:
                return self._address(replace(found, space=where[3:]), operand, written=False)
            case "pieces":
                if not isinstance(operand, Group) or len(operand.items) != found.count:
                    return f"not {found.count} registers"
                whys = [self._register("b32", item) for item in operand.items]
                return next((why for why in whys if why), "")
            case "fragment":
                return self._fragment(operand)
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
        kind = found.type_of(says)
        return self._register(kind, operand) if written else self._read(kind, operand, most=64 if says == "s" else 0)

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


def _in_range(bits: int, size: int) -> bool:
    """Tell whether a literal, 64 bits, is a signed or an unsigned number of a size."""
    return bits < 1 << size or bits >= (1 << 64) - (1 << size - 1)
