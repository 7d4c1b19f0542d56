//! The table of permutations: its rows are the permutation's, and its constraints leave no freedom.

use evergrove_multilinear::poseidon::{COLUMNS, Combined, OUTPUTS, SBOXES, digest, fill_on};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::{Cubic, Field, Quadratic};
use evergrove_primitives::hash::poseidon::{ROUNDS, WIDTH, is_full, matrix, reference, round_constants};
use evergrove_primitives::lanes::{Isa, available};

use crate::common::Elements;

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
            fill_on(isa, &mut rows, COLUMNS + REST);
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

#[test]
fn the_constraints_hold_on_rows_and_on_nothing_beside_them() {
    let mut elements = Elements::new(8);
    let weights = elements.elements::<Quadratic>(COLUMNS - WIDTH);
    let combined = Combined::new(&weights);
    for state in states(5) {
        let mut row = row(state);
        assert_eq!(combined.on_row(&row), Quadratic::ZERO);
        for j in 0..COLUMNS {
            let kept = row[j];
            row[j] += Goldilocks::ONE;
            assert_ne!(combined.on_row(&row), Quadratic::ZERO, "column {j}");
            row[j] = kept;
        }
    }
}

/// Each constraint by itself: its column may be anything else only if it is violated, and no other column makes up for it.
#[test]
fn every_constraint_determines_its_column() {
    let row = row(states(3)[2]);
    for constraint in 0..COLUMNS - WIDTH {
        let mut weights = vec![Cubic::ZERO; COLUMNS - WIDTH];
        weights[constraint] = Cubic::ONE;
        let combined = Combined::new(&weights);
        assert_eq!(combined.on_row(&row), Cubic::ZERO);
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
