"""How many blocks of a kernel a multiprocessor holds at once: NVIDIA's occupancy calculator, for our tables."""

from __future__ import annotations

from typing import Final

from cuda_out.devices.device import Device

WARP: Final = 32
REGISTER_UNIT: Final = 256
"""A warp's registers come in units of so many."""
SHARED_UNIT: Final = 128
RESERVED_SHARED: Final = 1024
"""Bytes of shared memory that each block takes beside its own, from compute capability 8.0 on."""


def resident_blocks(device: Device, threads: int, registers: int, shared: int) -> int:
    """Return how many blocks are resident at most, by their threads, registers a thread, and bytes of shared memory."""
    warps = -(-threads // WARP)
    most = min(device.blocks_per_multiprocessor, device.warps_per_multiprocessor // warps)
    if registers:
        of_part = device.registers_per_multiprocessor // device.schedulers
        of_warp = -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
        most = min(most, device.schedulers * (of_part // of_warp) // warps)
    reserved = RESERVED_SHARED if int(device.compute_capability.partition(".")[0]) >= 8 else 0
    taken = -(-shared // SHARED_UNIT) * SHARED_UNIT + reserved
    return min(most, device.shared_per_multiprocessor // taken) if taken else most
