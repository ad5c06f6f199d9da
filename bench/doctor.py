"""`swizzle doctor` on the kernels of tests/strangers/doctor/kernels: turns, processor time, and mutants of the mends.

    python bench/doctor.py [--mutants]

Times are of the processor, children included: of a whole process first, then of the diagnosis alone in this one.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

from tests.swizzle.strangers.doctor.examined import KERNELS, doctor
from tests.swizzle.strangers.doctor.mutants import Patient, escape_is_refused, of_patch, with_escapes


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mutants", action="store_true", help="try all mutants of all mends: minutes")
    arguments = parser.parse_args()
    print(f"{'kernel':12} {'turns':>7} {'mended':>7} {'process':>8} {'alone':>7}")
    files = sorted(set(KERNELS.glob("*.cu")) - {KERNELS / name for name in ("several.cu", "strangers.cu")})
    for path in files:
        begun = children()
        subprocess.run([sys.executable, "-m", "swizzle", "doctor", str(path)], check=True, capture_output=True)
        whole = children() - begun
        begun = time.process_time() + children()
        found = doctor(path.read_text()).diagnose()
        alone = time.process_time() + children() - begun
        turns, left = (sum(getattr(each, part) for each in found.arrays) for part in ("passes", "mended_passes"))
        print(f"{path.stem:12} {turns:7} {left:7} {whole:6.2f} s {alone:5.2f} s")
    for path in files if arguments.mutants else ():
        patient = Patient(path.read_text())
        outcomes = [
            bool(patient.refused(each, mend, mutant.text))
            for each, mend, text in patient.mended
            for mutant in of_patch(each, mend, text)
        ]
        outcomes += [escape_is_refused(mutant.text) for mutant in with_escapes(patient)]
        print(f"{path.stem}: {sum(outcomes)} of {len(outcomes)} mutants refused")


if __name__ == "__main__":
    main()
