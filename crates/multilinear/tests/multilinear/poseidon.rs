//! The table of permutations: its rows are the permutation's, and its constraints leave no freedom.

use evergrove_multilinear::poseidon::{COLUMNS, Combined, fill_on};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::{Cubic, Field, Quadratic};
use evergrove_primitives::hash::poseidon::{ROUNDS, WIDTH, is_full, matrix, reference, round_constants};
use evergrove_primitives::lanes::{Isa, available};
use evergrove_verifier::poseidon::{OUTPUTS, SBOXES, digest};

use crate::common::{Elements, combined_at};

/// A row by the definition of the permutation.
fn row(mut state: [Goldilocks; WIDTH]) -> Vec<Goldilocks> {
    let mut row = state.to_vec();
    for (round, constants) in round_constants().iter().enumerate() {
        for (x, c) in state.iter_mut().zip(constants) {
            *x += Goldilocks::new(*c);
        }
        let boxes = if is_full(round) { WIDTH } else { 1 };
        if round > 0 {
            row.extend(&state[..boxes]);
        }
        for x in &mut state[..boxes] {
            *x = x.pow(7);
        }
        state = matrix().map(|m| m.iter().zip(state).map(|(&m, x)| x * Goldilocks::new(m)).sum());
    }
    row.extend(&state[..OUTPUTS]);
    row
}

fn states(n: usize) -> Vec<[Goldilocks; WIDTH]> {
    let mut elements = Elements::new(7);
    let edge = |i: usize| [Goldilocks::ZERO, -Goldilocks::ONE][i % 2];
    (0..n).map(|i| if i < 2 { [edge(i); WIDTH] } else { std::array::from_fn(|_| elements.base()) }).collect()
}

#[test]
fn rows_are_those_of_the_definition() {
    assert_eq!(ROUNDS, 30);
    assert_eq!(COLUMNS, 122);
    for n in [1, 7, 8, 9, 600] {
        let states = states(n);
        // Behind the columns a row has others, which stay.
        const REST: usize = 3;
        let made = |isa: Isa| {
            let mut rows = vec![Goldilocks::ONE; n * (COLUMNS + REST)];
            for (row, state) in rows.chunks_exact_mut(COLUMNS + REST).zip(&states) {
                row[..WIDTH].copy_from_slice(state);
            }
            fill_on(isa, &mut rows, COLUMNS + REST, OUTPUTS);
            rows
        };
        let rows = made(Isa::Portable);
        assert!(available().all(|isa| made(isa) == rows));
        for (i, state) in states.iter().enumerate() {
            let (found, rest) = rows[i * (COLUMNS + REST)..][..COLUMNS + REST].split_at(COLUMNS);
            assert_eq!((found, rest), (&row(*state)[..], &[Goldilocks::ONE; REST][..]), "row {i} of {n}");
            let mut permuted = *state;
            reference::permute(&mut permuted);
            assert_eq!(found[SBOXES..], permuted[..OUTPUTS]);
            assert_eq!(found[SBOXES..], digest(*state));
        }
    }
}

/// Rows with the whole result: the columns before it are the same.
#[test]
fn rows_may_have_the_whole_result() {
    for n in [1, 9, 70] {
        let states = states(n);
        for isa in available() {
            let mut rows = vec![Goldilocks::ONE; n * (SBOXES + WIDTH)];
            for (row, state) in rows.chunks_exact_mut(SBOXES + WIDTH).zip(&states) {
                row[..WIDTH].copy_from_slice(state);
            }
            fill_on(isa, &mut rows, SBOXES + WIDTH, WIDTH);
            for (found, state) in rows.chunks_exact(SBOXES + WIDTH).zip(&states) {
                assert_eq!(found[..COLUMNS], row(*state)[..]);
                let mut permuted = *state;
                reference::permute(&mut permuted);
                assert_eq!(found[SBOXES..], permuted);
            }
        }
    }
}

#[test]
fn the_constraints_hold_on_rows_and_on_nothing_beside_them() {
    let mut elements = Elements::new(8);
    let weights = elements.elements::<Quadratic>(COLUMNS - WIDTH);
    let combined = Combined::new(&weights);
    for state in states(5) {
        let mut row = row(state);
        assert_eq!(combined_at(&combined, &row, Quadratic::ONE), Quadratic::ZERO);
        for j in 0..COLUMNS {
            let kept = row[j];
            row[j] += Goldilocks::ONE;
            assert_ne!(combined_at(&combined, &row, Quadratic::ONE), Quadratic::ZERO, "column {j}");
            row[j] = kept;
        }
    }
}

/// Each constraint separately: its column may have another value only if the constraint is violated, and no other
/// column compensates.
#[test]
fn every_constraint_determines_its_column() {
    let row = row(states(3)[2]);
    for constraint in 0..COLUMNS - WIDTH {
        let mut weights = vec![Cubic::ZERO; COLUMNS - WIDTH];
        weights[constraint] = Cubic::ONE;
        let combined = Combined::new(&weights);
        assert_eq!(combined_at(&combined, &row, Cubic::ONE), Cubic::ZERO);
        let own = WIDTH + constraint;
        for (j, &weight) in combined.columns.iter().enumerate() {
            assert_eq!(
                weight,
                if j == own { Cubic::ONE } else { Cubic::ZERO },
                "column {j} of constraint {constraint}"
            );
        }
        // Its form is in S-boxes of columns before it.
        assert!(combined.sboxes.iter().skip(own).all(|weight| weight.is_zero()), "constraint {constraint}");
        assert!(combined.sboxes.iter().any(|weight| !weight.is_zero()), "constraint {constraint}");
    }
}

/// Solves M x = y.
fn solve(y: [Goldilocks; WIDTH]) -> [Goldilocks; WIDTH] {
    let mut rows: Vec<Vec<Goldilocks>> =
        matrix().iter().zip(y).map(|(m, y)| m.iter().map(|&m| Goldilocks::new(m)).chain([y]).collect()).collect();
    for i in 0..WIDTH {
        let pivot = (i..WIDTH).find(|&j| rows[j][i] != Goldilocks::ZERO).expect("an invertible matrix");
        rows.swap(i, pivot);
        let inverse = rows[i][i].inverse().expect("not zero");
        rows[i].iter_mut().for_each(|x| *x *= inverse);
        let row = rows[i].clone();
        for (_, other) in rows.iter_mut().enumerate().filter(|(j, _)| *j != i) {
            let factor = other[i];
            other.iter_mut().zip(&row).for_each(|(x, &r)| *x -= factor * r);
        }
    }
    core::array::from_fn(|i| rows[i][WIDTH])
}

/// Why a hash must begin with a constant: a prover that may choose h finds another input with the same digest by one
/// inverse of the permutation.
#[test]
fn a_free_beginning_has_collisions() {
    let [state, rest] = [0, 1].map(|i| states(4)[2 + i]);
    let wanted = digest(state);
    let mut other = rest;
    other[..OUTPUTS].copy_from_slice(&wanted);
    // 1 / 7 modulo p - 1.
    let order = u128::from(Goldilocks::ORDER - 1);
    let root = (0..7).map(|k| 1 + k * order).find(|x| x % 7 == 0).expect("7 is prime to p - 1") / 7;
    let root = u64::try_from(root).expect("below p");
    for (round, constants) in round_constants().iter().enumerate().rev() {
        other = solve(other);
        let boxes = if is_full(round) { WIDTH } else { 1 };
        for x in &mut other[..boxes] {
            *x = x.pow(root);
        }
        for (x, c) in other.iter_mut().zip(constants) {
            *x -= Goldilocks::new(*c);
        }
    }
    assert_ne!(other, state);
    assert_eq!(digest(other), wanted);
}
