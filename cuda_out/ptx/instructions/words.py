"""Words that are equal although their terms are not: quotients that compilers multiply, and other work on bits.

Two terms of integers are written as bit-vectors over what nothing is known of, and a solver is asked. A quotient by a
constant d is a q with x = d * q + r; what a compiler multiplies and moves down instead is known for one by its
constants, exactly, so that no solver multiplies. What is proved of some terms holds of all of that shape: it is asked
once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

import symbolic
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.polynomials import Factors, signed
from cuda_out.ptx.kinds import is_float, typed_operator, width
from symbolic.algebra.terms import Term

SECONDS: Final = 5.0
"""So long a solver may think about one shape."""
LARGEST: Final = 400
"""Terms of more parts are not asked about."""
_SIZED: Final = re.compile(r"\.([busf])(\d+)")
_WORTH: Final = re.compile(r"(mul\.hi|floordiv|div|rem|shr|select|sext|min|max|abs|<<|>>|[&^])")
_HIGH: Final = re.compile(r"mul\.hi\.([us])(\d+):[us]\2")


class Magic(Struct, frozen=True):
    """floor(factor * x / 2^down), of a number x of a type."""

    kind: str
    x: Term
    factor: int
    down: int


class WordProofs:
    """What is proved of terms over one table."""

    def __init__(self, normal: Normal) -> None:
        self.normal = normal
        self._proved: dict[Any, bool] = {}

    def same(self, kind: str, a: Term, b: Term) -> bool:
        """Tell whether two terms of a type are shown to be equal, whatever is at their leaves."""
        if a == b:
            return True
        normal, nodes = self.normal, self.normal.terms.nodes
        if not (normal.is_real(a) or normal.is_real(b)):
            return not is_float(kind) and self._words(kind, a, b, positive=False)
        (op, args), (other, others) = nodes[a], nodes[b]
        (name, own), (name_too, own_too) = typed_operator(op), typed_operator(other)
        if name == name_too == "real" and width(own) == width(own_too):
            # as a number with a sign and as one without, a word is the same unless it is negative
            return self._words(own, args[0], others[0], positive=op != other)
        for rounded, inner_, whole in ((op, args, b), (other, others, a)):
            if (
                op != other and rounded.startswith("to_") and rounded[3:] in normal.held(whole)
            ):  # it is not rounded, then
                return self.same(kind, inner_[0], whole)
        if op != other or op in ("atom", "const") or len(args) != len(others) or len(args) > 8:
            return False
        inner = own if name == "real" else kind
        if op not in ("+", "*"):
            return all(self.same(inner, x, y) for x, y in zip(args, others, strict=True))
        rest = list(others)
        for arg in args:
            partner = next((each for each in rest if self.same(kind, arg, each)), None)
            if partner is None:
                return False
            rest.remove(partner)
        return True

    def rounded_to_bf16(self, term: Term) -> Term | None:
        """Return the float of whose bits a term is the rounding to bf16, as architectures without an instruction for it
        have it; None where it is shown to be none."""
        nodes, parts, open_terms = self.normal.terms.nodes, dict[Term, int](), [term]
        while open_terms and len(parts) < 60:
            part = open_terms.pop()
            op, args = nodes[part]
            if part not in parts and op != "const":
                parts[part] = len(parts)
                open_terms += [arg for arg in args if isinstance(arg, int)] if op not in ("atom", "bits32") else []
        leaves = [part for part in parts if nodes[part][0] in ("atom", "bits32")]
        if open_terms or len(leaves) != 1 or nodes[leaves[0]][0] != "bits32" or len(parts) < 8:
            return None
        (bits32,) = leaves
        key = (
            "bf16",
            *(
                (
                    nodes[part][0],
                    *((parts.get(arg, nodes[arg]) if isinstance(arg, int) else arg) for arg in nodes[part][1]),
                )
                for part in parts
                if part != bits32
            ),
        )
        if key not in self._proved:
            bits = _Bits(self.normal, 34)
            given, made = bits.low(32, bits.word(bits32)), bits.low(16, bits.word(term))
            upper, lower, half = given >> 16, given & 0xFFFF, 0x8000
            up = (lower > half) | ((lower == half) & ((upper & 1) == 1))
            rounded = symbolic.select(up, upper + 1, upper)
            wanted = symbolic.select((given & 0x7FFF_FFFF) > 0x7F80_0000, bits.low(16, bits._constant(0x7FFF)), rounded)
            self._proved[key] = symbolic.verify(made == bits.low(16, wanted), timeout=SECONDS).status == "unsat"
        number: Term = nodes[bits32][1][0]
        return number if self._proved[key] else None

    def _words(self, kind: str, a: Term, b: Term, *, positive: bool) -> bool:
        """Prove that words are equal, and on request that they are not negative."""
        parts = self._parts(a, b)
        if parts is None or not (positive or self._worth(parts)):
            return False
        order = {term: number for number, term in enumerate(parts)}
        nodes, kinds = self.normal.terms.nodes, self.normal.kinds

        def shape(term: Term) -> Any:
            op, args = nodes[term]
            if op == "const":
                return "const", args[0]
            if op == "atom":
                return "atom", kinds[args[0]], self.normal.ranges.bound(term)
            return op, *(order.get(arg, -1) for arg in args)

        key = (kind, positive, order[a], order[b], tuple(map(shape, parts)))
        if key not in self._proved:
            zero = self.normal.terms.const(0)
            apart = () if positive else self._by_divisors(kind, a, b)
            self._proved[key] = any(
                all(self._words(kind, each, zero, positive=False) for each in sums) for sums in apart
            ) or self._ask(kind, a, b, positive)
        return self._proved[key]

    def _by_divisors(self, kind: str, a: Term, b: Term) -> Iterator[list[Term]]:
        """Yield sums that are together the difference of two words, each about quotients by a divisor of its own: a
        solver would have to multiply to see that two quotients of one number have nothing to do with each other. What
        is about no quotient may belong to any of them."""
        normal = self.normal
        difference = normal._as_sum(normal.add(kind, a, normal.scaled(kind, -1, b)))
        bits, others = _Bits(normal, width(kind)), dict[Factors, Any]()
        groups: list[tuple[set[tuple[str, int]], dict[Factors, Any]]] = []
        for factors, coefficient in difference.items():
            about = set().union(*map(bits.divisors, self._parts(*factors) or ()))
            together = {factors: coefficient}
            if not about:
                others |= together
                continue
            for group in [each for each in groups if each[0] & about]:
                groups.remove(group)
                about, together = about | group[0], together | group[1]
            groups.append((about, together))
        if len(groups) < 2:
            return
        for chosen in range(len(groups)):
            sums = [total | others if n == chosen else total for n, (_, total) in enumerate(groups)]
            yield [normal._sum_term(kind, total) for total in sums]
            if not others:
                return

    def _parts(self, *terms: Term) -> list[Term] | None:
        """Return all parts of terms, None where there are many."""
        nodes, found, open_terms = self.normal.terms.nodes, dict[Term, None](), list(terms)
        while open_terms and len(found) <= LARGEST:
            term = open_terms.pop()
            if term not in found:
                found[term] = None
                op, args = nodes[term]
                open_terms += [arg for arg in args if isinstance(arg, int)] if op not in ("const", "atom") else []
        return None if open_terms else list(found)

    def _worth(self, parts: Sequence[Term]) -> bool:
        """Tell whether there is anything of which a solver knows more than we do: sums of products are one term."""
        return any(_WORTH.match(self.normal.terms.nodes[term][0]) for term in parts)

    def _ask(self, kind: str, a: Term, b: Term, positive: bool) -> bool:
        sizes = [width(kind)]
        for term in self._parts(a, b) or ():
            sizes += [int(size) for _, size in _SIZED.findall(self.normal.terms.nodes[term][0]) if int(size) <= 64]
        bits = _Bits(self.normal, max(sizes) + 2)
        bits.prepare(self._parts(a, b) or ())
        n = width(kind)
        same = bits.low(n, bits.word(a)) == bits.low(n, bits.word(b))
        if positive:
            same = same & (bits.low(n, bits.word(a)) < 1 << n - 1)
        for each in bits.given:
            same = same | ~each
        return symbolic.verify(same, timeout=SECONDS).status == "unsat"


class _Bits:
    """Terms as words of so many bits, of which as many count as whoever reads them says; `given` is what holds."""

    def __init__(self, normal: Normal, size: int) -> None:
        self.normal, self.size = normal, size
        self.given: list[Any] = []
        self._known: dict[Any, Any] = {}
        self._count = 0

    # -- words -------------------------------------------------------------------------------------------------

    def new(self) -> Any:
        self._count += 1
        return symbolic.bitvector(f"w{self._count}", self.size)

    def low(self, n: int, word: Any) -> Any:
        return word & ((1 << n) - 1)

    def extended(self, kind: str, word: Any) -> Any:
        """Return a number of a type."""
        n = width(kind)
        if kind[0] != "s":
            return self.low(n, word)
        sign = 1 << n - 1
        return (self.low(n, word) ^ sign) - sign

    def word(self, term: Term) -> Any:
        """Return a term as a word."""
        if term not in self._known:
            self._known[term] = self._word(term)
        return self._known[term]

    def _word(self, term: Term) -> Any:
        normal, nodes = self.normal, self.normal.terms.nodes
        op, args = nodes[term]
        if op == "const":
            return self._constant(int(args[0])) if isinstance(args[0], int) else self.new()
        if normal.is_real(term):
            return self.new()
        if op == "atom":
            return self.extended(normal.kinds[args[0]], self.new())
        if op in ("+", "*"):
            total = self._constant(0)
            for factors, coefficient in normal._as_sum(term).items():
                total = total + self._product(factors) * (int(coefficient) % (1 << self.size))
            return total
        if op in ("&", "^"):
            words = [self.word(arg) for arg in args]
            whole = words[0]
            for each in words[1:]:
                whole = whole & each if op == "&" else whole ^ each
            return whole
        return self._function(term, op, args)

    def _constant(self, value: int) -> Any:
        return self.new() * 0 + value % (1 << self.size)

    def _product(self, factors: tuple[Term, ...]) -> Any:
        """Return a product: what is not linear is a word of which nothing is known."""
        if not factors:
            return self._constant(1)
        if len(factors) == 1:
            return self.word(factors[0])
        for quotient, by in (factors, factors[::-1]) if len(factors) == 2 else ():
            op, args = self.normal.terms.nodes[quotient]
            name, kind = typed_operator(op)
            if name == "floordiv" and kind[0] == "s" and args[1] == by:
                self.word(quotient)  # which says what the product is
        if factors not in self._known:
            self._known[factors] = self.new()
        return self._known[factors]

    def _function(self, term: Term, op: str, args: Sequence[Term]) -> Any:
        name, _, kind = op.partition(".")
        nodes = self.normal.terms.nodes
        by = nodes[args[1]][1][0] if len(args) > 1 and nodes[args[1]][0] == "const" else None
        if (magic := self._magic(term)) is not None:
            quotient = self._of_magic(magic)
            if quotient is not None:
                return quotient
        sized = re.fullmatch(r"[bsu]\d+", kind) is not None
        match name:
            case "shr" if sized and isinstance(by, int):
                n = width(kind)
                if kind == f"u{n}" and by == n - 1 and (of := self._high(args[0], n, True)) is not None:
                    below = self.word(of.x), self._constant(0)  # what it is multiplied by says which sign it has
                    return self._truth(self._less(of.kind, *(below if of.factor > 0 else below[::-1]))) & 1
                return self._moved_down(kind, self.word(args[0]), by)
            case "sext" if sized:
                return self.extended(kind, self.word(args[0]))
            case "select" if sized:
                return symbolic.select(self.word(args[0]) != 0, self.word(args[1]), self.word(args[2]))
            case "eq" if sized:
                n = width(kind)
                return self._truth(self.low(n, self.word(args[0])) == self.low(n, self.word(args[1])))
            case "lt" if sized:
                return self._truth(self._less(kind, self.word(args[0]), self.word(args[1])))
            case "min" | "max" if sized:
                total = self.extended(kind, self.word(args[0]))
                for arg in args[1:]:
                    other = self.extended(kind, self.word(arg))
                    first = self._less(kind, total, other) if name == "min" else self._less(kind, other, total)
                    total = symbolic.select(first, total, other)
                return total
            case "abs" if sized:
                value = self.extended(kind, self.word(args[0]))
                return symbolic.select(self._less(kind, value, value * 0), value * 0 - value, value)
            case "floordiv" if sized:
                if isinstance(by, int) and signed(by, width(kind)) != 0:
                    divisor = signed(by, width(kind)) if kind[0] == "s" else by & (1 << width(kind)) - 1
                    return self._quotient(kind, self.word(args[0]), args[0], divisor)[0]
                return self._floored(kind, args)
            case _:
                return self.new()

    def _truth(self, condition: Any) -> Any:
        return symbolic.select(condition, self._constant(-1), self._constant(0))

    def _less(self, kind: str, a: Any, b: Any) -> Any:
        n = width(kind)
        flip = 1 << n - 1 if kind[0] == "s" else 0
        return (self.low(n, a) ^ flip) < (self.low(n, b) ^ flip)

    def _moved_down(self, kind: str, word: Any, by: int) -> Any:
        n = width(kind)
        if kind[0] != "s":
            return self.low(n, word) >> by
        sign = 1 << n - 1
        return ((self.low(n, word) ^ sign) >> by) - (sign >> by)

    # -- quotients ---------------------------------------------------------------------------------------------

    def _quotient(self, kind: str, word: Any, term: Term, d: int) -> tuple[Any, Any]:
        """Return the floored quotient by a constant, and the remainder, of a number of a type."""
        if d < 0:
            q, r = self._quotient(kind, word, term, -d)
            return symbolic.select(r == 0, self._constant(0) - q, self._constant(-1) - q), symbolic.select(
                r == 0, r, r + d
            )
        kind = self._own_kind(kind, term)
        key = ("quotient", kind, term, d)
        if key not in self._known:
            q, r = self._known[key] = self.new(), self.new()
            self._bounded(kind, q, r, d)
            self.given.append(self.extended(kind, word) == q * d + r)
        found: tuple[Any, Any] = self._known[key]
        return found

    def prepare(self, parts: Sequence[Term]) -> None:
        """Write elements that are divided by constants as what they are divided into: a solver that knows x = d * q + r
        beside x has to multiply, and one that knows no other x has not."""
        nodes, kinds = self.normal.terms.nodes, self.normal.kinds
        for op, args in (nodes[part] for part in parts):
            name, read = typed_operator(op)
            if name != "floordiv" or nodes[args[1]][0] != "const" or nodes[args[0]][0] != "atom":
                continue
            x, kind = args[0], self._own_kind(read, args[0])
            by = int(nodes[args[1]][1][0])
            d = abs(signed(by, width(read))) if read[0] == "s" else by & (1 << width(read)) - 1
            if x in self._known or kind != kinds[nodes[x][1][0]] or d < 2:
                continue
            q, r = self._known["quotient", kind, x, d] = self.new(), self.new()
            self._bounded(kind, q, r, d)
            self._known[x] = q * d + r
            least, greatest, top = *self._ends(kind), 1 << self.size - 1
            self.given += [(self._known[x] ^ top) >= least + top, (self._known[x] ^ top) <= greatest + top]

    def divisors(self, term: Term) -> set[tuple[str, int]]:
        """Return the constants that a term is a quotient by, and that it is multiplied by to be one."""
        nodes = self.normal.terms.nodes
        op, args = nodes[term]
        name, kind = typed_operator(op)
        if name == "floordiv" and nodes[args[1]][0] == "const":
            return {("by", abs(signed(nodes[args[1]][1][0], width(kind))))}
        found = (
            {("times", int(nodes[each][1][0])) for each in args if nodes[each][0] == "const"}
            if _HIGH.fullmatch(op)
            else set()
        )
        magic = self._magic(term)
        if magic is not None and magic.factor:
            d, down = -(-(1 << magic.down) // abs(magic.factor)), 1 << magic.down
            if (abs(magic.factor) * d - down) << width(magic.kind) - 1 <= down:
                found.add(("by", d))
        return found

    def _own_kind(self, kind: str, term: Term) -> str:
        """Return the type of an element that is read in a type which has all its numbers, else that type."""
        op, args = self.normal.terms.nodes[term]
        own = self.normal.kinds[args[0]] if op == "atom" else kind
        fits = own[0] in "us" and width(own) <= width(kind) - (own[0] == "u" and kind[0] == "s")
        return own if fits and (own[0] == kind[0] or own[0] == "u") else kind

    @staticmethod
    def _ends(kind: str) -> tuple[int, int]:
        n = width(kind)
        return (-(1 << n - 1), (1 << n - 1) - 1) if kind[0] == "s" else (0, (1 << n) - 1)

    def _bounded(self, kind: str, q: Any, r: Any, d: int) -> None:
        (least, greatest), top = self._ends(kind), 1 << self.size - 1
        self.given += [r < d, (q ^ top) >= least // d + top, (q ^ top) <= greatest // d + top]

    def _floored(self, kind: str, args: Sequence[Term]) -> Any:
        """Return the floored quotient of two numbers, by what is known of the truncated one: C has no other."""
        terms, n = self.normal.terms, width(kind)
        a, b = args
        if kind[0] == "u":
            return self.word(terms.apply(f"div.{kind}:{kind}", (a, b)))
        t, m = (terms.apply(f"{op}.{kind}:{kind}", (a, b)) for op in ("div", "rem"))
        quotient, rest = self.word(t), self.word(m)
        negative = [self._less(kind, self.word(each), self._constant(0)) for each in (a, b, m)]
        zero = self.low(n, rest) == 0
        product = self.word(self.normal.multiply(kind, b, t))
        self.given.append(self.low(n, rest) == self.low(n, self.word(a) - product))
        self.given.append(zero | (negative[2] == negative[0]))
        right = zero | (negative[2] == negative[1])
        whole = tuple(sorted((b, terms.apply(f"floordiv.{kind}", (a, b)))))
        self._known[whole] = self.word(a) - rest - symbolic.select(right, self._constant(0), self.word(b))
        return symbolic.select(right, quotient, quotient - 1)

    def _magic(self, term: Term) -> Magic | None:
        """Read a number that is moved down, or the upper half of a product."""
        nodes = self.normal.terms.nodes
        op, args = nodes[term]
        if _HIGH.fullmatch(op):
            return self._high(term, int(_HIGH.fullmatch(op)[2]), op[7] == "s")  # type: ignore[index]
        name, kind = typed_operator(op)
        if name != "shr" or nodes[args[1]][0] != "const":
            return None
        by = int(nodes[args[1]][1][0])
        found = self._high(args[0], width(kind), kind[0] == "s")
        return None if found is None else Magic(found.kind, found.x, found.factor, found.down + by)

    def _high(self, term: Term, n: int, sign: bool) -> Magic | None:
        """Read a word as floor(factor * x / 2^down) where it holds that number: with the upper half of a product, x
        itself added, or what is left of x, halved."""
        normal, nodes = self.normal, self.normal.terms.nodes
        whole, kind = normal._as_sum(term), f"{'s' if sign else 'u'}{n}"
        if any(len(factors) != 1 for factors in whole):
            return None
        parts = {factors[0]: int(c) for factors, c in whole.items()}
        for part, count in parts.items():
            rest = {each: c for each, c in parts.items() if each != part}
            for x, factor in self._upper_half(part, kind) if count == 1 else ():
                if not rest:
                    return Magic(kind, x, factor, n)
                if sign and rest == {x: 1} and factor < 0:
                    return Magic(kind, x, factor + (1 << n), n)
                if sign and rest == {x: -1} and factor > 0:
                    return Magic(kind, x, factor - (1 << n), n)
                if not sign and list(rest.values()) == [1]:
                    halved, of = nodes[next(iter(rest))]
                    moved = halved == f"shr.u{n}" and nodes[of[1]] == ("const", (1,))
                    if moved and normal._as_sum(of[0]) == {(x,): 1, (part,): -1}:
                        return Magic(kind, x, factor + (1 << n), n + 1)
        if not sign and len(parts) == 1:
            ((x, factor),) = parts.items()
            bound = normal.ranges.bound(x)
            if factor > 1 and bound <= n and factor << bound <= 1 << n:
                return Magic(kind, x, factor, 0)
        return None

    def _upper_half(self, term: Term, kind: str) -> Iterator[tuple[Term, int]]:
        """Yield x and a constant where a term is the upper half of their product; of 16 bits it is moved down."""
        nodes, n = self.normal.terms.nodes, width(kind)
        op, args = nodes[term]
        if op == f"mul.hi.{kind}:{kind}":
            for x, m in (args, args[::-1]):
                if nodes[m][0] == "const":
                    factor = int(nodes[m][1][0])
                    yield x, signed(factor, n) if kind[0] == "s" else factor & (1 << n) - 1
        elif op == f"shr.u{2 * n}" and nodes[args[1]] == ("const", (n,)) and kind[0] == "u":
            product = list(self.normal._as_sum(args[0]).items())
            (factors, factor), single = product[0], len(product) == 1 and len(product[0][0]) == 1
            if single and 0 < factor < 1 << n and self.normal.ranges.bound(factors[0]) <= n:
                yield factors[0], int(factor)

    def _of_magic(self, magic: Magic) -> Any:
        """Return the quotient that a product moved down is, None where it is none.

        With factor * d = 2^down + e, it is floor(x / d + x * e / (d * 2^down)). As long as x * e < 2^down, this is
        x // d where x >= 0, and while -x * e <= 2^down, (x - 1) // d where x < 0 (Granlund and Montgomery, PLDI 1994).
        Of a negative factor it is that of the positive one rounded up, with the other sign.
        """
        x, kind, nodes = magic.x, magic.kind, self.normal.terms.nodes
        own = self.normal.kinds[nodes[x][1][0]] if nodes[x][0] == "atom" else kind
        bound, n, factor = self.normal.ranges.bound(x), width(kind), abs(magic.factor)
        if kind[0] == "u" or bound < n:
            most, least = (1 << min(bound, n)) - 1, 0
        else:
            least = 1 << (min(width(own), n) if own[0] == "s" else n) - 1
            most = least - 1
        d = -(-(1 << magic.down) // factor) if factor else 0
        e = factor * d - (1 << magic.down)
        up = magic.factor < 0
        if d < 2 or max(e * most + (not up), e * least + up) > 1 << magic.down or (e == 0 and kind[0] == "s"):
            return None
        q, r = self._quotient(kind, self.word(x), x, d)
        if kind[0] == "u":
            return q
        zero = self._constant(0)
        if up:
            return symbolic.select((r != 0) | self._less(kind, zero, self.word(x)), self._constant(-1) - q, zero - q)
        return symbolic.select(self._less(kind, self.word(x), zero) & (r == 0), q - 1, q)
