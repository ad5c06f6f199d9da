"""Which registers of a fragment hold another part of a matrix than a product takes there: what is most often exchanged.

A fragment of 8 x 8 parts is looked at where a product runs, in the first warp. If its parts are those of a tile of an
input, in another order, it is said which part is where, and where it belongs.
"""

from __future__ import annotations

from typing import TypeAlias

from swizzle.language.specs.specification import symbolic_inputs
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.terms import Terms
from symbolic.ir.index import unflattened
from symbolic.ir.matrices import PRODUCTS, WARP, MatrixProduct
from symbolic.ir.program import Load, Program, WarpInstruction
from symbolic.machine.machine import Machine
from symbolic.machine.memory import Memory
from symbolic.values.vector import Deferred, Vector

Corner: TypeAlias = tuple[int, int]


def misplaced_parts(program: Program, terms: Terms) -> list[str]:
    """Return a line for each part of the first fragment that is in the wrong registers; none where none is seen."""
    looking = _Looking(program, terms)
    looking.run()
    return looking.said


class _Looking(Machine):
    """The machine, looking at the factors of each product before it runs."""

    def __init__(self, program: Program, terms: Terms) -> None:
        super().__init__(program, Canonical(terms), symbolic_inputs(program, terms))
        self.terms, self.said = terms, list[str]()
        self.shapes = {parameter.name: parameter.shape for parameter in program.parameters}

    def _together(self, node: WarpInstruction, mask: Vector) -> None:
        if isinstance(node.row, MatrixProduct) and not self.said and PRODUCTS[node.row.a].packed == 1:
            for operand, places in zip(node.operands, (node.row.places("a"), node.row.places("b")), strict=False):
                assert isinstance(operand, Load)
                self._look(node.row, operand, places, mask)
        super()._together(node, mask)

    def _look(self, row: MatrixProduct, operand: Load, places: list[tuple[list[int], list[int]]], mask: Vector) -> None:
        memory = self.memories[operand.array]
        first = self.arrays.offset(operand, memory, self._indices(operand, mask), mask)
        per = max(1, 32 // PRODUCTS[row.a].bits)
        parts = [range(start, start + per) for start in range(0, len(places), per)]
        found: list[tuple[str, Corner]] = []
        for turned in (False, True):
            corners = [self._corner(memory, first, part, places, turned) for part in parts]
            if any(corner is None for corner in corners):
                continue
            found = [corner for corner in corners if corner is not None]
            wanted = [_at(places, part[0], turned) for part in parts]
            if len({name for name, _ in found}) == 1:
                own = [_at(places, number, turned, lane) for number in parts[0] for lane in range(WARP)]
                size = len({row for row, _ in own}), len({column for _, column in own})
                self._say(operand, found, wanted, size)
            return

    def _corner(
        self, memory: Memory, first: Vector, part: range, places: list[tuple[list[int], list[int]]], turned: bool
    ) -> tuple[str, Corner] | None:
        """Return the input, and the element of it at which the part of a matrix begins that some registers hold."""
        corners = set()
        assert not isinstance(first, Deferred), "a kernel without holes leaves nothing open"
        for number in part:
            for lane in range(WARP):
                term = int(memory.data[memory.base[lane] + first[lane] + number])
                op, arguments = self.terms.nodes[term]
                if op != "atom" or len(self.shapes[arguments[0]]) != 2:
                    return None
                row, column = unflattened(self.shapes[arguments[0]], arguments[1])
                own, start = _at(places, number, turned, lane), _at(places, part[0], turned)
                corners.add((arguments[0], (row - own[0] + start[0], column - own[1] + start[1])))
        return corners.pop() if len(corners) == 1 else None

    def _say(self, operand: Load, found: list[tuple[str, Corner]], wanted: list[Corner], size: Corner) -> None:
        corners = [corner for _, corner in found]
        low, left = (min(each[axis] for each in corners) - min(each[axis] for each in wanted) for axis in (0, 1))
        right = [(row + low, column + left) for row, column in wanted]
        if corners == right or sorted(corners) != sorted(right):
            return
        per = size[0] * size[1] // WARP
        for number, (corner, belongs) in enumerate(zip(corners, right, strict=True)):
            if corner != belongs:
                held = f"{_registers(operand.array, number, per)} hold {_part(corner, size)} of {found[number][0]}"
                self.said.append(f"line {operand.place.line}: {held}; they belong to {_part(belongs, size)}")


def _at(places: list[tuple[list[int], list[int]]], number: int, turned: bool, lane: int = 0) -> Corner:
    """Return the row and the column of a lane's element; `turned`: the input has columns for rows."""
    rows, columns = places[number]
    return (columns[lane], rows[lane]) if turned else (rows[lane], columns[lane])


def _registers(array: str, part: int, per: int) -> str:
    return f"{array}[{part * per}]" if per == 1 else f"{array}[{part * per}..{part * per + per - 1}]"


def _part(corner: Corner, size: Corner) -> str:
    (row, column), (rows, columns) = corner, size
    return f"rows {row}-{row + rows - 1}, columns {column}-{column + columns - 1}"
