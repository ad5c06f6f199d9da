"""Scan networks: from an example at one size to loops that are a scan at every size, with proofs (docs/scans.md)."""

from swizzle.scans.algorithm import Algorithm
from swizzle.scans.discovery import Module, Recursion, discover, modules, recursions
from swizzle.scans.kernel import ScanKernel
from swizzle.scans.network import Network, network
from swizzle.scans.proof import Proof
from swizzle.scans.scan_sketch import down, identity, source, up, when
from swizzle.scans.solving import Scan, ScanSketch, sketch, solve

__all__ = [
    "Algorithm",
    "Module",
    "Network",
    "Proof",
    "Recursion",
    "Scan",
    "ScanKernel",
    "ScanSketch",
    "discover",
    "down",
    "identity",
    "modules",
    "network",
    "recursions",
    "sketch",
    "solve",
    "source",
    "up",
    "when",
]
