//! ProductCheck: the tree of products, the proofs, and the remaining checks.

use ark_bls12_381::Fr;
use ark_ff::{Field, Zero};
use evergrove_kernels::multilinear::sumcheck::{
    ProductCheck, ProductEvaluations, ProductWitness, ProveError, ShapeError, SpongeProver, SpongeVerifier, VerifyError,
};

use super::common::{Elements, ORDERS, isas, mle, slices};

/// Elements other than 0.
fn table(elements: &mut Elements, variables: usize) -> Vec<Fr> {
    let table = elements.table(variables);
    table.into_iter().map(|x: Fr| if x.is_zero() { Fr::from(3) } else { x }).collect()
}

fn check_evaluations(
    end: &ProductEvaluations<Fr>,
    product: Fr,
    witness: &ProductWitness<'_, Fr>,
    numerators: &[Vec<Fr>],
    denominators: &[Vec<Fr>],
) {
    let v = [witness.fraction(), witness.product_mle()].concat();
    let at = |front: &[Fr], back: &[Fr]| mle(&v, &[front, &end.point, back].concat());
    assert_eq!(at(&[], &[Fr::ONE]), end.product);
    assert_eq!(at(&[Fr::zero()], &[]), end.left);
    assert_eq!(at(&[Fr::ONE], &[]), end.right);
    let mut root = vec![Fr::ONE; end.point.len() + 1];
    root[0] = Fr::zero();
    assert_eq!(mle(&v, &root), product);
    if let Some(value) = end.fraction {
        assert_eq!(at(&[], &[Fr::zero()]), value);
        let values = |tables: &[Vec<Fr>]| tables.iter().map(|table| mle(table, &end.point)).collect::<Vec<_>>();
        assert_eq!(values(numerators), end.numerators);
        assert_eq!(values(denominators), end.denominators);
    }
}

#[test]
fn products_and_quotients_are_proven() {
    let mut elements = Elements::new(20);
    for variables in [1, 2, 5, 9, 13] {
        for (above, below) in [(1, 0), (1, 1), (2, 0), (3, 2)] {
            let numerators: Vec<_> = (0..above).map(|_| table(&mut elements, variables)).collect();
            let denominators: Vec<_> = (0..below).map(|_| table(&mut elements, variables)).collect();
            let total = |tables: &[Vec<Fr>]| tables.iter().flatten().product::<Fr>();
            for order in ORDERS {
                let check = ProductCheck::new(variables, above, below, order).unwrap();
                let (f, g) = (slices(&numerators), slices(&denominators));
                let mut buffer = vec![Fr::zero(); check.witness_len()];
                let witness = ProductWitness::new(&check, &f, &g, &mut buffer).unwrap();
                let values = |tables: &[Vec<Fr>], i: usize| tables.iter().map(|table| table[i]).product::<Fr>();
                for (i, fraction) in witness.fraction().iter().enumerate() {
                    assert_eq!(*fraction * values(&denominators, i), values(&numerators, i));
                }
                for isa in isas() {
                    let mut other = vec![Fr::ONE; check.witness_len()];
                    let other = ProductWitness::new_on(isa, &check, &f, &g, &mut other).unwrap();
                    assert_eq!(other.product_mle(), witness.product_mle());
                }
                assert_eq!(witness.product() * total(&denominators), total(&numerators));
                let mut workspace = vec![Fr::zero(); check.workspace()];
                let mut proofs = Vec::new();
                for isa in isas() {
                    let mut transcript = SpongeProver::new(b"tests", b"v");
                    let (product, end) =
                        check.prove_on(isa, &witness, &f, &g, &mut workspace, &mut transcript).unwrap();
                    assert_eq!(product, witness.product());
                    let proof = transcript.into_proof();
                    let mut transcript = SpongeVerifier::new(b"tests", b"v", &proof);
                    assert_eq!(check.verify(product, &mut transcript).unwrap(), end);
                    transcript.finish().unwrap();
                    check_evaluations(&end, product, &witness, &numerators, &denominators);
                    let mut transcript = SpongeVerifier::new(b"tests", b"v", &proof);
                    let refused = check.verify(product + Fr::ONE, &mut transcript);
                    assert_eq!(refused, Err(VerifyError::FinalEvaluation { rounds: variables }));
                    proofs.push(proof);
                }
                assert!(proofs.windows(2).all(|pair| pair[0] == pair[1]), "{order:?}");
            }
        }
    }
}

#[test]
fn the_product_mle_holds_every_level() {
    let values: Vec<Fr> = (1..=8).map(Fr::from).collect();
    let check = ProductCheck::new(3, 1, 0, ORDERS[0]).unwrap();
    let mut buffer = [Fr::ONE; 8];
    let witness = ProductWitness::new(&check, &[&values], &[], &mut buffer).unwrap();
    let expected = [2, 12, 30, 56, 24, 1680, 40320, 0].map(Fr::from);
    assert_eq!(witness.product_mle(), expected);
    assert_eq!(witness.product(), Fr::from(40320));
    assert_eq!(witness.fraction(), values);
}

#[test]
fn bad_sizes_and_denominators_are_reported() {
    let order = ORDERS[0];
    let shape = |variables, above, below| ProductCheck::<Fr>::new(variables, above, below, order).err();
    assert_eq!(shape(0, 1, 0), Some(ShapeError::Constant));
    assert_eq!(shape(3, 0, 1), Some(ShapeError::Constant));
    assert_eq!(shape(41, 1, 0), Some(ShapeError::Variables { variables: 41 }));
    assert_eq!(shape(3, 9, 0), Some(ShapeError::Degree { term: 3, degree: 9 }));
    assert_eq!(shape(3, 1, 8), Some(ShapeError::Degree { term: 2, degree: 9 }));

    let check = ProductCheck::new(1, 1, 1, order).unwrap();
    let (one, three) = ([Fr::ONE; 2], [Fr::ONE; 3]);
    let witness = |above: &[&[Fr]], below: &[&[Fr]]| ProductWitness::new(&check, above, below, &mut [Fr::ONE; 4]).err();
    assert_eq!(witness(&[], &[&one]), Some(ProveError::Tables { found: 0, expected: 1 }));
    assert_eq!(witness(&[&one], &[&three]), Some(ProveError::Values { table: 0, found: 3, expected: 2 }));
    let zero = [Fr::ONE, Fr::zero()];
    assert_eq!(witness(&[&one], &[&zero]), Some(ProveError::Denominator { table: 0, index: 1 }));

    let short = ProductWitness::new(&check, &[&one], &[&one], &mut [Fr::ONE; 3]).err();
    assert_eq!(short, Some(ProveError::Witness { found: 3, expected: 4 }));

    let mut buffer = [Fr::ONE; 4];
    let witness = ProductWitness::new(&check, &[&one], &[&one], &mut buffer).unwrap();
    let mut transcript = SpongeProver::new(b"tests", b"v");
    let found = check.workspace() - 1;
    let short = check.prove(&witness, &[&one], &[&one], &mut vec![Fr::zero(); found], &mut transcript);
    assert_eq!(short.err(), Some(ProveError::Workspace { found, expected: check.workspace() }));
    // A witness for other tables.
    let two = [Fr::from(2); 2];
    let wrong = check.prove(&witness, &[&two], &[&one], &mut vec![Fr::zero(); found + 1], &mut transcript);
    assert_eq!(wrong.err(), Some(ProveError::Claim { rounds: 1 }));
}
