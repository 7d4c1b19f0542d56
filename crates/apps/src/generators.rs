//! The generators of this crate's applications, by which their circuits are written to the cache and read.

use evergrove_recursion::gates::GeneratorKind;

use crate::bls::{AdditionGenerator, SplitGenerator, SquareGenerator};
use crate::nonnative::{ComplementGenerator, QuotientGenerator};

/// In the order in which they are numbered: additions go to the end, other changes raise
/// [`CIRCUITS_VERSION`](crate::family::CIRCUITS_VERSION).
pub(crate) static GENERATORS: [GeneratorKind; 5] = [
    GeneratorKind::of::<QuotientGenerator>(),
    GeneratorKind::of::<ComplementGenerator>(),
    GeneratorKind::of::<SplitGenerator>(),
    GeneratorKind::of::<SquareGenerator>(),
    GeneratorKind::of::<AdditionGenerator>(),
];
