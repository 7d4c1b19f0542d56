//! No bytes make a verifier panic or prove a false statement.

#![cfg(feature = "ark")]

use ark_bls12_381::Fr;
use ark_ff::Field;
use evergrove_kernels::multilinear::sumcheck::{
    Order, ProductCheck, SpongeVerifier, SumCheck, Term, VirtualPolynomial, ZeroCheck,
};
use proptest::prelude::*;

proptest! {
    #[test]
    fn sum_checks_refuse_any_bytes(
        proof in prop::collection::vec(any::<u8>(), 0..600),
        mask in 0u8..128,
        variables in 0usize..5,
        high in any::<bool>(),
    ) {
        // Small highest bytes make elements below the modulus.
        let proof: Vec<u8> = proof.iter().enumerate().map(|(i, x)| if i % 32 == 31 { x & mask } else { *x }).collect();
        let order = if high { Order::HighFirst } else { Order::LowFirst };
        let terms = vec![Term::new(Fr::ONE, [0, 1]), Term::new(-Fr::ONE, [1])];
        let polynomial = VirtualPolynomial::new(variables, 2, terms).unwrap();
        let transcript = || SpongeVerifier::new(b"tests", b"tables", &proof);

        // Zeros prove that zeros are 0; random bytes prove no 1.
        let zero = ZeroCheck::new(polynomial.clone(), order).verify(&mut transcript());
        prop_assert!(zero.is_err() || proof.iter().take(64).all(|x| *x == 0));
        prop_assert!(SumCheck::new(polynomial.clone(), order).verify(Fr::ONE, &mut transcript()).is_err());
        let weighted = SumCheck::weighted(polynomial, vec![Fr::ONE; variables], order).unwrap();
        prop_assert!(weighted.verify(Fr::ONE, &mut transcript()).is_err());
        if variables > 0 {
            let product = ProductCheck::new(variables, 1, 1, order).unwrap();
            prop_assert!(product.verify(Fr::ONE, &mut transcript()).is_err());
        }
    }
}
