//! Lines of the circuits of batches without which nothing else can be stated, and why. Each argument is about the
//! circuit without this one line: it may use every other line. Nodes have height h and number q; H is the height of the
//! class, and 2^k are the slots of a block.

/// Those of the bucket.
pub(super) const BUCKET: &[(&str, &str)] = &[(RISING, SUM)];

/// Those of the merge.
pub(super) const MERGE: &[(&str, &str)] = &[(RISING, SUM)];

/// Those of the block of complete batches.
pub(super) const BLOCK: &[(&str, &str)] = &[
    (
        "block.rs: Bit: let active = b.node(tree, leaf.digest(), zero, index, None);",
        "1 - active counts the look-up of an empty leaf, so it is a bit.",
    ),
    (
        FLAG,
        "Flags from level k on count look-ups of nodes, so they are bits. If one of them is 1, the flags below it are 1 \
         too, because flags do not rise. Otherwise h is the sum of the k lowest flags, of which only the last one that \
         is not 0 may be another number x. If x is not 0 or 1, h is below k or 2^(H - h) is not positive: slots have \
         2^k positions below the node, and 2^(H - h) - 1 - q is not negative.",
    ),
    (
        RISING,
        "The height is the sum of the flags, and sizes are products over all of them: their order says nothing. It is \
         at least k, since 2^k slots hang below the node. If a flag from k to below h is 0, then one from h on is 1, and \
         it demands a node beside the path at h or above. No such node is below the root, and at h the node beside the \
         path is not the root, to which the path leads.",
    ),
    (INDEX, WITHIN),
    (LEFT, WITHIN),
];

/// Those of the merge of complete batches.
pub(super) const COMPLETE_MERGE: &[(&str, &str)] = &[(INDEX, FRACTION), (LEFT, FRACTION)];

const FLAG: &str = "circuit.rs: Bit: let flags: Vec<Bool> = (0..most).map(|_| b.bit()).collect();";
const RISING: &str = "circuit.rs: Equation: implies(b, pair[1], pair[0]);";
const SUM: &str = "The height is the sum of the flags, and sizes are products over all of them: their order says \
                   nothing. (Complete batches use single flags.)";
const INDEX: &str = "circuit.rs: Zeros: b.zeros(index, size.zeros());";
const LEFT: &str = "circuit.rs: Zeros: b.zeros(left, size.zeros());";
const WITHIN: &str = "The other one of these two lines makes q a whole number between -2^H and 2^H. If h is k, the positions \
                      of the slots are q 2^h plus numbers below 2^h. By the bits of the path they are from 0 to below \
                      2^H, and 2^(H + k) does not exceed p, so q is from 0 to below 2^(H - h). Otherwise the number \
                      beside the path at level h - 1 is 2 q or 2 q + 1, a number of the tree, so it is from 0 to below \
                      2^(H - h + 1).";
/// In class H40 the products exceed p, and this does not hold. With h = 40, q = 2^25 and the node as its own parent, the
/// position q 2^39 is 2^32 - 1 modulo p, which is below 2^39, and only `LEFT` refuses; with q = 1 - 2^25 only `INDEX`. The
/// left child is then at a position that is not a multiple of its size, and no proof states this.
const FRACTION: &str = "For H + h below 64: the other one of these two lines makes q a whole number between -2^H and 2^H. \
                        The parent has height h' + 1, and its number is q 2^(h - h' - 1) plus a number below \
                        2^(h - h' - 1). By the bits of the path 2^h' times this number is from 0 to below 2^(H - 1), so \
                        q is from 0 to below 2^(H - h).";
