"""Translation validation of one text at several sizes."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from cuda_out.ptx.validate import Validation, Validator, WrittenOut
from swizzle.commands.sizes import Size


class SizesValidator:
    """Validates kernels at the sizes in turn, until one is not equal."""

    def __init__(self, sizes: Sequence[Size]) -> None:
        self.sizes = sizes
        self.validators: list[Validator] = []  # made when they are needed: a mutant seldom lives to the second

    def _written_out(self, size: Size) -> WrittenOut:
        """Return what is shared by the validators whose specifications have a table of terms in common."""
        for validator in self.validators:
            if validator.written.terms is size.meaning.terms:
                return validator.written
        return WrittenOut(size.meaning.terms, size.filled.program.parameters)

    def validate(self, ptx: str, entry: str) -> Validation:
        """Return the verdict at the first size, or of the first that is not equal, which its findings name."""
        verdicts = []
        for number, size in enumerate(self.sizes):
            if number == len(self.validators):
                self.validators.append(Validator(size.filled.program, size.meaning.wanted, self._written_out(size)))
            found = self.validators[number].validate(ptx, entry, size.lengths)
            if found.verdict != "equal":
                where = f"at length {size}, " if number else ""
                return replace(found, findings=tuple(f"{where}{finding}" for finding in found.findings))
            verdicts.append(found)
        return verdicts[0]
