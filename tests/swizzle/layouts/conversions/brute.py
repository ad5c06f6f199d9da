"""An oracle for conversions: plain Python, one lane and one register after the other, on the cells themselves."""

from __future__ import annotations

from swizzle.layouts import Conversion
from swizzle.layouts.conversions.network import ExchangeNetwork, Input, LaneExchange, Mix, Transposition


def moved(network: ExchangeNetwork, registers: list[list[list[int]]]) -> list[list[list[int]]]:
    """Run a network; `registers[lane][word]` is what lies at each place of a word."""
    lanes = len(registers)
    values: list[list[list[int]]] = []
    for node in network.nodes:
        match node:
            case Input(word):
                values.append([registers[lane][word] for lane in range(lanes)])
            case LaneExchange(source, way):
                values.append([values[source][way[lane]] for lane in range(lanes)])
            case Mix(first, second, picks):
                both = [values[first][lane] + values[second][lane] for lane in range(lanes)]
                values.append([[both[lane][p] for p in picks[lane]] for lane in range(lanes)])
            case Transposition(source):
                matrix = [[cell for word in values[source][4 * row : 4 * row + 4] for cell in word] for row in range(8)]
                values.append([[matrix[2 * (lane % 4) + p][lane // 4] for p in (0, 1)] for lane in range(lanes)])
    return [[values[n][lane] for n in network.outputs] for lane in range(lanes)]


def lands(conversion: Conversion) -> bool:
    """Say whether every cell lands where the target says."""
    source, target = conversion.source, conversion.target
    if conversion.network is None:
        assert conversion.shared is not None
        return conversion.shared.gives(source, target)
    network, halves = conversion.network, max(1, conversion.bits // 32)
    for warp in range(source.warps):
        registers = []
        for lane in range(32):
            slots = [(cell, half) for cell in source.cells[warp, lane].tolist() for half in range(halves)]
            numbers = [cell * halves + half if cell >= 0 else -1 for cell, half in slots]
            numbers += [-1] * (-len(numbers) % network.per)
            registers.append([numbers[k : k + network.per] for k in range(0, len(numbers), network.per)])
        after = moved(network, registers)
        for lane in range(32):
            held = [cell for word in after[lane] for cell in word]
            for slot, cell in enumerate(target.cells[warp, lane].tolist()):
                for half in range(halves):
                    if cell >= 0 and held[slot * halves + half] != cell * halves + half:
                        return False
    return True
