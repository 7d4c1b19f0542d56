//! Lines without which nothing else can be stated, and why. Each argument is about the circuit without this one line:
//! it may use every other line.

/// Lines of joins.
pub(super) const JOINS: &[(&str, &str)] = &[(
    "mpt.rs: Bit: let some = b.bit();",
    "Where the second proof is below the first one, `some` counts look-ups and 1 - some a row of a set, so it is a \
         bit. Elsewhere it is only multiplied by `below`, which is 0.",
)];

/// Lines of pieces as [`named`](evergrove_testkit::demands::named) writes them, with the reason.
pub(super) const LINES: &[(&str, &str)] = &[
    // Claims.
    (
        "claims.rs: Bit: let (account, of_account, there) = (self.b.any(), self.b.any(), self.b.bit());",
        "The look-up of the status leaves 0, 1 and 2. With 2 no value is present, by `implies(present, there)`. Then \
         `absent` has 2 as its bit. `nothing`, `child` and `way` are bits, so both `other` and `without` are 1: the \
         place has the depth -1, and it is the own place of a node, whose depth is at least 0.",
    ),
    (
        "claims.rs: Bit: let alone = self.b.bit_of(&[first], |x| number(x[0].as_u64() < 0x80));",
        "Where a value is present, `same(present, alone, single)` makes it a bit. Elsewhere all that depends on it is \
         multiplied by `present`, which is 0.",
    ),
    (
        "claims.rs: Equation: let absent = self.b.boolean(absent);",
        "It is active - known, both are bits, and `implies(known, active)` excludes -1. (`implies(known, active)` has \
         this line as its own argument: one of the two is needed.)",
    ),
    ("claims.rs: Equation: let both = self.b.boolean(both);", "It is the product of two bits."),
    (
        "claims.rs: Equation: let known = self.b.boolean(known);",
        "It is the sum of two bits. If it were 2, `absent` would be -1 or -2, which `boolean(absent)` refuses.",
    ),
    (
        "claims.rs: Equation: self.implies(key.bit, before.bit);",
        "An unused slot has a greater key than every used one: a lane of 2^60, or the trie `NO_TRIE` or `NO_ENTRIES`. \
         So `rises` refuses a used slot behind it.",
    ),
    (
        "claims.rs: Equation: self.implies(known, active);",
        "With known = 1 and active = 0 `absent` is -1, which `boolean(absent)` refuses.",
    ),
    (
        "claims.rs: Equation: self.implies(present, active);",
        "With present = 1 and active = 0 `zero_slot` is -1, but it counts a row that gives to the set.",
    ),
    (
        "claims.rs: Equation: self.implies(present, there);",
        "The value is in a leaf whose trie is the account's number. Such a leaf is below the account's own leaf, which \
         offers the status 1, or below a root whose storage bit is 1, which looks up the status 1. An account offers \
         one status, and the slot looks it up as `there`.",
    ),
    (
        "claims.rs: Equation: self.same(bit, sum, one);",
        "In `rises`; the line of `begins` is needed. Without a flag the gap is 0, and 0 - 1 is not below 2^60. With \
         several flags the elements before the first one are equal, and `vanishes(bit, equal)` makes the differences \
         at all further ones 0. So the gap is the first difference, and it is positive.",
    ),
    // Edges.
    (
        "edges.rs: Equation: self.implies(edge.storage, active);",
        "With storage = 1 and active = 0 `other` is -1, but it counts rows of a set.",
    ),
    // Entries.
    (
        "entries.rs: Bit: let [active, present] = [(); 2].map(|()| self.b.bit());",
        "`present` counts look-ups, and `absent`, which is active - present, counts a row of a set: both are bits. \
         With present = 1 `implies(present, active)` makes `active` 1; otherwise it is `absent`.",
    ),
    (
        "entries.rs: Bit: let only = self.b.bit_of(&[before_value, content], |x| number(x[0] == x[1]));",
        "`vanishes(only, difference)` makes it 0 unless the last step begins sixteen bytes before the value. Then the \
         last step is the first one, and no step looks up the last word that depends on `only`.",
    ),
    (
        "entries.rs: Bit: let single = self.b.bit_of(&[first], |x| number(x[0].as_u64() < 0x80));",
        "It is 0 unless the size is 1, by `same(single, size, one)`. Then no length follows, and `boolean(plain)` is \
         about 1 - single, so it is a bit. With 0 and the size 1, `above` is alone - 2, which is not a byte. Where no \
         entry is present, nothing depends on it.",
    ),
    (
        "entries.rs: Equation: let plain = self.b.boolean(plain);",
        "The sum of `single` and the two bits of `long` is at most 1: no form 3 is offered, and `same(single, size, \
         one)` demands a size of 1, while forms 1 and 2 are offered with sizes 2 and 3.",
    ),
    (
        "entries.rs: Equation: self.implies(present, active);",
        "With present = 1 and active = 0 `absent` is -1, but it counts a row that gives to the set.",
    ),
    // What slots share.
    ("gadgets.rs: Equation: let yes = b.boolean(one);", "It is about a constant, 1."),
    (
        "gadgets.rs: Bit: let alone = self.b.bit_of(&[rest], |x| number(x[0] == ZERO));",
        "`vanishes(alone, rest)` makes it 0 unless rest is 0; if rest is 0, `same(more, product, one)` makes it 1.",
    ),
    // Nodes.
    (
        "node.rs: Bit: let [active, leaf, embedded] = [(); 3].map(|()| self.b.bit());",
        "`active`, `extension` and `hashed` count look-ups, so they are bits, and leaf = active - extension and \
         embedded = active - hashed are from -1 to 1. They are -1 only in an unused slot, and there \
         `implies(leaf, active)`, then `implies(embedded, leaf)` exclude -1.",
    ),
    (
        "node.rs: Bit: let embedded = self.b.bit_of(&[first], |x| number((0xc0..0xf8).contains(&x[0].as_u64())));",
        "`is_hash` is a bit, and `boolean(full)` leaves -1, 0 and 1. -1 makes the kind -1, which no child offers; an \
         unused slot offers no address.",
    ),
    (
        "node.rs: Bit: let is_hash = self.b.bit_of(&[first], |x| number(x[0].as_u64() == 0xa0));",
        "`embedded` is a bit, and `boolean(full)` leaves -1, 0 and 1. -1 makes the kind 3, which no child offers; in an \
         unused slot it makes the address of the window negative, and nothing is read there.",
    ),
    (
        "node.rs: Equation: self.implies(embedded, leaf);",
        "In an unused slot `hashed` would be -1, but it counts look-ups. An embedded extension has a header of at most \
         de, hence 30 bytes, and its path and its hash have at least 34.",
    ),
    (
        "node.rs: Equation: self.implies(leaf, active);",
        "With leaf = 1 and active = 0 `extension` is -1, but it counts a look-up.",
    ),
];
