"""Formulas over the field F of p = 2^64 - 2^32 + 1 elements, read over the integers and written with bit-vectors.

An element of F is read as an integer from 0 to p - 1. A `Reading` knows values, equal elements and bounds that follow
from single assertions: a bit is at most 1, a sum of 16 bits with their weights is below 2^16. It simplifies the
assertions by them. The bounds are part of every problem that is written.

A polynomial is a difference of two sums with coefficients that are not negative. It is 0 in F if and only if this integer
is a multiple of p. The bounds say which multiples are possible. If they are few, each is a case; otherwise quotient and
remainder by p are new variables. Bit-vectors have enough digits for all values, so no operation overflows. So the problem
has the same solutions as the assertions.
"""

import functools
import itertools
import re

P = 2**64 - 2**32 + 1
# Multiples of p that are cases.
CASES = 8
# A polynomial in at most this many bits is evaluated on all of them.
CHOICES = 5


def expressions(text):
    """The expressions of SMT-LIB in a text, as nested lists."""
    stack = [[]]
    for token in re.findall(r"\(|\)|\|[^|]*\||[^\s()]+", re.sub(r"(?m)^;.*$", "", text)):
        if token == "(":
            stack.append([])
        elif token == ")":
            last = stack.pop()
            stack[-1].append(last)
        else:
            stack[-1].append(token)
    (all_of_them,) = stack
    return all_of_them


def added(a, b, factor=1):
    """a + factor b. A polynomial has a coefficient for each sorted tuple of variables."""
    out = dict(a)
    for monomial, c in b.items():
        c = (out.pop(monomial, 0) + factor * c) % P
        if c:
            out[monomial] = c
    return out


def multiplied(a, b):
    """a b."""
    out = {}
    for left, c in a.items():
        for right, d in b.items():
            out = added(out, {tuple(sorted(left + right)): c * d % P})
    return out


def polynomial(term):
    """The polynomial of a term."""
    if isinstance(term, str):
        return {(term,): 1}
    head, *rest = term
    if head == "as":
        value = int(rest[0].removeprefix("ff")) % P
        return {(): value} if value else {}
    parts = [polynomial(part) for part in rest]
    if head == "ff.add":
        return functools.reduce(added, parts)
    if head == "ff.mul":
        return functools.reduce(multiplied, parts)
    raise ValueError(f"unknown function {head}")


def formula(term):
    """True, False, ("zero", polynomial), ("not", formula), ("and", formulas) or ("or", formulas)."""
    if term in ("true", "false"):
        return term == "true"
    head, *rest = term
    if head == "!":
        return formula(rest[0])
    if head == "=":
        left, right = map(polynomial, rest)
        return ("zero", added(left, right, -1))
    if head == "not":
        return ("not", formula(rest[0]))
    if head in ("and", "or"):
        return (head, [formula(part) for part in rest])
    raise ValueError(f"unknown connective {head}")


def signed(c):
    """The integer nearest to 0 that is c modulo p."""
    return c if c <= P // 2 else c - P


class Reading:
    """Assertions, and what they say about single elements: values, and bounds."""

    def __init__(self, assertions, parent=None):
        self.values = dict(parent.values) if parent else {}
        self.bounds = dict(parent.bounds) if parent else {}
        # The variable that stands for an equal one.
        self.same = dict(parent.same) if parent else {}
        self.assertions = list(parent.assertions) if parent else []
        new = list(assertions)
        while new:
            known = self.known()
            self.assertions = self.flat(self.assertions + new)
            for one in self.assertions:
                self.learn(self.simple(one))
            new = []
            if known != self.known():
                new = [True]

    def known(self):
        """Changes if something is learned."""
        return len(self.values), len(self.same), sum(self.bounds.values()), len(self.bounds)

    def only(self, assertions, goal):
        """Some of the assertions, with what is known from all of them, and a goal."""
        part = Reading([])
        part.values, part.bounds, part.same, part.assertions = self.values, self.bounds, self.same, assertions
        return Reading([goal], part)

    def flat(self, formulas):
        """The formulas, simplified, without conjunctions."""
        out = []
        for one in formulas:
            one = self.simple(one)
            if one is True:
                continue
            out += one[1] if one is not False and one[0] == "and" else [one]
        return out

    def high(self, x):
        """The largest value of a variable."""
        return self.bounds.get(x, P - 1)

    def large(self, x):
        """Whether a variable can be more than 2^32."""
        return self.high(x) > 2**32

    def largest(self, monomial):
        """The largest value of a product."""
        out = 1
        for x in monomial:
            out *= self.high(x)
        return out

    def interval(self, poly):
        """The least and the largest value of a polynomial with signed coefficients."""
        names = {x for monomial in poly for x in monomial}
        if len(names) <= CHOICES and all(self.high(x) == 1 for x in names):
            ones = [frozenset(own) for count in range(len(names) + 1) for own in itertools.combinations(names, count)]
            values = [sum(signed(c) for monomial, c in poly.items() if own.issuperset(monomial)) for own in ones]
            return min(values), max(values)
        low = high = 0
        for monomial, c in poly.items():
            c = signed(c)
            if not monomial:
                low, high = low + c, high + c
            elif c < 0:
                low += c * self.largest(monomial)
            else:
                high += c * self.largest(monomial)
        return low, high

    def reduced(self, poly):
        """The polynomial with known values, and without powers of bits."""
        out = {}
        for monomial, c in poly.items():
            own = []
            for x in monomial:
                x = self.same.get(x, x)
                if x in self.values:
                    c = c * self.values[x] % P
                elif not (x in own and self.high(x) == 1):
                    own.append(x)
            if c:
                out = added(out, {tuple(sorted(own)): c})
        return out

    def simple(self, one):
        """An equal formula under what is known."""
        if one in (True, False):
            return one
        kind, part = one
        if kind == "zero":
            part = self.reduced(part)
            low, high = self.interval(part)
            if not part:
                return True
            number = self.number(("zero", part))
            if -(-low // P) > high // P or (number and number[1] > self.high(number[0])):
                return False
            # x^2 = x where x is 0 or 1.
            if len(part) == 2 and sorted(map(len, part)) == [1, 2] and sum(part.values()) == P:
                (x,), square = sorted(part, key=len)
                if square == (x, x):
                    return ("or", [("zero", {(x,): 1}), ("zero", {(x,): 1, (): P - 1})])
            return ("zero", part)
        if kind == "not":
            part = self.simple(part)
            if part in (True, False):
                return not part
            if part[0] == "not":
                return part[1]
            if part[0] in ("and", "or"):
                other = "or" if part[0] == "and" else "and"
                return self.simple((other, [("not", one) for one in part[1]]))
            return ("not", part)
        end = kind == "or"
        parts = []
        for one in part:
            one = self.simple(one)
            if one is end:
                return end
            if one is (not end):
                continue
            parts += one[1] if one[0] == kind else [one]
        if len(parts) < 2:
            return parts[0] if parts else not end
        numbers = {self.number(part) for part in parts} if end else {None}
        if None not in numbers and len({x for x, _ in numbers}) == 1:
            high = self.high(min(numbers)[0])
            if sum(value <= high for _, value in numbers) > high:
                return True
        return (kind, parts)

    def learn(self, one):
        """Values and bounds that follow from an assertion."""
        if one in (True, False):
            return
        if one[0] == "or":
            numbers = [self.number(part) for part in one[1]]
            if None not in numbers and len({x for x, _ in numbers}) == 1:
                self.bound(numbers[0][0], max(value for _, value in numbers))
            return
        if one[0] != "zero":
            return
        if number := self.number(one):
            self.values[number[0]] = number[1]
            return
        poly = one[1]
        if len(poly) == 2 and list(map(len, poly)) == [1, 1] and sum(poly.values()) == P:
            first, second = sorted(x for (x,) in poly)
            self.bound(first, self.high(second))
            self.same = {x: first if y == second else y for x, y in self.same.items()} | {second: first}
            return
        for monomial, c in poly.items():
            alone = sum(monomial[:1] == (x,) for other in poly for x in other) == 1
            if len(monomial) == 1 and signed(c) in (1, -1) and alone:
                rest = {other: -signed(c) * d % P for other, d in poly.items() if other != monomial}
                low, high = self.interval(rest)
                if low >= 0 and high < self.high(monomial[0]):
                    self.bound(monomial[0], high)

    def number(self, one):
        """The variable and its value, if that is what a formula says."""
        if one in (True, False) or one[0] != "zero":
            return None
        poly = one[1]
        names = [monomial for monomial in poly if monomial]
        if len(names) != 1 or len(names[0]) != 1:
            return None
        return names[0][0], -poly.get((), 0) * pow(poly[names[0]], -1, P) % P

    def bound(self, x, high):
        if high == 0:
            self.values[x] = 0
        elif high < self.high(x):
            self.bounds[x] = high


class Writer:
    """Writes formulas of a reading with bit-vectors."""

    def __init__(self, reading):
        self.reading = reading
        self.declared = {}
        self.lines = []

    def variable(self, x):
        """The bit-vector of a variable, and its number of digits."""
        if x not in self.declared:
            high = self.reading.high(x)
            self.declared[x] = self.fresh(x, high)
        return self.declared[x]

    def fresh(self, name, high):
        digits = max(high.bit_length(), 1)
        self.lines.append(f"(declare-const {name} (_ BitVec {digits}))")
        if high != 2**digits - 1:
            self.lines.append(f"(assert (bvule {name} (_ bv{high} {digits})))")
        return name, digits

    def product(self, monomial):
        """A product of variables: bits are cases."""
        bits = [x for x in monomial if self.reading.high(x) == 1]
        others = [self.variable(x) for x in monomial if self.reading.high(x) > 1]
        if others:
            out, digits = others[0]
            for other, own in others[1:]:
                out, digits = f"(bvmul {wide(out, digits, digits + own)} {wide(other, own, digits + own)})", digits + own
        else:
            out, digits = self.variable(bits.pop())
        if bits:
            case = " ".join(f"(= {self.variable(x)[0]} #b1)" for x in bits)
            case = f"(and {case})" if len(bits) > 1 else case
            out = f"(ite {case} {out} (_ bv0 {digits}))"
        return out, digits

    def sum(self, terms, width):
        """A sum of products with coefficients, in this many digits. Products whose digits do not overlap need no
        addition."""
        layers, rest = [], []
        for monomial, c in sorted(terms, key=lambda term: (term[1], term[0])):
            if not monomial:
                rest.append(f"(_ bv{c} {width})")
                continue
            value, digits = self.product(monomial)
            shift = c.bit_length() - 1
            if c != 1 << shift:
                rest.append(f"(bvmul (_ bv{c} {width}) {wide(value, digits, width)})")
                continue
            for layer in layers:
                if layer[-1][0] + layer[-1][2] <= shift:
                    layer.append((shift, value, digits))
                    break
            else:
                layers.append([(shift, value, digits)])
        rest += [joined(layer, width) for layer in layers]
        return functools.reduce(lambda a, b: f"(bvadd {a} {b})", rest) if rest else f"(_ bv0 {width})"

    def zero(self, poly):
        """The statement that a polynomial is 0 in F."""
        reading = self.reading
        sides = [[], []]
        for monomial, c in poly.items():
            c = signed(c)
            sides[c < 0].append((monomial, abs(c)))
        high = [sum(c * reading.largest(monomial) for monomial, c in side) for side in sides]
        first, last = -(high[1] // P), high[0] // P
        width = self.width(sides, sum(high) + (2 * P if max(high) >= P else 0))
        if last - first < CASES:
            # The digits of one number are equal to an expression of the rest.
            side = max((0, 1), key=lambda side: len(self.number(sides[side])))
            number = self.number(sides[side])
            rest = [term for term in sides[side] if term not in number]
            number, rest, other = (self.sum(terms, width) for terms in (number, rest, sides[1 - side]))
            value = f"(bvsub {other} {rest})"
            cases = []
            for k in range(first, last + 1):
                k = (k if side == 0 else -k) * P % 2**width
                cases.append(f"(= {number} (bvadd {value} (_ bv{k} {width})))" if k else f"(= {number} {value})")
            return f"(or {' '.join(cases)})" if len(cases) > 1 else cases[0]
        # left - right + a multiple of p that is at least right.
        multiple = -(-high[1] // P)
        left, right = (self.sum(side, width) for side in sides)
        count = len(self.declared)
        (q, of_q), (r, of_r) = self.fresh(f"|q {count}|", high[0] // P + multiple), self.fresh(f"|r {count}|", P - 1)
        self.declared |= {q: (q, of_q), r: (r, of_r)}
        value = f"(bvsub (bvadd {left} (_ bv{multiple * P} {width})) {right})"
        again = f"(bvadd (bvmul (_ bv{P} {width}) {wide(q, of_q, width)}) {wide(r, of_r, width)})"
        self.lines.append(f"(assert (= {value} {again}))")
        return f"(= {r} (_ bv0 {of_r}))"

    def number(self, side):
        """The terms of a sum that are digits of one number: products of bits with different powers of two."""
        bit = lambda monomial: monomial and self.reading.largest(monomial) == 1
        own = {c: monomial for monomial, c in side if c & (c - 1) == 0 and bit(monomial)}
        return [(monomial, c) for c, monomial in own.items()]

    def width(self, sides, most):
        """Digits for all values up to `most`, and for each product."""
        digits = most.bit_length() + 1
        for monomial, c in sides[0] + sides[1]:
            own = sum(self.variable(x)[1] for x in monomial if self.reading.high(x) > 1)
            digits = max(digits, own + c.bit_length() + 1)
        return digits

    def formula(self, one):
        if one in (True, False):
            return str(one).lower()
        kind, part = one
        if kind == "zero":
            return self.zero(part)
        if kind == "not":
            return f"(not {self.formula(part)})"
        return f"({kind} {' '.join(self.formula(one) for one in part)})"


def wide(value, digits, width):
    """A bit-vector with more digits."""
    return value if digits == width else f"((_ zero_extend {width - digits}) {value})"


def joined(layer, width):
    """The sum of values at places that do not overlap."""
    parts, at = [], 0
    for shift, value, digits in layer:
        if shift > at:
            parts.append(f"(_ bv0 {shift - at})")
        parts.append(value)
        at = shift + digits
    if at < width:
        parts.append(f"(_ bv0 {width - at})")
    return f"(concat {' '.join(reversed(parts))})" if len(parts) > 1 else parts[0]


def head(text):
    """The reading of a file's assertions."""
    return Reading([formula(one[1]) for one in expressions(text) if one[0] == "assert"])


def goal_of(text):
    """The formula of a goal."""
    ((_, term),) = [one for one in expressions(text) if one[0] == "assert"]
    return formula(term)


def in_bits(reading):
    """The reading's assertions in the theory of bit-vectors."""
    writer = Writer(reading)
    written = [f"(assert {writer.formula(one)})" for one in reading.assertions]
    return "\n".join(["(set-logic QF_BV)", *writer.lines, *written]) + "\n"


def names(one):
    """The variables of a formula."""
    if one in (True, False):
        return set()
    if one[0] == "zero":
        return {x for monomial in one[1] for x in monomial}
    return names(one[1]) if one[0] == "not" else set().union(*map(names, one[1]))


def parts(reading, goal, known):
    """Three readings with the goal and ever more assertions: those that have a variable of the goal and else known ones;
    those that have a variable of the goal and else known ones and bits, and what is said about all of these; all that have
    known variables and bits. Only a contradiction in them says something about the whole."""
    goal = reading.simple(goal)
    own = names(goal)
    known = {reading.same.get(x, x) for x in known} | own
    bits = lambda one: all(x in known or reading.high(x) == 1 for x in names(one))
    all_of_them = [one for one in reading.assertions if bits(one)]
    touching = [one for one in all_of_them if not own.isdisjoint(names(one))]
    around = own.union(*map(names, touching))
    near = [one for one in touching if names(one) <= known]
    close = [one for one in all_of_them if names(one) <= around]
    return [reading.only(assertions, goal) for assertions in (near, close, all_of_them)]


def in_field(reading):
    """The reading's equations and its last assertion, in the theory of finite fields. Only a contradiction says something
    about the reading."""
    own = [one for one in reading.assertions[:-1] if one is not False and one[0] == "zero"] + reading.assertions[-1:]
    used = sorted(set().union(*map(names, own)))
    lines = ["(set-logic QF_FF)", f"(define-sort F () (_ FiniteField {P}))"]
    lines += [f"(declare-const {x} F)" for x in used]
    lines += [f"(assert (= (ff.mul {x} {x}) {x}))" for x in used if reading.high(x) == 1]
    return "\n".join(lines + [f"(assert {field(one)})" for one in own]) + "\n"


def field(one):
    """A formula in the theory of finite fields."""
    if one in (True, False):
        return str(one).lower()
    kind, part = one
    if kind == "zero":
        sides = [[], []]
        for monomial, c in sorted(part.items(), key=lambda term: (abs(signed(term[1])), term[0])):
            c = signed(c)
            factors = [*(() if abs(c) == 1 and monomial else (f"(as ff{abs(c)} F)",)), *monomial]
            sides[c < 0].append(f"(ff.mul {' '.join(factors)})" if len(factors) > 1 else factors[0])
        left, right = (f"(ff.add {' '.join(side)})" if len(side) > 1 else [*side, "(as ff0 F)"][0] for side in sides)
        return f"(= {left} {right})"
    if kind == "not":
        return f"(not {field(part)})"
    return f"({kind} {' '.join(field(one) for one in part)})"


def multiplies(reading):
    """Whether the assertions multiply large numbers: bit-vectors are no help then."""
    polys = [one[1] for one in reading.assertions if one is not False and one[0] == "zero"]
    return any(sum(map(reading.large, monomial)) > 1 for poly in polys for monomial in poly)
