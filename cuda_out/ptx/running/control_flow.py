"""Where the ways of a kernel's control flow meet, and which registers are read behind a place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from cuda_out.ptx.instructions.table import written_and_read
from cuda_out.ptx.syntax import Address, Instruction, Kernel, names_of


class ControlFlow:
    """The instructions of a kernel as a graph; its end, behind the last of them, is where all ways end."""

    def __init__(self, kernel: Kernel, target: Callable[[Instruction], int]) -> None:
        self.code, end = kernel.instructions, len(kernel.instructions)
        self.after: list[tuple[int, ...]] = []
        for place, instruction in enumerate(self.code):
            onward = () if instruction.guard is None else (place + 1,)
            if instruction.op[0] == "bra":
                self.after.append((target(instruction), *onward))
            elif instruction.op[0] in ("ret", "exit", "trap"):
                self.after.append((end, *onward))
            else:
                self.after.append((place + 1,))
        self.after.append(())
        self.before: list[list[int]] = [[] for _ in self.after]
        for place, places in enumerate(self.after):
            for each in places:
                self.before[each].append(place)

    def meeting(self, place: int) -> int:
        """Return the first place that every way from a branch comes to: its immediate postdominator."""
        return self._postdominators[place]

    @cached_property
    def _postdominators(self) -> list[int]:
        """Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm (2001), on the reversed graph."""
        end = len(self.code)
        number, order = dict[int, int](), list[int]()
        waiting = [(end, iter(self.before[end]))]
        seen = {end}
        while waiting:
            place, more = waiting[-1]
            step = next((each for each in more if each not in seen), None)
            if step is None:
                number[place] = len(order)
                order.append(place)
                waiting.pop()
            else:
                seen.add(step)
                waiting.append((step, iter(self.before[step])))
        found, changed = {end: end}, True

        def together(a: int, b: int) -> int:
            while a != b:
                while number[a] < number[b]:
                    a = found[a]
                while number[b] < number[a]:
                    b = found[b]
            return a

        while changed:
            changed = False
            for place in reversed(order[:-1]):
                known = [each for each in self.after[place] if each in found]
                new = known[0]
                for each in known[1:]:
                    new = together(new, each)
                changed |= found.get(place) != new
                found[place] = new
        return [found.get(place, end) for place in range(end + 1)]

    def live(self, place: int) -> frozenset[str]:
        """Return the registers that may be read from a place on, before they are written again."""
        found = self._live[place]
        return frozenset(name for name, bit in self._names.items() if found >> bit & 1)

    @cached_property
    def _names(self) -> dict[str, int]:
        named = (name for each in self.code for part in (*each.operands, each.guard) for name in names_of(part))
        return {name: number for number, name in enumerate(dict.fromkeys(named))}

    @cached_property
    def _live(self) -> list[int]:
        def as_bits(names: list[str]) -> int:
            return sum({1 << self._names[name] for name in names})

        reads, keeps = [], []
        for each in self.code:
            written, read = written_and_read(each)
            read += [operand.base for operand in each.operands if isinstance(operand, Address)]
            guard = [] if each.guard is None else [each.guard.text]
            reads.append(as_bits(read + guard))
            keeps.append(-1 if guard else ~as_bits(written))
        found, waiting = [0] * len(self.after), list(range(len(self.code)))
        while waiting:
            place = waiting.pop()
            after = 0
            for onward in self.after[place]:
                after |= found[onward]
            now = reads[place] | after & keeps[place]
            if now != found[place]:
                found[place] = now
                waiting += self.before[place]
        return found
