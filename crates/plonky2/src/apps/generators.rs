//! The generators of the applications' circuits, for writing circuits to the cache and reading them.

use super::bls::{AdditionGenerator, SplitGenerator, SquareGenerator};
use crate::apps::nonnative::{ComplementGenerator, QuotientGenerator};
use crate::gates::GeneratorKind;

/// In the order in which they are numbered: additions go to the end, other changes raise
/// [`CIRCUITS_VERSION`](crate::apps::circuit_set::CIRCUITS_VERSION).
pub(crate) static GENERATORS: [GeneratorKind; 5] = [
    GeneratorKind::of::<QuotientGenerator>(),
    GeneratorKind::of::<ComplementGenerator>(),
    GeneratorKind::of::<SplitGenerator>(),
    GeneratorKind::of::<SquareGenerator>(),
    GeneratorKind::of::<AdditionGenerator>(),
];

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use evergrove_apps::bls::BlsKeys;
    use evergrove_verifier::{HeightClass, Profile, Scheme};
    use plonky2::plonk::circuit_data::CircuitData;

    use crate::apps::circuit_set::{CircuitSetSpec, Size};
    use crate::circuit::{Builder, C, D, F};
    use crate::gates::{Gates, Generators};
    use crate::setup::PairSpec;

    /// A bucket of keys has all of them, and is decoded from its bytes with every wire of every generator.
    #[test]
    fn circuits_with_them_come_back_from_their_bytes() {
        let size = Size { capacity: 2, degree_bits: 10 };
        let spec = CircuitSetSpec::new(Arc::new(BlsKeys), Scheme::Selected, Profile::Paper, HeightClass::H27, size);
        let mut b = Builder::new(spec.spec().config.clone());
        spec.bucket(&mut b);
        let circuit = b.build::<C>();
        let generators = Generators::with(spec.generators());
        let bytes = circuit.to_bytes(&Gates, &generators).expect("every generator is in the list");
        let again = CircuitData::<F, C, D>::from_bytes(&bytes, &Gates, &generators).expect("the same list");
        assert!(again.to_bytes(&Gates, &generators).expect("as before") == bytes);
        assert_eq!(again.prover_only.generators.len(), circuit.prover_only.generators.len());
        for cut in [1, bytes.len() / 2] {
            assert!(CircuitData::<F, C, D>::from_bytes(&bytes[..cut], &Gates, &generators).is_err());
        }
        assert!(circuit.to_bytes(&Gates, &Generators::with(&[])).is_err(), "plonky2's list and our gates' lack some");
    }
}
