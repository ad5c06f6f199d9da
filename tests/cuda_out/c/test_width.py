"""Which variables of a kernel are `long long` in the text."""

from __future__ import annotations

from cuda_out.c.printer import print_cuda
from cuda_out.c.width import wide_names
from tests.cuda_out.build import assign, data, kernel, loop, op, parameter, store, where


def test_only_what_may_leave_an_int_is_wide() -> None:
    """A product beyond an int, what is made of it, and a loop that runs beyond; not what is reduced again or small."""
    program = kernel(
        "k",
        [parameter("y", 128, role="out")],
        [
            assign("small", op("*", where("threadIdx"), 1000)),
            assign("large", op("*", op("*", "small", "small"), 1000)),
            assign("more", op("+", "large", 1)),
            loop("v", 2**33, store("y", op("+", op("%", "more", 64), op("%", "v", 2)), data(1.0)), step=2**32),
        ],
    )
    assert wide_names(program) == {"large", "more", "v"}
    text = print_cuda(program).text
    assert "const int small = int(threadIdx.x) * 1000;" in text
    assert "const long long large = static_cast<long long>(small) * small * 1000;" in text
    assert "for (long long v = 0; v < 8589934592ll; v += 4294967296ll) {" in text
