"""match, redux, activemask and reductions over a block: what threads find out about each other."""

from __future__ import annotations

import numpy as np

from cuda_out.ptx.instructions.table import decode
from cuda_out.ptx.running.memory import Lanes
from cuda_out.ptx.running.registers import Register
from cuda_out.ptx.running.transfers import Transfers
from cuda_out.ptx.syntax import Instruction
from symbolic.ir.program import LANES


class Warps:
    """Runs instructions for all threads that have met at one."""

    def __init__(self, transfers: Transfers) -> None:
        self.transfers, self.registers, self.shape = transfers, transfers.registers, transfers.shape

    def active(self, instruction: Instruction, at: Lanes) -> None:
        """Give the lanes of a warp that are here: hardware may bring fewer together, and none that is not here."""
        lanes = np.bincount(self.shape.warp_base[at], 1 << at - self.shape.warp_base[at], self.shape.count)
        self._write(instruction, 0, lanes.astype(np.int64)[self.shape.warp_base[at]], at)

    def match(self, instruction: Instruction, at: Lanes) -> None:
        """Give the lanes of a mask that have a lane's value; with `all`, the mask where all have one, else none."""
        masks = self.transfers.agreed_mask(instruction, at)
        kind = instruction.op[-1]
        value = self.registers.read(instruction.operands[-2], kind, at)
        bits = self.registers.known(instruction, value, at, "a value that lanes compare")
        group = np.unique(self.shape.warp_base[at] << 32 | masks, return_inverse=True)[1].reshape(-1)
        alike = np.unique(np.stack([group.astype(np.uint64), bits], axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        lanes = 1 << at - self.shape.warp_base[at]
        have = np.bincount(alike, lanes).astype(np.int64)[alike]
        if "all" in instruction.op:
            every = have == np.bincount(group, lanes).astype(np.int64)[group]
            if len(instruction.operands) == 4:
                self._write(instruction, 1, every.astype(np.int64), at)
            have = np.where(every, have, 0)
        self._write(instruction, 0, have, at)

    def reduce(self, instruction: Instruction, at: Lanes) -> None:
        """Give all lanes of a mask what an operation makes of their values, one after the other."""
        masks, warp = self.transfers.agreed_mask(instruction, at), self.shape.warp_base[at]
        kind, operation = instruction.op[-1], decode(instruction.op[-2:])
        value = self.registers.read(instruction.operands[1], kind, at)
        group = np.unique(warp << 32 | masks, return_inverse=True)[1].reshape(-1)
        found: Register = np.zeros(len(at), np.uint64), np.zeros(len(at), np.int64)
        begun = np.zeros(len(at), np.bool_)
        for lane in range(LANES):
            giver = np.full(int(group.max()) + 1, -1, np.int64)
            here = np.flatnonzero(at - warp == lane)
            giver[group[here]] = here
            some = np.flatnonzero(giver[group] >= 0)
            more = tuple(part[giver[group[some]]] for part in value)
            joined = some[begun[some]]
            if len(joined):
                both = [tuple(part[joined] for part in found), tuple(part[begun[some]] for part in more)]
                new = self.registers.apply(operation, both, at[joined])
            for place, part in enumerate(found):
                first = ~begun[some]
                part[some[first]] = more[place][first]
                if len(joined):
                    part[joined] = new[place]
            begun[some] = True
        self.registers.write(instruction.operands[0], found, at)

    def count(self, instruction: Instruction, at: Lanes) -> None:
        """Give the threads of a block how many of them have a predicate, or whether all or any have it."""
        predicate = instruction.operands[-1]
        own = self.registers.known(instruction, self.registers.read(predicate, "pred", at), at, "a predicate")
        block = self.shape.block_of[at]
        yes, all_ = np.bincount(block, own != 0), np.bincount(block)
        found = yes if "popc" in instruction.op else yes == all_ if "and" in instruction.op else yes > 0
        self._write(instruction, 0, found.astype(np.int64)[block], at)

    def _write(self, instruction: Instruction, place: int, lanes: Lanes, at: Lanes) -> None:
        self.registers.write(instruction.operands[place], (lanes.astype(np.uint64), np.zeros(len(at), np.int64)), at)
