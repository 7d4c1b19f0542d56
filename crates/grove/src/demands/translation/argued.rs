//! Lines of the circuits of digest translation without which nothing else can be stated, and why. Each argument is about
//! the circuit without this one line: it may use every other line.

/// Those of the bucket.
pub(super) const BUCKET: &[(&str, &str)] = &[(
    "translation.rs: Bit: let active: Base = b.node(tree, leaf.digest(), zero, index, None).into();",
    "1 - active counts the look-up of an empty leaf, so it is a bit.",
)];

/// Those of the bucket of OpenZeppelin's tree.
pub(super) const OPENZEPPELIN_BUCKET: &[(&str, &str)] = &[(SWAP, PLACES)];

/// Those of the merge of OpenZeppelin's tree.
pub(super) const OPENZEPPELIN_MERGE: &[(&str, &str)] = &[
    (SWAP, PLACES),
    (
        "translation.rs: Bit: let empty: [Bool; 2] = core::array::from_fn(|_| b.bit());",
        "`boolean(there)` is about 1 - empty.",
    ),
];

const SWAP: &str = "openzeppelin.rs: Bit: let swap = b.bit();";
const PLACES: &str = "With s for the bit, word i of the left child is given to the place 2 s + i, and that of the right \
                      child to 2 - 2 s + i. If both are there, the places 0 to 3 are taken once each and given by \
                      nothing else, so s is 0 or 1. If only one is there, 0 and 1 are taken, and it is at 0. If none \
                      is, nothing depends on s.";
