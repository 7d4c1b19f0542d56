"""Assignments over the field F that satisfy assertions, found by guessing and checked by evaluation.

`find` sets a variable, puts its value into all assertions, and sets the variables whose values follow, until none is
left. It has no backtracking: the circuits' equations define their columns one after the other, so most guesses succeed.
It answers yes only if all assertions and one of the goals are true with the values, so it needs no solver.
"""

import random

from smt_integers import P, expressions, formula

# Guesses for one problem.
TRIES = 12


def find(head, goals, inputs):
    """Whether an assignment was found that satisfies the assertions of a text and one of the goals, which are formulas."""
    assertions = [formula(one[1]) for one in expressions(head) if one[0] == "assert"]
    names = [one[1] for one in expressions(head) if one[0] == "declare-const"]
    # Inputs first. A removed constraint leaves its column to the guesses.
    order = [*inputs, *(name for name in names if name not in set(inputs))]
    for seed in range(TRIES):
        values = guess(assertions, order, random.Random(seed))
        if values and all(holds(one, values) for one in assertions) and any(holds(goal, values) for goal in goals):
            return True
    return False


def guess(assertions, order, source):
    """Values for all variables, or None if an assertion became false."""
    values, left = {}, list(assertions)
    booleans = {name for one in assertions for part in parts_of(one) for name in boolean(part)}
    # Small values are likelier to satisfy bounds, and any value is likelier to break an equation.
    choices = [0, 1] if source.random() < 0.5 else [0, 1, 2, 255, None]
    while True:
        left = follow(left, values, booleans, source)
        if left is None:
            return None
        name = next((name for name in order if name not in values), None)
        if name is None:
            return values
        value = source.choice([0, 1] if name in booleans else choices)
        values[name] = source.randrange(P) if value is None else value


def follow(assertions, values, booleans, source):
    """Sets the variables whose values follow. Returns the assertions that are left, or None if one is false."""
    while True:
        left, known = [], len(values)
        for one in assertions:
            one = put(one, values)
            if one is False:
                return None
            if one is True:
                continue
            for part in parts_of(one):
                for name, value in digits(part, booleans) or [solved(part)]:
                    if name is not None and values.setdefault(name, value) != value:
                        return None
            left.append(one)
        assertions = left
        if known == len(values):
            # A choice between values of one variable.
            picked = next((one for one in left if one[0] == "or" and all(solved(part)[0] for part in one[1])), None)
            if picked is None:
                return left
            name, value = solved(source.choice(picked[1]))
            values[name] = value


def put(one, values):
    """The formula with known values: True, False or a smaller formula."""
    if one in (True, False):
        return one
    kind, part = one
    if kind == "zero":
        poly = polynomial(part, values)
        return ("zero", poly) if any(poly) else not poly
    if kind == "not":
        part = put(part, values)
        return (not part) if part in (True, False) else ("not", part)
    end = kind == "or"
    parts = [put(part, values) for part in part]
    if end in parts:
        return end
    parts = [part for part in parts if part is not (not end)]
    return (kind, parts) if len(parts) > 1 else parts[0] if parts else not end


def polynomial(poly, values):
    out = {}
    for monomial, c in poly.items():
        for name in monomial:
            c = c * values.get(name, 1) % P
        rest = tuple(name for name in monomial if name not in values)
        c = (out.pop(rest, 0) + c) % P
        if c:
            out[rest] = c
    return out


def solved(one):
    """The variable that an equation is about and its value, or None twice."""
    if one in (True, False) or one[0] != "zero":
        return None, None
    names = [monomial for monomial in one[1] if monomial]
    if len(names) != 1 or len(names[0]) != 1:
        return None, None
    return names[0][0], -one[1].get((), 0) * pow(one[1][names[0]], -1, P) % P


def digits(one, booleans):
    """The bits of a number, if an equation says that it is a sum of bits with different powers of two."""
    if one[0] != "zero" or len(one[1]) < 3:
        return []
    rest = -one[1].get((), 0) % P
    places = {c: names for names, c in one[1].items() if names}
    if P - 1 in places:
        places, rest = {P - c: names for c, names in places.items()}, -rest % P
    if len(places) < len([names for names in one[1] if names]):
        return []
    if any(len(names) != 1 or names[0] not in booleans or c & (c - 1) for c, names in places.items()):
        return []
    return [(names[0], int(rest & c > 0)) for c, names in places.items()]


def parts_of(one):
    """The parts of a conjunction."""
    return one[1] if one not in (True, False) and one[0] == "and" else [one]


def boolean(one):
    """The variable that is 0 or 1, if a formula says only that."""
    if one in (True, False) or one[0] != "zero" or len(one[1]) != 2:
        return []
    short, long = sorted(one[1], key=len)
    return [short[0]] if len(short) == 1 and long == 2 * short and sum(one[1].values()) == P else []


def holds(one, values):
    """Whether a formula is true. All its variables have values."""
    return put(one, values) is True
