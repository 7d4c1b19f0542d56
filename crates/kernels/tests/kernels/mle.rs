//! Multilinear extensions compared with the textbook, brute force and ark-poly, on every instruction set.

#![cfg(feature = "ark")]

use ark_bls12_381::Fr;
use ark_ff::BigInt;
use ark_poly::{DenseMultilinearExtension, Polynomial};
use evergrove_kernels::multilinear::mle::{
    MleError, eq_table, eq_table_on, eq_table_vec, evaluate, evaluate_on, evaluate_scratch, product, product_on,
    product_table, product_table_on, reference,
};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::prime::PrimeElement;
use evergrove_primitives::field::{Field, Quadratic};
use evergrove_primitives::lanes::available;
use proptest::prelude::*;

use super::fields::elements;

/// The value at a point, with new scratch memory.
fn value_at(values: &[Fr], point: &[Fr]) -> Result<Fr, MleError> {
    evaluate(values, point, &mut vec![Fr::ZERO; evaluate_scratch(point.len())])
}

fn check<F: Field>(values: &[F], point: &[F]) {
    let value = reference::evaluate(values, point);
    let table = reference::eq_table(point);
    let products = reference::product_table(values);
    let all = reference::product(values);
    assert_eq!(values.iter().zip(&table).map(|(v, w)| *v * *w).sum::<F>(), value);
    for isa in available() {
        let mut scratch = vec![F::ONE; evaluate_scratch(point.len())];
        assert_eq!(evaluate_on(isa, values, point, &mut scratch), Ok(value), "{isa} {}", point.len());
        let mut found = vec![F::ONE; values.len()];
        eq_table_on(isa, point, &mut found).unwrap();
        assert_eq!(found, table, "{isa} {}", point.len());
        product_table_on(isa, values, &mut found).unwrap();
        assert_eq!(found, products, "{isa} {}", point.len());
        assert_eq!(product_on(isa, values), all, "{isa} {}", point.len());
    }
}

#[test]
fn every_number_of_coordinates() {
    for mu in 0..=15 {
        check::<Fr>(&elements(1 << mu, 1), &elements(mu, 2));
        #[cfg(feature = "long-builds")]
        check::<ark_bn254::Fr>(&elements(1 << mu, 3), &elements(mu, 4));
        check::<Goldilocks>(&elements(1 << mu, 1), &elements(mu, 2));
        check::<Quadratic>(&elements(1 << mu, 1), &elements(mu, 2));
    }
}

#[test]
#[ignore = "isa: seconds, 2^19 values on every instruction set"]
fn many_coordinates() {
    for mu in [17, 18, 19] {
        check::<Fr>(&elements(1 << mu, 1), &elements(mu, 2));
        #[cfg(feature = "long-builds")]
        check::<ark_bn254::Fr>(&elements(1 << mu, 3), &elements(mu, 4));
    }
}

/// All values p - 1 make the greatest sums, at the ends of every row and task.
#[test]
fn greatest_values() {
    for mu in [9, 10, 16, 17] {
        check(&vec![-Fr::ONE; 1 << mu], &elements(mu, 6));
        check(&vec![-Fr::ONE; 1 << mu], &vec![-Fr::ONE; mu]);
    }
}

#[test]
fn a_point_of_the_hypercube_picks_a_value() {
    let values = elements::<Fr>(1 << 11, 5);
    for index in [0, 1, 511, 512, 1023, 2047] {
        let point: Vec<Fr> = (0..11).map(|k| Fr::from(index as u64 >> k & 1)).collect();
        assert_eq!(value_at(&values, &point), Ok(values[index]));
        let table = eq_table_vec(&point).unwrap();
        assert!(table.iter().enumerate().all(|(i, x)| *x == Fr::from(u64::from(i == index))));
    }
}

/// The definition: a product over all coordinates for each entry.
#[test]
fn eq_by_brute_force() {
    let point = elements::<Fr>(10, 9);
    let entry = |x: usize| -> Fr {
        point.iter().enumerate().map(|(k, r)| if x >> k & 1 == 1 { *r } else { Fr::ONE - r }).product()
    };
    assert_eq!(eq_table_vec(&point).unwrap(), (0..1 << 10).map(entry).collect::<Vec<_>>());
}

#[test]
fn evaluation_is_that_of_ark_poly() {
    for mu in [1, 4, 9, 12] {
        let (values, point) = (elements::<Fr>(1 << mu, 7), elements::<Fr>(mu, 8));
        let extension = DenseMultilinearExtension::from_evaluations_slice(mu, &values);
        assert_eq!(value_at(&values, &point), Ok(extension.evaluate(&point)), "{mu}");
    }
}

#[test]
fn products_of_any_number_of_values() {
    for n in [0, 1, 7, 8, 31, 32, 33, 100, (1 << 14) - 1, 1 << 14, (1 << 14) + 5] {
        let values: Vec<Fr> =
            elements(n, 11).into_iter().map(|x: Fr| if x.is_zero() { Fr::from(3) } else { x }).collect();
        for isa in available() {
            assert_eq!(product_on(isa, &values), reference::product(&values), "{isa} {n}");
        }
    }
    assert_eq!(product::<Fr>(&[]), Fr::ONE);
}

#[test]
fn threads_do_not_change_results() {
    let (values, point) = (elements::<Fr>(1 << 18, 1), elements::<Fr>(18, 2));
    let on = |threads| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let mut table = vec![Fr::ZERO; 1 << 18];
            product_table(&values, &mut table).unwrap();
            (value_at(&values, &point), eq_table_vec(&point), table, product(&values))
        })
    };
    let one = on(1);
    for threads in [2, 3] {
        assert!(on(threads) == one, "{threads} threads");
    }
}

#[test]
fn bad_lengths_are_refused() {
    let (values, point) = (elements::<Fr>(16, 1), elements::<Fr>(4, 2));
    let length = |buffer, found, expected| MleError::Length { buffer, found, expected };
    let scratch = &mut [Fr::ZERO; 17];
    assert_eq!(evaluate_scratch(4), 17);
    for wrong in [0, 1, 8, 15] {
        assert_eq!(evaluate(&values[..wrong], &point, scratch), Err(length("values", wrong, 16)));
    }
    assert_eq!(evaluate(&values, &point, &mut scratch[..16]), Err(length("scratch", 16, 17)));
    assert_eq!(eq_table(&point, &mut scratch[..15]), Err(length("table", 15, 16)));
    assert_eq!(product_table(&values[..15], &mut scratch[..15]), Err(MleError::NotAPower { found: 15 }));
    assert_eq!(product_table::<Fr>(&[], &mut []), Err(MleError::NotAPower { found: 0 }));
    assert_eq!(product_table(&values, &mut scratch[..15]), Err(length("table", 15, 16)));
    for coordinates in [63, 64, 200] {
        let error = |buffer| MleError::TooLarge { buffer, coordinates };
        let point = vec![Fr::ONE; coordinates];
        assert_eq!(eq_table(&point, &mut []), Err(error("table")));
        assert_eq!(eq_table_vec(&point), Err(error("table")));
        assert_eq!(evaluate(&values, &point, &mut []), Err(error("values")));
    }
}

/// Words of an element, most of them near the boundaries of 52-bit limbs.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), Just((1 << 52) - 1), Just(1 << 52), Just(1 << 40), Just(1 << 28)]
}

fn element() -> impl Strategy<Value = Fr> {
    [word(), word(), word(), word()].prop_map(|mut words| {
        words[3] %= <Fr as PrimeElement>::MODULUS[3];
        Fr::new_unchecked(BigInt(words))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_values_at_any_point(
        mu in 0usize..=11,
        pool in prop::collection::vec(element(), 64),
        point in prop::collection::vec(element(), 11),
        stride in 1usize..64,
    ) {
        let values: Vec<Fr> = (0..1 << mu).map(|i| pool[i * stride % 61]).collect();
        check(&values, &point[..mu]);
    }
}
