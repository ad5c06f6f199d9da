"""What users of the core write by mistake, one function each; `messages.txt` has what each must be told."""

# ruff: noqa
from dataclasses import dataclass, replace

from symbolic import *

x, y = integer("misuse x"), integer("misuse y")
p, q = boolean("misuse p"), boolean("misuse q")
v, w = bitvector("misuse v", 8), bitvector("misuse w", 16)


@dataclass(frozen=True)
class Point:
    x: object
    y: object


# ---- What a lifted function is not


def try_statement():
    @lifted
    def f(x):
        try:
            return 1 // x
        except ZeroDivisionError:
            return 0


def with_statement():
    @lifted
    def f(x):
        with open("file") as file:
            return x


def generator():
    @lifted
    def f(xs):
        for x in xs:
            yield x


def generator_kept():
    @lifted
    def f(xs):
        squares = (x * x for x in xs)
        return squares


def global_name():
    @lifted
    def f(x):
        global total
        total = x


def nested_import():
    @lifted
    def f(x):
        import math
        return x


def nested_class():
    @lifted
    def f(x):
        class Local:
            pass
        return x


def delete():
    @lifted
    def f(xs):
        ys = list(xs)
        del ys[0]
        return ys


def match_by_too_many_positions():
    @lifted
    def f(point):
        match point:
            case Point(a, b, c):
                return a
        return 0

    f(Point(x, y))


def walrus_in_a_comprehension():
    @lifted
    def f(xs):
        return [(y := each + 1) for each in xs]


def dict_of_symbolic_keys():
    @lifted
    def f(x):
        return {x: 1}

    f(x)


def dict_that_changes():
    @lifted
    def f(x):
        d = {1: x}
        d[1] = 2
        return d[1]

    f(x)


def list_met_by_another_way():
    shared = [x, y]

    @lifted
    def put(xs):
        xs[0] = 1

    @lifted
    def f(xs):
        put(xs)
        return shared[0]

    f(shared)


def set_of_symbolic_elements():
    @lifted
    def f(x):
        return x in {x, 1}

    f(x)


def starred_of_an_unknown_length():
    @lifted
    def f(x):
        first, *rest = [each for each in range(3) if each < x]
        return first

    f(x)


def f_string():
    @lifted
    def f(x):
        return f"{x}"

    f(x)


def grammar_of_any_number_of_arguments():
    @grammar
    def f(*xs):
        return choose(xs[0], xs[1])


def asynchronous():
    @lifted
    async def f(x):
        return x


def lambda_lifted():
    lifted(lambda x: x)


def class_lifted():
    @lifted
    class Machine:
        pass


def below_another_decorator():
    @lifted
    @staticmethod
    def f(x):
        return x


def dunder():
    @lifted
    def f(x):
        return x.__class__


def bound_of_nothing():
    @lifted(bound=0)
    def f(x):
        return x


def beyond_misspelled():
    @lifted(beyond="asume")
    def f(x):
        return x


# ---- Names


def unknown_name():
    @lifted
    def f(x):
        return xx + 1

    f(x)


def misspelled_name():
    @lifted
    def f(first, second):
        return frist + second

    f(x, y)


def no_value_yet():
    @lifted
    def f(x):
        if x > 0:
            pass
        return result
        result = 1

    f(x)


def shared_name_given_in_an_expression():
    @lifted
    def f(x):
        total = 0
        add = lambda y: y + total
        if (total := x) > 0:
            return add(1)
        return 0

    f(x)


def too_many_arguments():
    @lifted
    def f(x):
        return x

    @lifted
    def g(x):
        return f(x, 1)

    g(x)


def missing_argument():
    @lifted
    def f(x, y):
        return x + y

    f(x)


def unknown_argument():
    @lifted
    def f(x):
        return x

    f(x, z=1)


# ---- Lists and records


def list_of_another_function_changes():
    rows = [[x], [y]]
    plain = lambda: rows

    @lifted
    def f(x):
        xs = plain()
        xs[0] = x
        return xs

    f(x)


def parameter_grows_on_a_condition():
    @lifted
    def f(xs):
        if x > 0:
            xs.append(1)
        return xs

    f([x, y])


def call_that_changes_in_an_expression():
    @lifted
    def put(xs):
        xs[0] = 1
        return xs[0]

    @lifted
    def f(xs):
        return put(xs) + xs[0]

    f([x, y])


def one_of_two_lists_changes():
    @lifted
    def f(x):
        a, b = [x, x], [1]
        either = a if x > 0 else b
        either[0] = 1
        return a

    f(x)


def list_changes_under_its_loop():
    @lifted
    def f(x):
        xs = [x, x]
        for each in xs:
            xs[0] = each + 1
        return xs

    f(x)


def list_changes_under_enumerate():
    @lifted
    def f(x):
        xs = [x, x]
        for i, each in enumerate(xs):
            xs[1] = each + i
        return xs

    f(x)


def lambda_in_a_comprehension():
    @lifted
    def f(xs):
        return [(lambda: x)() for x in xs]

    f([x, y])


def kept_zip():
    @lifted
    def f(xs):
        pairs = zip(xs, xs)
        return [a + b for a, b in pairs]

    f([x, y])


def element_appended_to():
    @lifted
    def f(x):
        rows = [[x], [x]]
        rows[x % 2].append(x)
        return rows

    f(x)


def field_assigned():
    @lifted
    def f(point):
        point.x = 0
        return point

    f(Point(x, y))


def field_unknown():
    @lifted
    def f(point):
        return replace(point, z=0)

    f(Point(x, y))


def slice_assigned():
    @lifted
    def f(x):
        xs = [x, x]
        xs[0:1] = [x]
        return xs

    f(x)


def pop_in_an_expression():
    @lifted
    def f(x):
        xs = [x, x]
        return xs.pop() + 1

    f(x)


def list_method_unknown():
    @lifted
    def f(x):
        xs = [x, x]
        return xs.find(x)

    f(x)


def step_that_depends():
    @lifted
    def f(x):
        return [1, 2, 3][:: x]

    f(x)


def index_always_out_of_range():
    @lifted
    def f(x):
        return [x, x][2]

    f(x)


# ---- Operators


def widths_meet():
    @lifted
    def f(a, b):
        return a + b if a > 3 else a

    f(v, w)


def bits_of_an_integer():
    @lifted
    def f(x):
        return x & 1

    f(x)


def fraction():
    @lifted
    def f(x):
        return x / 2

    f(x)


def tilde_of_a_condition():
    @lifted
    def f(x):
        return ~(x > 0)

    f(x)


def identity():
    @lifted
    def f(x, y):
        return x is y

    f(x, y)


def number_without_elements():
    @lifted
    def f(x):
        return x[0]

    f(x)


# ---- Calls


def helper_that_branches():
    def helper(x):
        return 1 if x > 0 else 2

    @lifted
    def f(x):
        return helper(x) + 1

    f(x)


def helper_that_changes_its_list():
    def helper(xs):
        xs.append(0)

    @lifted
    def f(x):
        xs = [x]
        helper(xs)
        return xs

    f(x)


def built_in_without_use():
    @lifted
    def f(x):
        return eval("x")

    f(x)


def built_in_arguments():
    @lifted
    def f(x):
        return len([x], 2)

    f(x)


def function_returned():
    @lifted
    def f(x):
        return lambda: x

    f(x)


# ---- Bounds


def loop_without_end():
    @lifted(bound=4)
    def f(x):
        while x > 0:
            x -= 1
        return x

    f(x)


def recursion_without_end():
    @lifted
    def f(x):
        return f(x + 1)

    f(x)


def always_fails():
    @lifted
    def f(x):
        assert x != x + 0 and False, "never"
        return x

    f(x)


# ---- Obligations


def assertion_outside():
    assert_(x > 0)


def lifted_assertion_outside():
    @lifted
    def f(x):
        assert x > 0
        return x

    f(x)


def lookup_outside():
    lookup([1, 2, 3], x)


def assumption_is_a_number():
    with obligations():
        assume(x)


# ---- Values outside of lifted functions


def branch():
    "small" if x < 10 else "large"


def index():
    [1, 2, 3][x]


def key():
    {x: 1}


def loop():
    for _ in range(x):
        pass


def condition_is_a_number():
    select(x, 1, 2)


def kinds_differ():
    select(p, x, v)


def number_does_not_fit():
    v == 300


def alternatives_outside():
    @lifted
    def f(x):
        return None if x > 0 else x

    f(x) + 1


# ---- Queries


def outcome_as_a_condition():
    if solve(x > 0):
        pass


def values_of_no_answer():
    solve(x > 0, x < 0)[x]


def input_is_an_expression():
    synthesize(inputs=[x + 1], guarantee=x > 0)


def no_objective():
    optimize(x > 0)


def two_objectives():
    optimize(minimize=x, maximize=y)


def cost_of_inputs():
    synthesize(inputs=[x], guarantee=x == x, minimize=x)


def engine_unknown():
    solve(x > 0, solver="Z3")


def pop_without_push():
    Session(x > 0).pop()


def solutions_of_nothing():
    next(Session(x > 0).solutions())


# ---- Holes and grammars


def choice_among_nothing():
    choose()


def width_of_nothing():
    bitvector("misuse", 0)


def hole_by_position():
    @lifted
    def f(x):
        return x + hole(8)

    f(x)


def cost_before_a_call():
    @lifted
    def f(x):
        return choose(x, 1)

    cost(f)


def grammar_with_a_loop():
    @grammar
    def expr(x):
        for _ in range(2):
            x = x + x
        return x


def grammar_that_branches():
    @grammar
    def expr(x):
        if x > 0:
            return choose(x, 1)
        return choose(x, 2)

    @lifted
    def f(x):
        return expr(x)

    f(x)


def grammar_without_end():
    @grammar
    def expr(x, depth):
        return choose(x, expr(x, depth + 1) + expr(x, depth + 1))

    @lifted
    def f(x):
        return expr(x, 0)

    f(x)


def hole_with_a_name():
    hole("misuse h", width=8)


def attribute_of_a_word():
    @lifted
    def f(x):
        return x.bit_length()

    f(v)


def attribute_that_is_misspelt():
    @lifted
    def f(x):
        return x.to_integr()

    f(v)


# ---- Real numbers, functions, objectives


def float_and_real():
    real("misuse r") + 0.1


def division_of_a_real_by_zero():
    real("misuse r")

    @lifted
    def f(x):
        return x / 0

    f(real("misuse r"))


def integer_of_another_width():
    x.to_bitvector(v)


def kind_that_is_a_type():
    function("misuse f", [int], integer)


def function_of_too_many():
    function("misuse f", [integer], integer)(x, y)


def function_to_synthesize():
    f = function("misuse f", [integer], integer)
    synthesize(inputs=[x], guarantee=f(x) == x)


def arithmetic_with_a_condition():
    sum([p, q])


def symbolic_exponent():
    2**x


def weight_that_is_a_fraction():
    optimize(soft(p, weight=0.5))


def soft_condition_in_solve():
    solve(soft(p, weight=2))


def outcome_taken_apart():
    a, b = solve(x == 1, y == 2)


def inputs_without_a_list():
    synthesize(inputs=x, guarantee=x == x)


def timeout_of_nothing():
    solve(p, timeout=0)


def recursion_that_doubles():
    @lifted
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    with obligations():
        fib(x)


def real_rounded_to_digits():
    round(real("misuse r"), 2)


def rounded_to_digits():
    round(x, 2)


def sorted_in_an_unknown_direction():
    @lifted
    def f(a, b):
        return sorted([a, b], reverse=a < b)

    f(x, y)


def loop_that_always_goes_on():
    @lifted
    def f(x):
        while True:
            x = x + 1
        return x

    f(x)


def loop_whose_test_never_fails():
    @lifted
    def f(x):
        n = 1
        while n:
            n = -n
        return x

    f(x)


def pop_where_a_condition_says():
    @lifted
    def f(i):
        xs = [1, 2, 3]
        last = xs.pop(i)
        return last

    with obligations():
        f(x)


def bit_by_brackets():
    return v[3]


def element_of_a_symbolic_number():
    return x[0]


def outcome_of_a_name():
    solve(x == 3)["x"]


def shift_by_less_than_nothing():
    v >> -2


def bits_from_below():
    v.extract(0, 3)


def number_below_a_word():
    v.concat(x)


def look_up_in_nothing():
    lookup([], x)


def input_is_a_number():
    synthesize(inputs=[3], guarantee=x == x)


def product_of_matrices():
    @lifted
    def f(x):
        return x @ x

    f(x)


def text_of_a_number():
    @lifted
    def f(x):
        return str(x)

    f(x)


def sorted_in_place():
    @lifted
    def f(x):
        xs = [x, 1]
        xs.sort()
        return xs

    f(x)


@dataclass
class Account:
    balance: object


OUTSIDE = Account(1)


def one_of_two_records_changes():
    @lifted
    def f(x):
        a, b = Account(1), Account(2)
        chosen = a if x > 0 else b
        chosen.balance = 7
        return a.balance

    f(x)


def field_that_is_not_there():
    @lifted
    def f(x):
        a = Account(x)
        a.blance = 3
        return a

    f(x)


def record_that_was_not_given():
    @lifted
    def f(x):
        OUTSIDE.balance = x

    f(x)


def record_within_itself():
    @lifted
    def f(x):
        a = Account(x)
        a.balance = a

    f(x)


def nonlocal_in_an_expression():
    @lifted
    def f(x):
        n = 0

        def add():
            nonlocal n
            n += x
            return n

        return add() + add()

    f(x)


def nonlocal_of_a_plain_function():
    total = 0

    @lifted
    def f(x):
        nonlocal total
        total += x


def record_that_holds_itself_is_given():
    @lifted
    def f(a):
        return a.balance

    a = Account([x])
    a.balance.append(a)
    f(a)
