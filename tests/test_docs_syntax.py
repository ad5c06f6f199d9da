"""docs/swz-syntax.md: its grammar makes what the front end reads, and derives every file that the front end reads."""

from __future__ import annotations

import ast
import math
import re

import pytest

from swizzle import SwizzleError, operator, u32
from swizzle.language.cuda_namespace import CUDA_NAMES
from swizzle.language.parameters import Parameters
from swizzle.language.source.hole_marks import find_marks
from swizzle.language.source.kernel_source import Source, parse
from swizzle.language.specs.syntax import BUILTINS, EXPRESSIONS, METHODS, STATEMENTS, check_sequential
from swizzle.language.surface import ELEMENT_TYPES, HOLES, KERNEL_NAMES, LOAD_STORE
from swizzle.sketches.declaration import OPTIONS
from swizzle.sketches.swz_file import ROLES, read_swz
from symbolic.ir.functions import FUNCTIONS
from symbolic.ir.python_text import BINARY_OPS
from symbolic.lifting.operations import ARITHMETIC
from tests.grammar import Grammar
from tests.pages import DOCS, blocks_of, text_of

PAGE = text_of("swz-syntax.md")
GRAMMAR = Grammar.read(blocks_of(PAGE, "ebnf")[0])
ROOT = DOCS.parent
KERNEL = """\
@spec
def wanted(x, y):
    return x

@sketch(spec=wanted, block=32, x=f32[32], y=f32.inout[32], a=i32.inout[32])
def kernel(x, y, a):
    b = 1
    c = cuda.local.array(4, f32)
"""


def examples() -> dict[str, str]:
    """Return every .swz text of the tree whose syntax is right: sketches, pages, and tests of other mistakes."""
    found = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in ROOT.glob("case_studies/*.swz")}
    found |= {path.name: path.read_text(encoding="utf-8") for path in ROOT.glob("tests/explain/*.swz")}
    for page in sorted(DOCS.glob("*.md")):
        if page.name != "errors.md":
            blocks = re.findall(
                r"^```swz[^\n]*\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
            )
            found |= {f"{page.name} {number}": block for number, block in enumerate(blocks)}
    return found


EXAMPLES = examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_grammar_derives_what_is_read(name: str) -> None:
    """Each file that the front end reads is a sentence."""
    own = {"gcd": operator(math.gcd, types=u32, order="set", identity=0)}  # as the page's package has it
    read_swz(EXAMPLES[name], "page.swz", Parameters(operators=own))
    assert GRAMMAR.accepts("file", EXAMPLES[name])


@pytest.mark.parametrize(
    "name",
    ["while_loop", "break_statement", "import_in_swz", "list_literal", "spec_dict", "try_statement", "spec_dunder"],
)
def test_the_grammar_does_not_derive_what_is_refused(name: str) -> None:
    """Mistakes of syntax from tests/errors are no sentences."""
    assert not GRAMMAR.accepts("file", (ROOT / "tests" / "errors" / f"{name}.swz").read_text(encoding="utf-8"))


def test_sentences_of_the_sequential_part_are_in_it() -> None:
    """Random functions are accepted by the syntax check, and use every construct that it allows."""
    used: set[type[ast.AST]] = set()
    for seed in range(60):
        text = GRAMMAR.sentence("function", seed, depth=20)
        (tree,) = parse(text, "page.swz").body
        assert isinstance(tree, ast.FunctionDef)
        check_sequential(tree, Source("page.swz", tuple(text.split("\n")), frozenset()))
        used |= {type(node) for node in ast.walk(tree)}
    assert {*STATEMENTS, *EXPRESSIONS} <= used


def test_sentences_of_kernels_are_in_the_language() -> None:
    """Random statements may be wrong in type or name, but are never outside the language's syntax."""
    for seed in range(60):
        statement = GRAMMAR.sentence("kernel_statement", seed, depth=12)
        text = KERNEL + "".join(f"    {line}\n" for line in statement.splitlines())
        parse(find_marks(text, "page.swz")[0], "page.swz")
        try:
            read_swz(text, "page.swz", Parameters())
        except SwizzleError as error:
            assert "not part of the kernel language" not in error.found, statement
            assert "without an effect" not in error.found, statement


def test_the_words_are_the_front_end_s() -> None:
    """Dtypes, roles, holes, helpers, builtins, options, operators, the names of `cuda` but what is for Python files."""
    assert GRAMMAR.undefined() == set()
    assert GRAMMAR.texts("dtype") == set(ELEMENT_TYPES)
    assert GRAMMAR.texts("role") == set(ROLES) - {"in"}
    assert GRAMMAR.texts("hole") - {"?", "(", ")", ",", "families", "="} == set(HOLES)
    assert GRAMMAR.texts("helper") == {*LOAD_STORE, "permute_local"}
    assert GRAMMAR.texts("builtin") == set(BUILTINS)
    assert GRAMMAR.texts("mathematics") == set(FUNCTIONS)
    assert GRAMMAR.texts("method") == set(METHODS)
    assert GRAMMAR.texts("option") - {"="} == set(OPTIONS)
    assert len(GRAMMAR.texts("kernel_operator")) == len(BINARY_OPS) + 1  # and `**` of constants
    assert len(GRAMMAR.texts("operator")) == len(ARITHMETIC) - 1  # and no `@`
    assert set(KERNEL_NAMES) <= GRAMMAR.terminals()
    of_cuda = {part for name in CUDA_NAMES.values() for part in name.split(".")}
    assert of_cuda - {"external", "device_array"} <= GRAMMAR.terminals()
