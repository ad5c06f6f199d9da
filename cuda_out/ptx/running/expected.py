"""A specification's terms, written out as PTX's are, in the type of the output that they are for.

A specification's operators have no types: a term has the type of the output it is stored to, and what is converted
on the way has that of the input elements in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from operator import ge
from typing import Final

from cuda_out.ptx.instructions.mathematics import term_name
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.kinds import KIND_OF, is_float, number_kind, width
from cuda_out.ptx.running.gathers import gather_name
from cuda_out.ptx.running.operators import of_kind
from symbolic.algebra.conversions import WIDEN
from symbolic.algebra.terms import Term
from symbolic.algebra.whole_ranges import WholeBounds, WholeRanges, within
from symbolic.ir.functions import ChoiceFunction, External, Gather, Joined, WordFunction, row_of
from symbolic.ir.program import DType, FunctionName, OperatorName

_DTYPES: Final = {ptx: dtype for dtype, ptx in KIND_OF.items() if not dtype.is_float}


class Expected:
    """Writes the terms of one specification out; `arrays` are the element types of its inputs, `constants` is the type
    that its constants round to among floats, where that is not the type they are computed with."""

    def __init__(self, normal: Normal, arrays: Mapping[str, DType], constants: DType | None = None) -> None:
        self.normal, self.arrays, self.constants = normal, arrays, constants
        self._memo: dict[tuple[str, Term], Term] = {}
        self._own_floats = set[Term]()
        self._sequences: dict[FunctionName, dict[Term, Term]] = {}
        words = normal.terms.words
        if constants is None:
            words.numbers = lambda dtype, value: (normal.terms.const(value), self._constant(KIND_OF[dtype], value))

    def written_out(self, kind: str, term: Term) -> Term:
        """Return a term of an output's type, written out."""
        found = self._memo.get((kind, term))
        if found is None:
            found = self._memo[kind, term] = self._write_out(kind, term)
        return found

    def _is_written_out(self, op: str, args: Sequence[Term]) -> bool:
        """Tell whether a sum or product of floats is one of elements, or of products of them, each once and in order:
        it stands as it would be written out."""
        own, nodes = self._own_floats, self.normal.terms.nodes
        if any(map(ge, args, islice(args, 1, None))):
            return False
        for part in args:
            if part in own:
                continue
            inner, factors = nodes[part]
            if op == "+" and inner == "*":
                if not own.issuperset(factors) and not self._is_written_out("*", factors):
                    return False
                if any(map(ge, factors, factors[1:])):
                    return False
            elif inner != "atom" or not self._is_own_float(factors[0]):
                return False
            else:
                own.add(part)
        return True

    def _is_own_float(self, array: str) -> bool:
        return self.arrays[array].is_float and self.arrays[array] is not DType.BF16

    def _write_out(self, kind: str, term: Term) -> Term:
        normal, terms = self.normal, self.normal.terms
        op, args = terms.nodes[term]
        if width(kind) < 32 and not is_float(kind) and op not in ("const", "atom"):
            wide = "s64" if width(self._own_kind(term, "") or "s32") > 32 else "s32"
            return normal.narrowed(kind, self.written_out(wide, term))
        if terms.whole is not None and (whole := self._whole_number(terms.whole, kind, term)) is not None:
            return whole
        if op == "const":
            return self._constant(kind, args[0])
        if op == "atom":
            own = KIND_OF[self.arrays[args[0]]]
            if self.arrays[args[0]] is DType.BF16:
                return normal.bf16_number(term)
            if is_float(kind) and not is_float(own):
                return normal.rounded(kind, normal.real_of(own, term))
            return normal.of_kind(kind, term)
        if op in ("+", "*") and is_float(kind) and self._is_written_out(op, args):
            return term
        if op.startswith(("to_", WIDEN)):
            return self._converted(kind, DType(op.rpartition("_")[2]), args[0])
        if op in ("&", "|", "^", "~") and is_float(kind):  # of integers, whoever takes it as a real number
            source = self._source(term, "s32")
            return normal.rounded(kind, normal.real_of(source, self.written_out(source, term)))
        match op:
            case FunctionName(row=ChoiceFunction(compares=compares)):
                return self._chosen(kind, compares, args)
            case FunctionName(row=Gather(array=array)):
                return self._gathered(array, args[0])
            case FunctionName(row=External() as row):
                kinds = [KIND_OF[each] for each in row.kinds]
                return terms.apply(term_name(row), tuple(map(self.written_out, kinds, args)))
            case FunctionName(row=WordFunction() as row):
                return self._words(op, row, args)
        parts = [self.written_out(kind, arg) for arg in args]
        match op:
            case "+":
                return normal.add(kind, *parts)
            case "*":
                total = parts[0]
                for part in parts[1:]:
                    total = normal.multiply(kind, total, part)
                return total
            case "/":
                return normal.multiply(kind, parts[0], normal.inverse(kind, parts[1]))
            case "^":
                return normal.exclusive_or(kind, *parts)
            case "&" | "|" | "min" | "max":
                total = parts[0]
                for part in parts[1:]:
                    if op in ("min", "max"):
                        total = normal.extreme(op, kind, total, part)
                    else:
                        join = normal.conjunction if op == "&" else normal.disjunction
                        total = join(kind, total, part)
                return total
            case "~":
                return normal.inverted(kind, parts[0])
            case "abs":
                return parts[0] if kind[0] == "u" else normal.absolute(kind, parts[0])
            case "//" if not is_float(kind):
                return normal.floor_divide(kind, parts[0], parts[1])
            case "%" if not is_float(kind):
                return normal.modulo(kind, parts[0], parts[1])
            case "<<" | ">>" if terms.is_const(parts[1]):
                by = int(terms.nodes[parts[1]][1][0])
                if op == "<<":
                    return normal.shifted_left(kind, parts[0], by)
                of, where = terms.nodes[args[0]]
                unsigned = of == "atom" and self.arrays[where[0]] is DType.U32 and kind == "s32"
                return normal.shifted_right("u32" if unsigned else kind, parts[0], by)
            case FunctionName():
                return normal.function_of(term_name(op.row), parts, kind)
            case OperatorName():
                return terms.apply(of_kind(op, kind), tuple(parts))
            case _:
                return terms.apply(f"{op}:{kind}", tuple(parts))

    def _whole_number(self, ranges: WholeRanges, kind: str, term: Term) -> Term | None:
        """Return an integer of exact terms where it is not computed in the output's own type: a number that is cut off
        to a type, and what needs a type that has its operands."""
        normal, (op, args) = self.normal, self.normal.terms.nodes[term]
        if op.startswith(("to_", WIDEN)):
            target, inner = DType(op.rpartition("_")[2]), ranges.of(args[0])
            if target.is_float or inner is None:
                return None
            to = number_kind(target)
            if not is_float(kind) and (width(kind) <= width(to) or within(inner, target)):
                return normal.narrowed(kind, self.written_out(kind, args[0]))
            found = self.written_out(to, args[0])
        elif op in ("//", "%", ">>", "min", "max", "abs"):
            given = [ranges.of(arg) for arg in (args[:1] if op == ">>" else args)]
            own = ranges.of(term)
            some = [each for each in given if each is not None]
            if own is None or len(some) < len(given):
                return None
            to = self._holding(kind, some, own)
            if width(to or "s64") == 64:
                ranges.wide.setdefault(normal.terms.show(term), to or "s64")
            if to == kind:
                return None
            found = self.written_out(to, term) if to else normal.terms.apply(f"{op} of more than 64 bits", args)
            to = to or "s64"
        else:
            return None
        if is_float(kind):
            return normal.rounded(kind, normal.real_of(to, found))
        return normal.extended(to, found) if width(kind) > width(to) else normal.narrowed(kind, found)

    def _holding(self, kind: str, operands: Sequence[WholeBounds], result: WholeBounds) -> str:
        """Return a type in which an operation on numbers is exact, that of the output if it can be; '' for none."""
        for each in ([kind] if not is_float(kind) else []) + ["s32", "u32", "s64", "u64"]:
            dtype = _DTYPES[each]
            low = not is_float(kind) and width(kind) <= width(each)
            if all(within(operand, dtype) for operand in operands) and (low or within(result, dtype)):
                return each
        return ""

    def _source(self, term: Term, default: str) -> str:
        """Return the type that what is converted, compared or an index is computed in."""
        own, ranges = self._own_kind(term, "") or default, self.normal.terms.whole
        found = ranges.of(term) if ranges is not None else None
        if ranges is None or is_float(own):
            return own
        if found is None:
            return own if self.normal.terms.nodes[term][0] != "/" else "f64"
        return self._holding(own, [found], found) or own

    def _words(self, op: FunctionName, row: WordFunction, args: tuple[Term, ...]) -> Term:
        """Return a function on words, each of which has a type of its own."""
        kinds, terms = [KIND_OF[dtype] for dtype in row.given], self.normal.terms
        if row.joined is None:
            return terms.apply(op, [self.written_out(kind, arg) for kind, arg in zip(kinds, args, strict=True)])
        return terms.words.word(op, row.joined, self._sequence(op, row.joined, kinds, args[0]))

    def _sequence(self, op: FunctionName, joined: Joined, kinds: Sequence[str], sequence: Term) -> Term:
        """Return a sequence of parts with their words written out; what it begins with is, as a rule, known."""
        terms, known, waiting = self.normal.terms, self._sequences.setdefault(op, {}), [sequence]

        def part(whole: Term) -> Term:
            words = terms.nodes[whole][1] if joined.words > 1 else (whole,)
            return terms.words.part([self.written_out(kind, word) for kind, word in zip(kinds, words, strict=False)])

        while waiting:
            whole = waiting[-1]
            head, args = terms.nodes[whole]
            inner = args[:1] if head == joined.link else args if head == joined.pair else ()
            missing = [each for each in inner if each not in known]
            if missing and whole not in known:
                waiting += missing
                continue
            waiting.pop()
            if whole in known:
                continue
            if inner:  # what is written out may come in another order
                then = known[args[1]] if head == joined.pair else part(args[1])
                known[whole] = terms.words.joined(joined, known[args[0]], then)
            else:
                known[whole] = part(whole)
        return known[sequence]

    def _chosen(self, kind: str, op: str, args: tuple[Term, ...]) -> Term:
        """Return a choice between two values by a comparison of two others, which have a type of their own."""
        normal = self.normal
        compared = self._own_kind(args[0], "") or self._own_kind(args[1], kind)
        if normal.terms.whole is not None and not is_float(compared):
            both = [normal.terms.whole.of(arg) for arg in args[:2]]
            some = [each for each in both if each is not None]
            if len(some) == 2:
                holding = self._holding(compared, some, some[0])
                if not holding:
                    return normal.terms.apply(f"{op} of more than 64 bits", args)
                compared = holding
                if width(compared) == 64:
                    normal.terms.whole.wide.setdefault(" and ".join(map(normal.terms.show, args[:2])), compared)
        a, b = (self.written_out(compared, arg) for arg in args[:2])
        condition = normal.less(compared, a, b) if op == "<" else normal.equal(compared, a, b)
        return normal.select(kind, condition, *(self.written_out(kind, arg) for arg in args[2:]))

    def _gathered(self, array: str, place: Term) -> Term:
        """Return an element that data chooses: a function of its place, a number of 64 bits."""
        normal, source = self.normal, self._source(place, "s32")
        index = normal.add("s64", normal.extended(source, self.written_out(source, place)))
        found = normal.terms.apply(gather_name(array, KIND_OF[self.arrays[array]]), (index,))
        return normal.bf16_number(found) if self.arrays[array] is DType.BF16 else found

    def _constant(self, kind: str, value: float) -> Term:
        """Return a constant as the printed text has it: rounded to its type."""
        if not is_float(kind):
            return self.normal.lifted(kind, int(value) & (1 << 64) - 1)
        return self.normal.rounded(self.constants.value if self.constants else kind, self.normal.real(value))

    def _converted(self, kind: str, target: DType, operand: Term) -> Term:
        normal, to = self.normal, number_kind(target)
        op, args = normal.terms.nodes[operand]
        if is_float(to) and op.startswith(WIDEN) and not DType(op.removeprefix(WIDEN)).is_float:
            (operand,) = args  # a wider integer is the same number
        source = self._source(operand, to)
        inner = self.written_out(source, operand)
        if is_float(to):
            if is_float(source):
                return normal.rounded(target.value, inner)
            inner = normal.real_of(source, inner)
            return normal.rounded(target.value, normal.rounded("f32", inner) if target.bits < 32 else inner)
        if is_float(source):
            found = normal.terms.apply(f"trunc.{to}", (inner,))
        elif width(to) > width(source):
            found = normal.extended(source, inner)
        else:
            found = normal.narrowed(to, inner)
        if is_float(kind):
            return normal.rounded(kind, normal.real_of(to, found))
        return normal.extended(to, found) if width(kind) > width(to) else normal.narrowed(kind, found)

    def _own_kind(self, term: Term, default: str) -> str:
        """Return the type of a term by the elements and conversions in it, the widest of them."""
        nodes = self.normal.terms.nodes
        op, args = nodes[term]
        if op == "atom":
            return number_kind(self.arrays[args[0]])
        if op.startswith(("to_", WIDEN)):
            return number_kind(DType(op.rpartition("_")[2]))
        match row_of(op):
            case Gather(array=array):
                return number_kind(self.arrays[array])
            case External(gives=gives):
                return KIND_OF[gives]
            case ChoiceFunction():
                args = args[2:]
        kinds = [self._own_kind(arg, "") for arg in args] if op != "const" else []
        found = [kind for kind in kinds if kind]
        return max(found, key=width) if found else default
