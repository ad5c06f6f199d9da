"""Read the text of PTX by its grammar: a module, its variables, functions and kernels, and their instructions.

What is not understood is refused, with its line: a directive, a word between declarations, an instruction in no form
(`cuda_out.ptx.instructions.table`), a name that was not declared. What is wrong in the body of one kernel or function
is said when that one is asked for.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Final

from msgspec.structs import replace

from cuda_out.ptx.reading.body import BodyReader
from cuda_out.ptx.reading.lexer import END, Token
from cuda_out.ptx.reading.token_reader import TokenReader
from cuda_out.ptx.reading.versions import unknown_target, unknown_version
from cuda_out.ptx.syntax import (
    DECLARED,
    Kernel,
    NotInterpreted,
    PtxVariable,
)

_LINKING: Final = frozenset((".visible", ".weak", ".extern", ".common"))
_TUNING: Final = frozenset((".minnctapersm", ".maxnctapersm", ".maxnreg"))
"""What a kernel says of itself that changes no value, each with one number."""


@lru_cache(maxsize=8)
def parse(ptx: str) -> dict[str, Kernel]:
    """Return every kernel of a PTX module, by name; raise NotInterpreted for a module that is not understood."""
    return _Module(ptx).read()


class _Module(TokenReader):
    """Reads a module from its version to its end."""

    def read(self) -> dict[str, Kernel]:
        self._header()
        kernels: dict[str, Kernel] = {}
        functions: dict[str, Kernel] = {}
        variables: list[PtxVariable] = []
        names: set[str] = set()
        files: dict[int, str] = {}
        while self.next.kind != END:
            begin = self.next
            if self.found(".file"):
                number = self.integer()
                files[number] = self._string()
                if self.found(","):
                    self.integer()
                    self.expect(",")
                    self.integer()
                continue
            if self.found(".section"):  # what a debugger reads
                section = self.take()
                if section.kind != "modifier" or not section.text.startswith(".debug_"):
                    raise self.refused(begin)
                self.skip_braces()
                continue
            linking = self.take().text if self.next.text in _LINKING else ""
            if self.found(".entry"):
                if linking in (".extern", ".common"):
                    raise self.refused(begin)
                kernel = self._kernel(variables, visible=linking != "")
                self._declare(begin, kernel.name, names)
                kernels[kernel.name] = kernel
            elif self.found(".func"):
                function = self._function(variables)
                if function.name not in functions:
                    self._declare(begin, function.name, names)
                    functions[function.name] = function
                elif functions[function.name].refused == DECLARED:
                    functions[function.name] = function
                elif function.refused != DECLARED:
                    raise self.refused(begin, "a function is defined twice")
            elif self.next.text in (".global", ".const", ".shared") and linking != ".extern":
                variable = self.variable(self.take().text[1:])
                variables.append(replace(variable, data=None) if linking == ".common" else variable)
                self._declare(begin, variables[-1].name, names)
            elif linking == ".extern" and self.found(".shared"):
                variables.append(self.variable("shared", external=True))
                self._declare(begin, variables[-1].name, names)
            else:
                raise self.refused(begin)
        called: dict[str, Kernel] = {}
        for name, function in functions.items():
            called[name] = replace(function, functions=called)
        return {name: replace(kernel, functions=called, files=files) for name, kernel in kernels.items()}

    def _header(self) -> None:
        self.expect(".version")
        version = self.take()
        if version.kind != "version":
            raise self.refused(version, "a version was expected")
        if unknown_version(version.text):
            raise self.refused(version, "no compiler makes such a version")
        self.expect(".target")
        if why := unknown_target(self.next.text, version.text):
            raise self.refused(self.next, why)
        self.take()
        while self.found(","):  # where it was compiled for a debugger
            self.expect("debug")
        self.expect(".address_size")
        if self.integer() != 64:
            raise self.refused(self.tokens[self.at - 1], "addresses of 64 bits were expected")

    def _string(self) -> str:
        if self.next.kind != "string":
            raise self.unexpected("a string")
        return self.take().text[1:-1]

    def _declare(self, begin: Token, name: str, names: set[str]) -> None:
        if name in names:
            raise self.refused(begin, f"{name} is declared twice")
        names.add(name)

    def _kernel(self, variables: list[PtxVariable], *, visible: bool) -> Kernel:
        name, self.promised = self.word(), {}
        parameters = self.parameters(records=True) if self.next.text == "(" else ()
        most, block = None, None
        while self.next.text != "{":
            begin = self.take()
            if begin.text in (".maxntid", ".reqntid"):
                shape = [self.integer()]
                while self.found(",") and len(shape) < 3:
                    shape.append(self.integer())
                if begin.text == ".maxntid":
                    most = prod(shape)
                else:
                    block = (*shape, 1, 1)[:3]
            elif begin.text in _TUNING:
                self.integer()
            elif begin.text == ".pragma":
                self.pragma()
            else:
                raise self.refused(begin)
        kernel = Kernel(name, parameters, most_threads=most, block=block, promised=self.promised, visible=visible)
        return self._with_body(kernel, variables)

    def _function(self, variables: list[PtxVariable]) -> Kernel:
        result = self.parameters() if self.next.text == "(" else ()
        name = self.word()
        parameters = self.parameters() if self.next.text == "(" else ()
        while self.found(".noreturn"):
            pass
        function = Kernel(name, parameters, result=result[0] if len(result) == 1 else None)
        if self.found(";"):
            return replace(function, refused=DECLARED)
        return self._with_body(function, variables)

    def _with_body(self, kernel: Kernel, variables: list[PtxVariable]) -> Kernel:
        begin = self.at
        try:
            return BodyReader(self, kernel, variables).read()
        except NotInterpreted as error:
            self.at = begin
            self.skip_braces()
            return replace(kernel, refused=str(error))
