//! The textbook's prover finds the same sums, polynomials and values as ours.

use std::sync::Arc;

use ark_bls12_381::Fr;
use ark_ff::Field;
use evergrove_kernels::multilinear::sumcheck::reference::textbook;
use evergrove_kernels::multilinear::sumcheck::{
    Order, ProductCheck, ProductWitness, SumCheck, Tables, VirtualPolynomial, eq,
};

use super::common::{Elements, Recorder, slices};

/// The coefficients of a message of ours, the constant one from the claim under the weights 1 - w and w.
fn value(claim: Fr, w: Fr, message: &[Fr], x: Fr) -> Fr {
    let step: Fr = message.iter().sum();
    let higher: Fr = message.iter().zip(1..).map(|(c, k)| *c * x.pow([k])).sum();
    claim - w * step + higher
}

#[test]
fn rounds_of_the_textbook_are_ours_times_the_weights() {
    let mut elements = Elements::new(40);
    for (variables, factors) in [(1, 2), (4, 3), (8, 2)] {
        let tables = elements.tables(variables, factors);
        let w: Vec<Fr> = (0..variables).map(|_| elements.random()).collect();
        let polynomial = VirtualPolynomial::product(variables, factors).unwrap();
        let check = SumCheck::weighted(polynomial.clone(), w.clone(), Order::LowFirst).unwrap();
        let mut workspace = check_workspace(&check);
        let (mut ours, mut theirs) = (Recorder::default(), Recorder::default());
        let slices = slices(&tables);
        let borrowed = Tables { tables: &slices, workspace: &mut workspace };
        let (sum, end) = check.prove(borrowed, None, &mut ours).unwrap();
        let shared: Vec<_> = tables.iter().cloned().map(Arc::new).collect();
        let outcome = textbook::weighted_sum_check(&polynomial, &shared, &w, &mut theirs);
        assert_eq!(outcome.sum, sum);
        assert_eq!(outcome.point, end.point);
        assert_eq!(outcome.values[..factors], end.values);
        assert_eq!(outcome.values[factors], eq(&w, &end.point));

        // Round by round: t(X) times the weights of the variables so far.
        let (mut claim, mut prefix) = (sum, Fr::ONE);
        for (round, (message, values)) in ours.messages.iter().zip(&theirs.messages).take(variables).enumerate() {
            for (x, theirs) in values.iter().enumerate() {
                let x = Fr::from(x as u64);
                let weight = prefix * eq(&[w[round]], &[x]);
                assert_eq!(weight * value(claim, w[round], message, x), *theirs, "round {round}");
            }
            let r = end.point[round];
            claim = value(claim, w[round], message, r);
            prefix *= eq(&[w[round]], &[r]);
        }
    }
}

#[test]
fn zero_check_of_the_textbook_sums_to_zero() {
    let mut elements = Elements::new(41);
    let mut tables = elements.tables(5, 1);
    tables.push(vec![Fr::from(0); 32]);
    let shared: Vec<_> = tables.into_iter().map(Arc::new).collect();
    let polynomial = VirtualPolynomial::product(5, 2).unwrap();
    let outcome = textbook::zero_check(&polynomial, &shared, &mut Recorder::default());
    assert_eq!(outcome.sum, Fr::from(0));
}

#[test]
fn product_check_of_the_textbook_ends_in_the_same_values() {
    let mut elements = Elements::new(42);
    for variables in [1, 2, 6] {
        let values = elements.table(variables);
        let check = ProductCheck::new(variables, 1, 0, Order::LowFirst).unwrap();
        let mut buffer = vec![Fr::from(0); check.witness_len()];
        let witness = ProductWitness::new(&check, &[&values], &[], &mut buffer).unwrap();
        let mut workspace = vec![Fr::from(0); check.workspace()];
        let (product, end) = check.prove(&witness, &[&values], &[], &mut workspace, &mut Recorder::default()).unwrap();
        assert_eq!(product, values.iter().product());
        // Terms of two degrees: the textbook extrapolates the lower one.
        let outcome = textbook::product_check(&Arc::new(values), &mut Recorder::default());
        assert_eq!(outcome.sum, Fr::from(0));
        assert_eq!(outcome.point, end.point);
        assert_eq!(outcome.values[..3], [end.left, end.right, end.product]);
    }
}

fn check_workspace(check: &SumCheck<Fr>) -> Vec<Fr> {
    vec![Fr::from(0); check.workspace()]
}
