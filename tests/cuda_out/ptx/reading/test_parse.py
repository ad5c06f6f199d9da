"""PTX as text: parameters, arrays, labels, operands, scopes, and what is refused."""

from __future__ import annotations

import pytest

from cuda_out.ptx.reading.parse import parse
from cuda_out.ptx.running.run import kernel_of
from cuda_out.ptx.syntax import Address, Group, Immediate, Name, NotInterpreted, PtxVariable

MODULE = """
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .b8 table[8] = {1, 0, 0, 0, 2};
.const .align 4 .u32 numbers[2] = {7, 0xFF};

.visible .entry f(
	.param .u64 .ptr .align 1 f_param_0,
	.param .u32 f_param_1
)
.maxntid 32, 1, 1
{
	.reg .pred 	%p<2>;  // a comment; with a semicolon
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<9>;
	.reg .f32 	%f<9>;
	.shared .align 16 .b8 tile[64];

	ld.param.u64 	%rd1, [f_param_0];
$L__BB0_1:
	@!%p1 bra 	$L__BB0_1;
	{ .reg .b32 %temp;
	mov.b64 	{%temp, %r1}, %rd1;
	}
	shfl.sync.idx.b32 	%r2|%p1, %r1, 3, 31, -1;
	ld.shared.v2.f32 	{%f1, %f2}, [tile+-8];
	st.global.f32 	[%rd1], 0f3F800000;
	ret;
}
"""


def test_a_module() -> None:
    """Everything keeps its line; arrays of the module belong to each kernel."""
    kernel = parse(MODULE)["f"]
    assert kernel.parameters == (("f_param_0", "u64"), ("f_param_1", "u32"))
    assert kernel.arrays == (
        PtxVariable("table", "global", 4, 8, bytes([1, 0, 0, 0, 2, 0, 0, 0])),
        PtxVariable("numbers", "const", 4, 8, bytes([7, 0, 0, 0, 255, 0, 0, 0])),
        PtxVariable("tile", "shared", 16, 64, None),
    )
    assert kernel.labels == {"$L__BB0_1": 1}
    assert (kernel.most_threads, kernel.block) == (32, None)
    fixed = parse(MODULE.replace(".maxntid 32, 1, 1", ".maxntid 8, 4\n.reqntid 8, 2"))["f"]
    assert (fixed.most_threads, fixed.block) == (32, (8, 2, 1))
    code = kernel.instructions
    assert [MODULE.splitlines()[i.line - 1].split()[0] for i in code] == [
        "ld.param.u64", "@!%p1", "mov.b64", "shfl.sync.idx.b32", "ld.shared.v2.f32", "st.global.f32", "ret;",
    ]  # fmt: skip
    assert code[1].guard == Name("%p1", negated=True)
    assert code[3].operands == (
        Name("%r2"), Name("%p1"), Name("%r1"), Immediate(3, 0), Immediate(31, 0), Immediate(2**64 - 1, 0),
    )  # fmt: skip
    assert code[4].operands == (Group((Name("%f1"), Name("%f2"))), Address("tile", -8))
    assert code[5].operands == (Address("%rd1", 0), Immediate(0x3F800000, 32))


def test_names_of_inner_scopes_are_distinct() -> None:
    """Two scopes that declare one name mean two registers."""
    scoped = MODULE.replace("ret;", "{ .reg .b32 %temp; mov.b32 %temp, 1; }\n ret;")
    first, second = (i.operands[0] for i in parse(scoped)["f"].instructions if i.op[0] == "mov")
    assert isinstance(first, Group) and first.items[0] != second


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("ret;", "ret", "line 30: `}`, where a number was expected"),
        ("ret;", ".weird thing;", r"line 29: `\.weird thing`"),
        (".param .u32 f_param_1", ".param .pred f_param_1", "a parameter that is no number"),
        ("tile[64]", "tile[]", "an array whose size the launch gives"),
    ],
)
def test_what_is_not_known_is_refused(old: str, new: str, complaint: str) -> None:
    """Nothing is skipped in silence."""
    assert old in MODULE
    with pytest.raises(NotInterpreted, match=complaint):
        kernel_of(MODULE.replace(old, new, 1), "f")
