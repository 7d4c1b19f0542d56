"""Constraints and ports of a row at a point (docs/math/tables.md)."""
from reference import P, ROUND
from grove.field import FULL, INPUTS_CUT, MATRIX, OUTPUTS, PARTIAL, combine
from grove.key import TABLES

WIRE, NODE, PUBLIC, SET, RANGE = 1, 2, 3, 4, 5  # namespaces


def root_of_unity(log_order):
    return pow(7277203076849721926, 1 << (32 - log_order), P)


class Row:
    """The values of a table's columns at a point: c committed, x fixed. `one` is what the constant 1 is worth, `number` the row's
    number, `place(j)` the place of port j."""

    def __init__(self, key, table, committed, fixed, one, number):
        self.key, self.K, self.c, self.x, self.one, self.number, self.zero = key, key.K, committed, fixed, one, number, key.K.of(0)
        self.start, self.log = key.layout.first_place[table], key.layout.variables[table]

    def place(self, port):
        return self.number + (self.start + (port << self.log)) * self.one

    def word(self, elements):
        return [*elements, *[self.zero] * (4 - len(elements))]

    def wire(self, number, word):
        return [WIRE * self.one, number, self.zero, *self.word(word)]

    def use(self, number, word):
        return -self.one, self.wire(number, word)

    def define(self, port, uses, word):
        return uses, self.wire(self.place(port), word)

    def use_or_define(self, port, check, last, word):
        """A use of wire `last` where check is 1; else the definition of the port's wire, with `last` uses."""
        no = self.one - check
        return no * last - check, self.wire(check * last + no * self.place(port), word)

    def element(self, first):
        return self.c[first : first + self.K.D]


def bit(x):
    return x * x - x


def extension_product(row, a, b):
    """The product in K of two elements given by coefficients that are columns."""
    if row.K.D == 2:
        return [a[0] * b[0] + 7 * (a[1] * b[1]), a[0] * b[1] + a[1] * b[0]]
    p3, p4 = a[1] * b[2] + a[2] * b[1], a[2] * b[2]
    return [a[0] * b[0] + p3, a[0] * b[1] + a[1] * b[0] + p3 + p4, a[0] * b[2] + a[1] * b[1] + a[2] * b[0] + p4]


def poseidon_constraints(row, outputs):
    """Columns 0 to 117 are the inputs of the S-boxes, those of the first round without constants; then come outputs. Each column
    from 12 on, less its linear form in the S-boxes' results before it, is 0."""
    c, K, one, out = row.c, row.K, row.one, []
    at = 12

    def demand(forms):
        nonlocal at
        columns = c[at : at + len(forms)]
        out.extend(x - form for x, form in zip(columns, forms))
        at += len(forms)
        return [x.pow7() for x in columns]

    def linear(boxes, round):
        constants = ROUND[12 * round : 12 * round + 12] if round < 30 else [0] * 12
        return [combine(K, [*line, k], [*boxes, one]) for line, k in zip(MATRIX, constants)]

    boxes = [(x + k * one).pow7() for x, k in zip(c[:12], ROUND[:12])]
    for r in range(1, FULL):
        boxes = demand(linear(boxes, r))
    known = [one, *(combine(K, line, boxes) for line in MATRIX)]
    for form in INPUTS_CUT:
        known += demand([combine(K, form, known)])
    r = FULL + PARTIAL
    boxes = demand([combine(K, form, known) + k * one for form, k in zip(OUTPUTS, ROUND[12 * r : 12 * r + 12])])
    for r in range(FULL + PARTIAL + 1, 30):
        boxes = demand(linear(boxes, r))
    demand(linear(boxes, 30)[:outputs])
    return out


def permutation(row):
    """f(m; h): m are columns 0 to 7, h 8 to 11, the digest 118 to 121."""
    c, zero, one = row.c, row.zero, row.one
    index, level, active, offered = c[122], c[123], c[124], c[125:127]
    use_l, free_l, use_r, free_r, field, inner, cap, leaf_row, digest_row = row.x[:9]
    number = row.x[9:]  # of each port
    m, h, digest = c[:8], c[8:12], c[118:122]
    pair = field if row.K.D == 2 else zero

    constraints = poseidon_constraints(row, 4) + [inner * x for x in h]
    if row.K.D == 3:
        constraints += [field * m[3], field * m[7]]
    idle = (one - active) * inner
    constraints += [bit(active), idle * offered[0], idle * offered[1]]

    ports = []
    # 0: use of h as a wire, or of the node (index, level + 1, digest)
    hashes = use_l + free_l + cap
    ports.append((-(hashes + inner * active), [
        WIRE * hashes + NODE * inner, number[0] + inner * index, inner * (level + one),
        *(hashes * x + inner * y for x, y in zip(h, digest))]))  # fmt: skip
    # 1, 2: the halves of m: use, definition, node of a cap, or the node below
    nodes = inner + cap
    for side, (use, free) in enumerate([(use_l, free_l), (use_r, free_r)]):
        key = use * number[1 + side] + free * row.place(1 + side) + cap * number[1] + 2 * (inner * index)
        if side:
            key = key + nodes
        half = m[4 * side : 4 * side + 4]
        ports.append((free * number[1 + side] - use + nodes * offered[side], [
            WIRE * one + (NODE - WIRE) * nodes, key, inner * level + cap * number[2],
            half[0], half[1], (one - pair) * half[2], (one - pair) * half[3]]))  # fmt: skip
    # 3, 4: the second element of K of each half; in a leaf row its index and its node; the digest of public inputs
    for side, (use, free) in enumerate([(use_l, free_l), (use_r, free_r)]):
        n = number[3 + side]
        key = pair * (use * n + free * row.place(3 + side))
        times = pair * (free * n - use) - leaf_row
        first, second = (pair * x for x in m[4 * side + 2 : 4 * side + 4])
        if side == 0:
            ports.append((times, [WIRE * one, key + leaf_row * n, zero, first + leaf_row * index, second, zero, zero]))
        else:
            either = leaf_row + digest_row
            word = [x + either * d for x, d in zip([first, second, zero, zero], digest)]
            space = WIRE * pair + NODE * leaf_row + PUBLIC * digest_row
            ports.append((times + digest_row, [space, key + leaf_row * index, leaf_row * n, *word]))
    # 5, 6, 7: definitions of the digest as a word, of its first and of its second element of K
    D = row.K.D
    second = digest[D : 2 * D] if 2 * D <= 4 else []
    for port, word in [(5, digest), (6, digest[:D]), (7, second)]:
        ports.append(row.define(port, number[port], word))
    return constraints, ports


def operation(row):
    """d = q0 a b + q1 a + q2 c in K."""
    D, x = row.K.D, row.x
    a, b, c, d = (row.element(i * D) for i in range(4))
    ab = extension_product(row, a, b)
    constraints = [d[i] - (x[0] * ab[i] + x[1] * a[i] + x[2] * c[i]) for i in range(D)]
    ports = [row.use(n, word) for n, word in zip(x[4:7], (a, b, c))]
    return constraints, ports + [row.use_or_define(3, x[3], x[7], d)]


def dot_table(row):
    """after = before + sum of x_j w_j, x in F and w in K."""
    D, x = row.K.D, row.c[:4]
    w = [row.element(4 + i * D) for i in range(4)]
    before, after = row.element(4 + 4 * D), row.element(4 + 5 * D)
    constraints = [after[i] - (before[i] + row.K.sum([x[j] * w[j][i] for j in range(4)])) for i in range(D)]
    ports = [row.use(n, word) for n, word in zip(row.x, [x, *w, before])]
    return constraints, ports + [row.define(6, row.x[6], after)]


def query_table(row):
    """y = product over v of (1 + r_v (z^(2^v) - 1)), z the domain's point of an index."""
    key, D, one = row.key, row.K.D, row.one
    n, v = key.query_bits, key.query_variables
    products, pairs = -(-n // 6), -(-v // 2)
    cut = [0, n, n + products, n + products + pairs - 1]
    bits, z_products, powers = (row.c[a:b] for a, b in zip(cut, cut[1:]))
    r = [row.element(cut[3] + i * D) for i in range(v)]
    y = [row.element(cut[3] + (v + i) * D) for i in range(pairs)]
    constraints = [bit(b) for b in bits]
    before = one
    for i, column in enumerate(z_products):
        for j in range(6 * i, min(6 * i + 6, n)):
            before = (root_of_unity(j + 1) - 1) * (before * bits[j]) + before
        constraints.append(before - column)
        before = column
    power = before
    for pair in range(pairs):
        square = power * power
        weight = [one, *[row.zero] * (D - 1)] if pair == 0 else y[pair - 1]
        for coordinate, z in list(zip(r[2 * pair : 2 * pair + 2], [power, square])):
            factor = [(z - one) * x for x in coordinate]
            factor[0] = factor[0] + one
            weight = extension_product(row, weight, factor)
        constraints += [a - b for a, b in zip(weight, y[pair])]
        if pair + 1 < pairs:
            constraints.append(square * square - powers[pair])
            power = powers[pair]
    index = combine(row.K, [1 << j for j in range(n)], bits)
    ports = [row.use(row.x[0], [index])]
    ports += [row.use(row.x[1 + i], r[i]) for i in range(v)]
    return constraints, ports + [row.define(v + 1, row.x[v + 1], y[-1])]


def bits_table(row):
    """64 bits of an element; modes: three indices of so many bits, or zeros in a range."""
    key, K = row.key, row.K
    widths, modes = len(key.widths), len(key.widths) + len(key.zeros)
    constraints = [bit(b) for b in row.c]
    for mode, (first, last) in zip(row.x[widths : widths + len(key.zeros)], key.zeros, strict=True):
        constraints.append(mode * K.sum(row.c[first:last]))
    ports = [row.use(row.x[modes], [combine(K, [1 << j for j in range(64)], row.c)])]
    for i in range(3):
        low = [combine(K, [1 << j for j in range(n)], row.c[21 * i : 21 * i + n]) for n in key.widths]
        index = K.sum([mode * x for mode, x in zip(row.x, low)])
        ports.append(row.define(1 + i, row.x[modes + 1 + i], [index]))
    return constraints, ports


def constant_table(row):
    return [], [row.define(0, row.x[4], row.x[:4])]


def tuple_table(row):
    """The tuple (space, key, level, word), as often as times * count says."""
    key, level, word, count = row.c[0], row.c[1], row.c[2:6], row.c[6]
    space, times, used, free, *numbers = row.x
    ports = [row.use(n, w) for n, w in zip(numbers, ([key], [level], word))]
    ports.append(row.use_or_define(3, used, numbers[3], [count]))
    ports.append((times * count, [space, key, level, *word]))
    return [(row.one - free) * bit(count)], ports


def sponge_table(row):
    """A permutation whose whole state is wires: two are defined, the third is used, the next three are defined."""
    ports = []
    for port in range(6):
        first = 4 * port if port < 3 else 118 + 4 * (port - 3)
        word = row.c[first : first + 4]
        ports.append(row.use(row.x[2], word) if port == 2 else row.define(port, row.x[port], word))
    return poseidon_constraints(row, 12), ports


def range_table(row):
    """The row's own number, as often as the prover says."""
    return [], [(row.c[0], [RANGE * row.one, row.number, *[row.zero] * 5])]


ROW = dict(zip(TABLES, [permutation, operation, dot_table, query_table, bits_table, constant_table, tuple_table, sponge_table, range_table]))
