"""The argument: bus, rows, opening, claims about fixed columns (docs/math/transcript.md, docs/math/rows.md, docs/math/sumcheck.md)."""
from reference import P
from grove.field import combine, dot, eq, eq_table, horner
from grove.refusal import Refusal
from grove.tables import PUBLIC, ROW, Row, root_of_unity
from grove.transcript import BASE_ORACLE, EXTENSION_ORACLE, PUBLIC_INPUTS, Proof, TRANSCRIPT


def round_eq(claim, w, message, r):
    """s(r) for s = c_0 + c_1 X + .., the message c_1, ..; (1 - w) s(0) + w s(1) = claim."""
    return horner([claim - w * type(claim).sum(message), *message], r)


def round_plain(claim, message, r):
    """The same for s(0) + s(1) = claim."""
    half = (P + 1) // 2
    return horner([half * (claim - type(claim).sum(message)), *message], r)


def verify_bus(proof, variables, delta):
    """The fractions of all places sum to 1 / delta: the point of the leaves, numerator and denominator there."""
    K = proof.K
    p0, p1, q0, q1, inverse = proof.receive(5)
    numerator, denominator = p0 * q1 + p1 * q0, q0 * q1
    proof.demand(numerator * delta == denominator, "the bus: N delta = Q does not hold")
    proof.demand(denominator * delta * inverse == K.of(1), "the bus: no inverse of Q delta")
    point = []
    for layer in range(variables):
        if layer:
            l = proof.challenge()
            claim, following = p + l * q, list(point)
            for variable in reversed(range(layer)):
                message = proof.receive(2)
                r = proof.challenge()
                claim = round_eq(claim, point[variable], message, r)
                following[variable] = r
            p0, p1, q0, q1 = proof.receive(4)
            proof.demand(p0 * q1 + p1 * q0 + l * (q0 * q1) == claim, f"the bus: layer {layer}")
            point = following
        r = proof.challenge()
        point.append(r)
        p, q = p0 + r * (p1 - p0), q0 + r * (q1 - q0)
    return point, p, q


def eq_range(K, r, first, count):
    """eq(r, i) for i = first, .., first + count - 1."""
    out = []
    for i in range(first, first + count):
        total = K.of(1)
        for j, x in enumerate(r):
            total = total * (x if i >> j & 1 else K.of(1) - x)
        out.append(total)
    return out


def verify_rows(proof, key, leaves, alpha, beta):
    """The sum over all rows of ports and constraints: the point, and the values of all columns there."""
    K, layout = key.K, key.layout
    rho, numerator, denominator = leaves
    places, rho_blocks, padding = {}, {}, K.of(1)
    for t in layout.tables:
        n = layout.variables[t]
        places[t] = eq_range(K, rho[n:], layout.first_place[t] >> n, key.columns(t)[2])
        rho_blocks[t] = eq_range(K, rho[9:n], 0, key.blocks[t])
        padding = padding - K.sum(places[t]) * K.sum(rho_blocks[t])
    l = proof.challenge()
    claim = numerator + l * (denominator - padding)
    r = [None] * layout.row_variables
    for variable in [*reversed(range(9)), *range(9, layout.row_variables)]:
        message = proof.receive(7 if variable < 9 else 8)
        x = proof.challenge()
        claim = round_eq(claim, rho[variable], message, x) if variable < 9 else round_plain(claim, message, x)
        r[variable] = x

    values = proof.receive(sum(sum(key.columns(t)[:2]) for t in layout.tables))
    committed, fixed, at = {}, {}, 0
    for t in layout.tables:
        c, x, _ = key.columns(t)
        committed[t], fixed[t] = values[at : at + c], values[at + c : at + c + x]
        at += c + x

    total, power = K.of(0), l * l
    for t in layout.tables:
        n, blocks = layout.variables[t], eq_range(K, r[9 : layout.variables[t]], 0, key.blocks[t])
        one = K.sum(blocks)
        number = combine(K, [1 << i for i in range(9)], r[:9]) * one + combine(K, [512 * b for b in range(len(blocks))], blocks)
        constraints, ports = ROW[t](Row(key, t, committed[t], fixed[t], one, number))
        row = K.of(0)
        for weight, (times, fields) in zip(places[t], ports, strict=True):
            row = row + weight * (times + l * (alpha * one - horner(fields, beta)))
        for constraint in constraints:
            row, power = row + power * constraint, power * l
        weight = K.sum([a * b for a, b in zip(rho_blocks[t], blocks)]) * eq(K, rho[n : len(r)], r[n:])
        total = total + weight * row
    proof.demand(total == claim, "rows: constraints and ports at the point do not give the claim")
    return r, committed, fixed


def combined(K, stack, values, eta):
    """The values of the pieces' columns times powers of eta; a piece takes 2^width powers."""
    total, power = K.of(0), K.of(1)
    for piece in stack.pieces:
        total = total + power * horner(values[piece.table][piece.first : piece.last], eta)
        for _ in range(1 << piece.width):
            power = power * eta
    return total


def chunk_weights(key, stack, point, eta):
    """(piece, the weight of each of its chunks of 512 places without that of the row within its block), for all pieces."""
    K, power = key.K, key.K.of(1)
    for piece in stack.pieces:
        blocks = eq_range(K, point[9 : key.layout.variables[piece.table]], 0, piece.blocks)
        powers = [power]
        for _ in range(1 << piece.width):
            powers.append(powers[-1] * eta)
        power = powers.pop()
        yield piece, [b * e for b in blocks for e in powers]


def stack_weight(key, point, eta, s):
    """The value at s of the weights of the committed stack: piece by piece, the row's nine bits, the column's, the block's."""
    K, total, power = key.K, key.K.of(0), key.K.of(1)
    for piece in key.layout.committed.pieces:
        n = 9 + piece.width
        blocks = eq_range(K, point[9 : key.layout.variables[piece.table]], 0, piece.blocks)
        there = eq_range(K, s[n:], piece.start >> n, piece.blocks)
        weight, square = K.sum([a * b for a, b in zip(blocks, there)]), eta
        for x in s[9:n]:
            weight = weight * (K.of(1) - x + x * square)
            square = square * square
        total = total + power * weight
        for _ in range(1 << piece.width):
            power = power * eta
    return total * eq(K, point[:9], s[:9])


def domain_point(index):
    """The product of the roots of unity of order 2^(j + 1) over the bits j of the index."""
    z = 1
    for j in range(index.bit_length()):
        if index >> j & 1:
            z = z * root_of_unity(j + 1) % P
    return z


def powers_weight(K, z, s):
    """The product over v of (1 + s_v (z^(2^v) - 1)), for z in F or K."""
    total, one = K.of(1), K.of(1)
    for x in s:
        if isinstance(z, int):
            total, z = total + (z - 1) * (total * x), z * z % P
        else:
            total, z = total * (one + x * (z - one)), z * z
    return total


def leaf_value(K, leaf, weights):
    """The sum of elements of F times weights, or of elements of K, given by coefficients, times weights."""
    if len(leaf) == len(weights):
        return combine(K, leaf, weights)
    D = K.D
    total = K.of(0)
    for i, w in enumerate(weights):
        total = total + K(tuple(leaf[i * D : (i + 1) * D])) * w
    return total


def verify_opening_of_stack(proof, key, tree, samples, claim):
    """WHIR: the claim that the sum of weights times the stack is `claim` becomes (weights at s) * value = claim'. Returns s, the
    value, claim' and what samples and queries have added to the weights at s."""
    K = key.K
    variables, s, asked = key.variables, [None] * key.variables, []

    def fold(variable):
        message = proof.receive(2)
        s[variable] = proof.challenge()
        return round_plain(claim, message, s[variable])

    def sample(count):
        return [(proof.challenge(), proof.receive(1)[0]) for _ in range(count)]

    def join(samples, indices, values):
        """Values of samples, then of queries, times powers of a challenge are added to the claim."""
        nonlocal claim
        joining = power = proof.challenge()
        for value in [v for _, v in samples] + list(values()):
            claim, power = claim + power * value, power * joining
        asked.append((variables, [z for z, _ in samples] + [domain_point(i) for i in indices], joining))

    if samples:
        join(samples, [], lambda: [])
    for i, (folds, rate, queries, cap, bits, _) in enumerate(key.rounds):
        top, variables = variables, variables - folds
        for variable in reversed(range(variables, top)):
            claim = fold(variable)
        this, depth = tree, variables + rate
        if i + 1 < len(key.rounds):
            _, rate, _, cap, _, count = following = key.rounds[i + 1]
            tree = proof.receive_cap(variables - following[0] + rate, cap)
            samples = sample(count)
        else:
            last, samples = proof.receive(1 << variables), []
        proof.work(bits)
        indices = proof.indices(queries, depth)
        weights = eq_table(K, s[variables:top])
        weights, start = (weights[: key.width], BASE_ORACLE) if i == 0 else (weights, EXTENSION_ORACLE)
        words = len(weights) * (1 if i == 0 else K.D) // 4
        join(samples, indices, lambda: (leaf_value(K, proof.open(this, start, x, words), weights) for x in indices))
    for variable in reversed(range(variables)):
        claim = fold(variable)
    for x in reversed(s[:variables]):
        n = len(last) // 2
        last = [a + x * (b - a) for a, b in zip(last[:n], last[n:])]
    weight = K.of(0)
    for variables, points, joining in asked:
        weight = weight + joining * horner([powers_weight(K, z, s[:variables]) for z in points], joining)
    return s, last[0], claim, weight


def chunk_sums(K, stack, row):
    """The sum of each chunk of 512 elements of F with the weights of its rows."""
    coefficients = list(zip(*(x.c for x in row)))
    for i in range(0, len(stack), 512):
        chunk = stack[i : i + 512]
        yield K(tuple(dot(chunk, c) % P for c in coefficients))


def fixed_value(key, circuit, point, eta):
    """What the fixed columns of a circuit at the point, combined by eta, are."""
    K, total = key.K, key.K.of(0)
    sums = list(chunk_sums(K, key.stacks[circuit], eq_table(K, point[:9])))
    for piece, weights in chunk_weights(key, key.layout.fixed, point, eta):
        first = piece.start >> 9
        total = total + K.sum([a * b for a, b in zip(sums[first : first + len(weights)], weights)])
    return total


def stacks_at(key, z):
    """P(z): both stacks as one polynomial, whose highest variable says which."""
    K, row = key.K, eq_table(key.K, z[:9])
    chunks, total = eq_table(K, z[9:-1]), key.K.of(0)
    for stack, which in zip(key.stacks, (K.of(1) - z[-1], z[-1])):
        total = total + which * K.sum([a * b for a, b in zip(chunk_sums(K, stack, row), chunks)])
    return total


def verify_up_to_fixed(proof, key, digest, circuit, public):
    """All but the claim about fixed columns: its point, eta, and the values of fixed columns there. `digest` is that of the key,
    `public` that of the public inputs."""
    K = key.K
    proof.begin(TRANSCRIPT)
    proof.observe([digest, public])
    proof.observe_elements([K.of(circuit)])
    folds, rate, _, cap, _, count = key.rounds[0]
    tree = proof.receive_cap(key.variables - folds + rate, cap)
    samples = [(proof.challenge(), proof.receive(1)[0]) for _ in range(count)]
    alpha, beta = proof.challenge(), proof.challenge()
    delta = alpha - horner([K.of(x) for x in [PUBLIC, 0, 0, *public]], beta)
    leaves = verify_bus(proof, key.layout.bus_variables, delta)
    r, committed, fixed = verify_rows(proof, key, leaves, alpha, beta)
    eta = proof.challenge()
    claim = combined(K, key.layout.committed, committed, eta)
    s, last, claim, weight = verify_opening_of_stack(proof, key, tree, samples, claim)
    weight = weight + stack_weight(key, r, eta, s)
    proof.demand(weight * last == claim, "the opening: weights times value are not the claim")
    proof.end()
    return r, eta, fixed


def verify_body(key, circuit, information, elements):
    """All that a proof of one of the key's circuits must fulfil, for public inputs that are these words."""
    K, D = key.K, key.K.D
    coordinates = key.layout.fixed.variables + 1
    handed = (coordinates + 1) * D
    if len(elements) < handed:
        raise Refusal("truncated", f"a body of {len(elements)} elements (expected {handed} and more)")
    claim = [K(tuple(elements[i : i + D])) for i in range(0, handed, D)]
    z, value = claim[:-1], claim[-1]
    proof = Proof(K, elements[handed:])
    proof.begin(PUBLIC_INPUTS)
    proof.observe_elements(claim)
    proof.observe([key.digest, [len(information), coordinates, 0, 0], *information])
    r, eta, fixed = verify_up_to_fixed(proof, key, key.digest, circuit, proof.h)
    proof.demand(fixed_value(key, circuit, r, eta) == combined(K, key.layout.fixed, fixed, eta),
                 "the fixed columns are not those of the key's circuit")  # fmt: skip
    proof.demand(stacks_at(key, z) == value, "the claim that the proof hands on is wrong: a proof below is of another key")
