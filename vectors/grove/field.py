"""F, Poseidon and the tree (docs/formats.md, Conventions and Hashing), and the extension K."""
import operator, struct

from reference import CIRCULANT, P, ROUND

MATRIX = [[CIRCULANT[(i - r) % 12] + (8 if i == r == 0 else 0) for i in range(12)] for r in range(12)]
FULL, PARTIAL = 4, 22  # rounds: 4 full, 22 partial, 4 full


def dot(a, b):
    return sum(map(operator.mul, a, b))


def partial_forms():
    """The partial rounds as linear forms in (1, state before them, S-box results so far): one form for the input of each
    round's S-box, and twelve for the state behind the last round. 1, 12 and 22 coefficients, so a form is a list of 35."""
    size = 1 + 12 + PARTIAL
    state = [[int(j == 1 + i) for j in range(size)] for i in range(12)]
    inputs = []
    for r in range(PARTIAL):
        for i in range(12):
            state[i][0] = (state[i][0] + ROUND[12 * (FULL + r) + i]) % P
        inputs.append(state[0])
        state[0] = [int(j == 13 + r) for j in range(size)]
        state = [[sum(m * f[j] for m, f in zip(row, state)) % P for j in range(size)] for row in MATRIX]
    return inputs, state


INPUTS, OUTPUTS = partial_forms()
# What each round's S-box needs: only results of earlier rounds.
INPUTS_CUT = [form[: 13 + r] for r, form in enumerate(INPUTS)]


def full_round(s, r):
    s = [pow(x + c, 7, P) for x, c in zip(s, ROUND[12 * r : 12 * r + 12])]
    return [dot(row, s) % P for row in MATRIX]


def permute(s):
    """Plonky2's Poseidon permutation of twelve elements."""
    for r in range(FULL):
        s = full_round(s, r)
    s = [1, *s]
    for form in INPUTS_CUT:
        s.append(pow(dot(form, s), 7, P))
    s = [dot(form, s) % P for form in OUTPUTS]
    for r in range(FULL + PARTIAL, 2 * FULL + PARTIAL):
        s = full_round(s, r)
    return s


def tag(text):
    """Four ASCII letters as a big-endian number; a text of another length likewise."""
    return int.from_bytes(text.encode(), "big")


def f(message, capacity):
    """f(m; h): the first four elements of the permutation of (m, h)."""
    return permute([*message, *capacity])[:4]


def leaf(index, value):
    return f([index, *value, 0, 0, 0], [tag("LEAF"), 0, 0, 0])


def node(left, right):
    return f([*left, *right], [0] * 4)


NULL = [f([0] * 8, [tag("NULL"), 0, 0, 0])]
for _ in range(40):
    NULL.append(node(NULL[-1], NULL[-1]))


def sponge(elements, start):
    s = [0] * 8 + [start, 0, 0, 0]
    for i in range(0, len(elements), 8):
        block = elements[i : i + 8]
        s = permute(block + s[len(block) :])
    return s[:4]


def byte_sponge(data, domain):
    """Groups of seven bytes, the last one padded with zeros, at least one; the tag has domain and length."""
    groups = [int.from_bytes(data[i : i + 7], "little") for i in range(0, max(len(data), 1), 7)]
    return sponge(groups, (tag(domain) << 32) + len(data))


def canonical(leaves):
    """The canonical digest of (index, leaf digest), by increasing index (docs/concepts.md): while two neighbours are the only
    members of their common subtree, they become one; a stack does this in one pass."""
    stack = []  # (index, digest, level at which it meets the one below it on the stack)
    for index, digest in leaves:
        level = (stack[-1][0] ^ index).bit_length() if stack else 64
        while len(stack) > 1 and stack[-1][2] < level:
            (i, left, at), (_, right, _) = stack[-2], stack[-1]
            stack[-2:] = [(i, node(left, right), at)]
        stack.append((index, digest, level))
    while len(stack) > 1:
        (i, left, at), (_, right, _) = stack[-2], stack[-1]
        stack[-2:] = [(i, node(left, right), at)]
    return stack[0][1]


def root_of(height, leaves):
    """The root of the tree with these (index, leaf digest), all other slots empty."""
    level = dict(leaves)
    for h in range(height):
        level = {i >> 1: node(level.get(i & ~1, NULL[h]), level.get(i | 1, NULL[h])) for i in level}
    return level.get(0, NULL[height])


def digest_text(digest):
    return struct.pack("<4Q", *digest).hex()


class Extension:
    """An element of K = F[X] of degree D by its coefficients, that of 1 first. Integers stand for elements of F."""

    __slots__ = ("c",)

    def __init__(self, c):
        self.c = c

    @classmethod
    def of(cls, x):
        return cls((x % P, *[0] * (cls.D - 1)))

    @classmethod
    def sum(cls, terms):
        return cls(tuple(sum(c) % P for c in zip(*(t.c for t in terms)))) if terms else cls.of(0)

    def __add__(self, other):
        return type(self)(tuple((a + b) % P for a, b in zip(self.c, other.c)))

    def __sub__(self, other):
        return type(self)(tuple((a - b) % P for a, b in zip(self.c, other.c)))

    def __neg__(self):
        return type(self)(tuple(-a % P for a in self.c))

    def __eq__(self, other):
        return self.c == other.c

    def __rmul__(self, k):
        return type(self)(tuple(a * k % P for a in self.c))

    def pow7(self):
        cube = self * self * self
        return cube * cube * self


class Quadratic(Extension):
    """X^2 = 7."""

    __slots__ = ()
    D = 2

    def __mul__(self, other):
        (a, b), (c, d) = self.c, other.c
        return Quadratic(((a * c + 7 * b * d) % P, (a * d + b * c) % P))


class Cubic(Extension):
    """X^3 = X + 1, hence X^4 = X^2 + X."""

    __slots__ = ()
    D = 3

    def __mul__(self, other):
        (a, b, c), (d, e, f) = self.c, other.c
        p3, p4 = b * f + c * e, c * f
        return Cubic(((a * d + p3) % P, (a * e + b * d + p3 + p4) % P, (a * f + b * e + c * d + p4) % P))


def horner(values, x):
    """The sum of values[i] x^i."""
    total = values[-1]
    for v in reversed(values[:-1]):
        total = total * x + v
    return total


def eq_table(K, r):
    """eq(r, i) for all i, bit j of i against coordinate j."""
    table = [K.of(1)]
    for x in r:
        high = [t * x for t in table]
        table = [t - h for t, h in zip(table, high)] + high
    return table


def eq(K, a, b):
    """The product of a_i b_i + (1 - a_i)(1 - b_i)."""
    total = K.of(1)
    for x, y in zip(a, b):
        both = x * y
        total = total * (K.of(1) - x - y + both + both)
    return total


def combine(K, coefficients, values):
    """The sum of coefficients in F times values in K."""
    return K(tuple(dot(coefficients, c) % P for c in zip(*(v.c for v in values))))
