//! Wrong statements, wrong messages and bytes that are not a proof.

use ark_bls12_381::Fr;
use ark_ff::{BigInteger, Field, PrimeField, Zero};
use evergrove_kernels::multilinear::sumcheck::{
    MAX_DEGREE, Order, ProveError, ShapeError, SpongeProver, SpongeVerifier, SumCheck, Tables, Term, TranscriptError,
    VerifyError, VirtualPolynomial, ZeroCheck,
};

use super::common::{Elements, ORDERS, slices};

const VARIABLES: usize = 4;

struct Proven {
    check: SumCheck<Fr>,
    claim: Fr,
    proof: Vec<u8>,
}

fn proven(weighted: bool, order: Order) -> Proven {
    let mut elements = Elements::new(30);
    let polynomial = VirtualPolynomial::product(VARIABLES, 2).unwrap();
    let tables = elements.tables(VARIABLES, 2);
    let check = if weighted {
        SumCheck::weighted(polynomial, (0..VARIABLES).map(|_| elements.random()).collect(), order).unwrap()
    } else {
        SumCheck::new(polynomial, order)
    };
    let mut workspace = vec![Fr::zero(); check.workspace()];
    let mut transcript = SpongeProver::new(b"tests", b"tables");
    let tables = slices(&tables);
    let tables = Tables { tables: &tables, workspace: &mut workspace };
    let (claim, _) = check.prove(tables, None, &mut transcript).unwrap();
    Proven { check, claim, proof: transcript.into_proof() }
}

impl Proven {
    fn verify_with(&self, check: &SumCheck<Fr>, claim: Fr, names: [&[u8]; 2], proof: &[u8]) -> Result<(), VerifyError> {
        let mut transcript = SpongeVerifier::new(names[0], names[1], proof);
        check.verify(claim, &mut transcript)?;
        Ok(transcript.finish()?)
    }

    fn verify(&self, proof: &[u8]) -> Result<(), VerifyError> {
        self.verify_with(&self.check, self.claim, [b"tests", b"tables"], proof)
    }
}

const WRONG: Result<(), VerifyError> = Err(VerifyError::FinalEvaluation { rounds: VARIABLES });

#[test]
fn every_wrong_element_is_refused() {
    for (weighted, order) in [(false, Order::LowFirst), (true, Order::HighFirst)] {
        let proven = proven(weighted, order);
        proven.verify(&proven.proof).unwrap();
        let elements = proven.proof.len() / 32;
        // Round messages first, then the final evaluations: one more than it was, and every pair exchanged.
        for i in 0..elements {
            let mut proof = proven.proof.clone();
            let element = &mut proof[32 * i..][..32];
            let wrong = Fr::from_le_bytes_mod_order(element) + Fr::ONE;
            element.copy_from_slice(&wrong.into_bigint().to_bytes_le());
            assert_eq!(proven.verify(&proof), WRONG, "element {i}");
            for j in 0..i {
                let mut proof = proven.proof.clone();
                let (front, back) = proof.split_at_mut(32 * i);
                front[32 * j..][..32].swap_with_slice(&mut back[..32]);
                // The product of the two values at the end does not tell them apart: their owners' openings do.
                let symmetric = i == elements - 1 && j == elements - 2;
                assert_eq!(proven.verify(&proof), if symmetric { Ok(()) } else { WRONG }, "elements {i} and {j}");
            }
        }
        // Whole rounds exchanged.
        for round in 1..VARIABLES {
            let mut proof = proven.proof.clone();
            let (front, back) = proof.split_at_mut(64 * round);
            front[64 * (round - 1)..].swap_with_slice(&mut back[..64]);
            assert_eq!(proven.verify(&proof), WRONG, "round {round}");
        }
    }
}

#[test]
fn another_statement_is_refused() {
    let mut elements = Elements::new(31);
    for weighted in [false, true] {
        let proven = proven(weighted, Order::LowFirst);
        let names: [&[u8]; 2] = [b"tests", b"tables"];
        let verify = |check: &SumCheck<Fr>, claim: Fr, names| proven.verify_with(check, claim, names, &proven.proof);
        assert_eq!(verify(&proven.check, proven.claim, names), Ok(()));
        assert_eq!(verify(&proven.check, proven.claim + Fr::ONE, names), WRONG);
        assert_eq!(verify(&proven.check, proven.claim, [b"test", b"tables"]), WRONG);
        assert_eq!(verify(&proven.check, proven.claim, [b"tests", b"table"]), WRONG);
        assert_eq!(verify(&proven.check, proven.claim, [b"", b""]), WRONG);
        let polynomial = || proven.check.polynomial().clone();
        let w: Vec<Fr> = (0..VARIABLES).map(|_| elements.random()).collect();
        let other = [
            SumCheck::new(polynomial(), Order::HighFirst),
            SumCheck::weighted(polynomial(), w, Order::LowFirst).unwrap(),
            SumCheck::new(
                VirtualPolynomial::new(VARIABLES, 2, vec![Term::new(-Fr::ONE, [0, 1])]).unwrap(),
                Order::LowFirst,
            ),
            SumCheck::new(
                VirtualPolynomial::new(VARIABLES, 2, vec![Term::new(Fr::ONE, [0, 0])]).unwrap(),
                Order::LowFirst,
            ),
        ];
        for check in &other {
            assert_eq!(verify(check, proven.claim, names), WRONG);
        }
    }
}

#[test]
fn bytes_that_are_no_elements_are_refused() {
    let proven = proven(false, Order::LowFirst);
    let len = proven.proof.len();
    for cut in 0..len {
        let expected = TranscriptError::Truncated { offset: cut / 32 * 32, len: cut };
        assert_eq!(proven.verify(&proven.proof[..cut]), Err(VerifyError::Transcript(expected)), "{cut} bytes");
    }
    let long = [&proven.proof[..], &[0]].concat();
    let expected = TranscriptError::TrailingBytes { offset: len, len: len + 1 };
    assert_eq!(proven.verify(&long), Err(VerifyError::Transcript(expected)));
    // The same element in another form: its value plus the modulus, where that fits.
    for offset in (0..len).step_by(32) {
        let mut proof = proven.proof.clone();
        let bytes = &mut proof[offset..offset + 32];
        let mut carry = 0u16;
        for (byte, modulus) in bytes.iter_mut().zip(Fr::MODULUS.to_bytes_le()) {
            carry += u16::from(*byte) + u16::from(modulus);
            *byte = carry as u8;
            carry >>= 8;
        }
        assert_eq!(carry, 0, "twice the modulus fits 32 bytes");
        let expected = TranscriptError::NonCanonical { offset };
        assert_eq!(proven.verify(&proof), Err(VerifyError::Transcript(expected)));
        proof[offset..offset + 32].fill(0xff);
        assert_eq!(proven.verify(&proof), Err(VerifyError::Transcript(expected)));
    }
    let mut transcript = SpongeVerifier::new(b"tests", b"tables", &[0; 40]);
    assert!(proven.check.verify(proven.claim, &mut transcript).is_err());
    assert_eq!(transcript.finish(), Err(TranscriptError::Poisoned));
}

#[test]
fn provers_report_wrong_claims() {
    let mut elements = Elements::new(32);
    for variables in [0, 1, 6] {
        let tables = elements.tables(variables, 2);
        let tables = slices(&tables);
        for order in ORDERS {
            let polynomial = VirtualPolynomial::product(variables, 2).unwrap();
            let check = SumCheck::new(polynomial.clone(), order);
            let mut workspace = vec![Fr::zero(); check.workspace()];
            let sum: Fr = tables[0].iter().zip(tables[1]).map(|(a, b)| *a * b).sum();
            let mut prove = |claim| {
                let tables = Tables { tables: &tables, workspace: &mut workspace };
                check.prove(tables, Some(claim), &mut SpongeProver::new(b"tests", b"tables")).map(|(claim, _)| claim)
            };
            assert_eq!(prove(sum), Ok(sum));
            assert_eq!(prove(sum + Fr::ONE), Err(ProveError::Claim { rounds: variables }));
            let check = ZeroCheck::new(polynomial, order);
            let borrowed = Tables { tables: &tables, workspace: &mut workspace };
            let zero = check.prove(borrowed, &mut SpongeProver::new(b"tests", b"tables"));
            assert_eq!(zero, Err(ProveError::Claim { rounds: variables }));
        }
    }
}

#[test]
fn bad_sizes_are_reported() {
    let shape = |variables, tables, terms| VirtualPolynomial::<Fr>::new(variables, tables, terms).err();
    let one = |factors: Vec<usize>| vec![Term::new(Fr::ONE, factors)];
    assert_eq!(shape(41, 1, one(vec![0])), Some(ShapeError::Variables { variables: 41 }));
    assert_eq!(shape(1, 33, one(vec![0])), Some(ShapeError::Tables { tables: 33 }));
    assert_eq!(shape(1, 1, vec![Term::new(Fr::ONE, [0]); 65]), Some(ShapeError::Terms { terms: 65 }));
    let degree = MAX_DEGREE + 1;
    assert_eq!(shape(1, 1, one(vec![0; degree])), Some(ShapeError::Degree { term: 0, degree }));
    assert_eq!(shape(1, 1, one(vec![0, 1])), Some(ShapeError::Factor { term: 0, factor: 1, tables: 1 }));
    assert_eq!(shape(1, 1, vec![]), Some(ShapeError::Constant));
    assert_eq!(shape(1, 1, one(vec![])), Some(ShapeError::Constant));
    assert_eq!(VirtualPolynomial::<Fr>::product(1, 0).err(), Some(ShapeError::Constant));
    let many = VirtualPolynomial::<Fr>::product(1, usize::MAX).err();
    assert_eq!(many, Some(ShapeError::Tables { tables: usize::MAX }));

    let polynomial = VirtualPolynomial::product(2, 2).unwrap();
    let point = SumCheck::weighted(polynomial.clone(), vec![Fr::ONE; 3], Order::LowFirst).err();
    assert_eq!(point, Some(VerifyError::Point { found: 3, expected: 2 }));
    let check = SumCheck::new(polynomial, Order::LowFirst);
    let prove = |tables: &[&[Fr]], workspace: usize| {
        let mut workspace = vec![Fr::zero(); workspace];
        let tables = Tables { tables, workspace: &mut workspace };
        check.prove(tables, None, &mut SpongeProver::new(b"tests", b"tables")).err()
    };
    let (four, three) = ([Fr::ONE; 4], [Fr::ONE; 3]);
    assert_eq!(prove(&[&four], 4), Some(ProveError::Tables { found: 1, expected: 2 }));
    assert_eq!(prove(&[&four, &three], 4), Some(ProveError::Values { table: 1, found: 3, expected: 4 }));
    assert_eq!(prove(&[&four, &four], 3), Some(ProveError::Workspace { found: 3, expected: 4 }));
    assert_eq!(prove(&[&four, &four], 4), None);
}
