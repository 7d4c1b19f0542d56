//! Lines of the circuits of applications without which nothing else can be stated, and why. Each argument is about the
//! circuit without this one line: it may use every other line.

/// Those of queries.
pub(super) const QUERIES: &[(&str, &str)] = &[
    (
        "tables.rs: Bit: let t = b.bit_of(&differences, |x| Goldilocks::new(x.iter().all(|x| *x == ZERO).into()));",
        "If a difference is not 0, t is 0, because their product is. If all differences are 0, t is the sum, which is 1.",
    ),
    ("tables.rs: Equation: b.boolean(one)", "The constant 1 is a bit."),
    ("tables.rs: Equation: b.boolean(constant)", "The constant of a condition without tests is 0 or 1."),
    (
        "tables.rs: Equation: b.equal(carry, zero);",
        "This is the carry of a sum of products. By the ranges of its limbs and carries the limbs are those of the sum as \
         an integer. A circuit adds at most 2^12 products below 2^126 without carries, so the sum is below 2^138, and the \
         carry from bit 192 is 0.",
    ),
];

/// Those of keys.
pub(super) const KEYS: &[(&str, &str)] = &[(
    "tables.rs: Bit: let finite = b.bit_of(&[sum], |x| Goldilocks::new((x[0] != ZERO).into()));",
    "The row of the point demands that its bit is a bit.",
)];
