//! Messages are those of the definition, on every instruction set, and what the verifier is left with is true.

use evergrove_multilinear::poseidon::{COLUMNS, Combined, SBOXES, trace};
use evergrove_multilinear::zerocheck::{BLOCK, BLOCK_LOG, End, PowerSum, Shape, prove_on, reference, verify};
use evergrove_primitives::Goldilocks;
#[cfg(feature = "long-builds")]
use evergrove_primitives::field::Cubic;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Field, Quadratic};
use evergrove_primitives::hash::poseidon::WIDTH;
use evergrove_primitives::lanes::{Isa, available};

use crate::common::{Elements, Recorder};

/// The value at a point of a column that is 0 behind its rows.
fn mle<K: Extension>(shape: Shape, column: &[Goldilocks], point: &[K]) -> K {
    let mut values: Vec<K> = column.iter().map(|&x| x.into()).collect();
    values.resize(1 << shape.variables(), K::ZERO);
    for &r in point {
        values = values.as_chunks::<2>().0.iter().map(|&[zero, one]| zero + r * (one - zero)).collect();
    }
    values[0]
}

struct Case<K> {
    shape: Shape,
    columns: Vec<Vec<Goldilocks>>,
    shifts: Vec<Goldilocks>,
    weights: Vec<K>,
    linear: Vec<Goldilocks>,
    w: Vec<K>,
}

impl<K: Extension> Case<K> {
    /// Random values: the sum is not 0.
    fn random(blocks: usize, width: usize, seed: u64) -> Self {
        let mut elements = Elements::new(seed);
        let shape = Shape::new(blocks * BLOCK).unwrap();
        let columns = (0..width).map(|_| elements.bases(shape.rows())).collect();
        Self {
            shape,
            columns,
            shifts: elements.bases(width),
            weights: elements.elements(width),
            linear: elements.bases(K::DEGREE * shape.rows()),
            w: elements.elements(shape.variables()),
        }
    }

    /// The value of G on a row.
    fn on_row(&self, row: usize) -> K {
        let coefficients: Vec<_> = (0..K::DEGREE).map(|c| self.linear[c * self.shape.rows() + row]).collect();
        let power = |((column, &shift), &mu): ((&Vec<Goldilocks>, _), _)| mu * (column[row] + shift).pow(7);
        let powers = self.columns.iter().zip(&self.shifts).zip(&self.weights).map(power);
        K::from_coefficients(&coefficients).unwrap() + powers.sum()
    }

    fn claim(&self) -> K {
        let eq = |row: usize| -> K {
            self.w.iter().enumerate().map(|(i, &w)| if row >> i & 1 == 1 { w } else { K::ONE - w }).product()
        };
        (0..self.shape.rows()).map(|row| eq(row) * self.on_row(row)).sum()
    }

    fn prove(&self, isa: Option<Isa>) -> (Recorder<K>, End<K>) {
        let columns: Vec<&[Goldilocks]> = self.columns.iter().map(Vec::as_slice).collect();
        let sum = PowerSum { columns: &columns, shifts: &self.shifts, weights: &self.weights, linear: &self.linear };
        let mut transcript = Recorder::new();
        let end = match isa {
            Some(isa) => prove_on(isa, self.shape, &sum, &self.w, self.claim(), &mut transcript),
            None => reference::prove(self.shape, &sum, &self.w, self.claim(), &mut transcript),
        };
        (transcript, end)
    }

    /// Weight times G at the end's point, from the columns' values there.
    fn at_end(&self, end: &End<K>) -> K {
        let activity = self.shape.activity(&end.point);
        let value = |column: &Vec<Goldilocks>| mle(self.shape, column, &end.point);
        let powers = self
            .columns
            .iter()
            .zip(&self.shifts)
            .zip(&self.weights)
            .map(|((column, &shift), &mu)| mu * (value(column) + activity * shift).pow(7));
        let mut x = K::ONE;
        let mut linear = K::ZERO;
        for c in self.linear.chunks_exact(self.shape.rows()) {
            linear += x * mle::<K>(self.shape, c, &end.point);
            x *= generator();
        }
        self.shape.weight(&self.w, &end.point) * (linear + powers.sum())
    }

    fn check(&self) {
        let (expected, end) = self.prove(None);
        let verified = verify(self.shape, &self.w, self.claim(), &mut expected.clone().rewound()).unwrap();
        assert_eq!(verified, end);
        assert_eq!(self.at_end(&end), end.claim);
        for isa in available() {
            let (found, found_end) = self.prove(Some(isa));
            assert_eq!(found, expected, "{isa}, {} blocks", self.shape.blocks());
            assert_eq!(found_end, end, "{isa}");
        }
    }
}

/// X.
fn generator<K: Extension>() -> K {
    let mut coefficients = vec![Goldilocks::ZERO; K::DEGREE];
    coefficients[1] = Goldilocks::ONE;
    K::from_coefficients(&coefficients).unwrap()
}

#[test]
fn messages_are_those_of_the_definition() {
    for (blocks, width) in [(1, 3), (2, 1), (3, 2), (5, 1), (8, 1)] {
        Case::<Quadratic>::random(blocks, width, 10 + blocks as u64).check();
        #[cfg(feature = "long-builds")]
        Case::<Cubic>::random(blocks, width, 20 + blocks as u64).check();
    }
}

#[test]
fn a_wrong_message_or_claim_ends_in_a_wrong_value() {
    let case = Case::<Quadratic>::random(3, 2, 30);
    let (transcript, end) = case.prove(Some(Isa::detect()));
    let honest = verify(case.shape, &case.w, case.claim(), &mut transcript.clone().rewound()).unwrap();
    assert_eq!(case.at_end(&honest), honest.claim);
    assert_eq!(honest, end);
    let wrong = verify(case.shape, &case.w, case.claim() + Quadratic::ONE, &mut transcript.clone().rewound()).unwrap();
    assert_ne!(case.at_end(&wrong), wrong.claim);
    for round in 0..transcript.messages.len() {
        for k in 0..transcript.messages[round].len() {
            let mut changed = transcript.clone().rewound();
            changed.messages[round][k] += Quadratic::ONE;
            let wrong = verify(case.shape, &case.w, case.claim(), &mut changed).unwrap();
            assert_ne!(case.at_end(&wrong), wrong.claim, "round {round}, coefficient {}", k + 1);
        }
        let mut short = transcript.clone().rewound();
        short.messages[round].pop();
        assert!(verify(case.shape, &case.w, case.claim(), &mut short).is_err());
    }
}

/// The weights w = 0 and w = 1, which a division would stumble over.
#[test]
fn weights_at_corners() {
    let mut case = Case::<Quadratic>::random(3, 1, 40);
    for row in [0, 511, 512, 1535] {
        case.w = (0..case.shape.variables()).map(|i| Quadratic::from_u64(row >> i & 1)).collect();
        assert_eq!(case.claim(), case.on_row(row as usize));
        case.check();
    }
}

#[test]
fn shapes() {
    for rows in [0, 1, 511, 513, BLOCK << 21] {
        assert!(Shape::new(rows).is_err(), "{rows}");
    }
    assert_eq!(
        Shape::new(700).unwrap_err().to_string(),
        "a table of 700 rows: a multiple of 512 is needed, at least one block and at most 1048576"
    );
    let shape = Shape::new(27 * BLOCK).unwrap();
    assert_eq!((shape.variables(), shape.block_variables()), (BLOCK_LOG + 5, 5));
    assert_eq!(shape.order().collect::<Vec<_>>(), [8, 7, 6, 5, 4, 3, 2, 1, 0, 9, 10, 11, 12, 13]);
}

/// A table of permutations: the claim is 0, and holds for the constraints combined.
#[test]
fn a_table_of_permutations() {
    fn check<K: Extension>() {
        let mut elements = Elements::new(50);
        let shape = Shape::new(3 * BLOCK).unwrap();
        let states: Vec<[Goldilocks; WIDTH]> =
            (0..shape.rows()).map(|_| std::array::from_fn(|_| elements.base())).collect();
        let mut columns = vec![vec![Goldilocks::ZERO; shape.rows()]; COLUMNS];
        trace(&states, &mut columns.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
        let combined = Combined::<K>::new(&elements.elements(COLUMNS - WIDTH));
        let slices: Vec<&[Goldilocks]> = columns.iter().map(Vec::as_slice).collect();
        let linear = combined.linear(&slices);
        assert!(available().all(|isa| combined.linear_on(isa, &slices) == linear));
        let sum = PowerSum {
            columns: &slices[..SBOXES],
            shifts: &combined.shifts,
            weights: &combined.sboxes,
            linear: &linear,
        };
        let w = elements.elements(shape.variables());
        // Whether the proof of a claim 0 over these columns ends in what they are at the point.
        let holds = |columns: &[&[Goldilocks]], sum: &PowerSum<'_, K>| {
            let mut transcript = Recorder::new();
            let end = prove_on(Isa::detect(), shape, sum, &w, K::ZERO, &mut transcript);
            assert_eq!(verify(shape, &w, K::ZERO, &mut transcript.rewound()).unwrap(), end);
            let values: Vec<K> = columns.iter().map(|column| mle(shape, column, &end.point)).collect();
            let at = combined.at_point(&values, shape.activity(&end.point));
            shape.weight(&w, &end.point) * at == end.claim
        };
        assert!(holds(&slices, &sum));
        // One cell changed, of a row within and of the last row; of a column that an S-box reads and of one that none does.
        for (column, row) in [(0, 700), (60, shape.rows() - 1), (SBOXES - 1, 0), (COLUMNS - 1, 1)] {
            let mut changed = columns.clone();
            changed[column][row] += Goldilocks::ONE;
            let slices: Vec<&[Goldilocks]> = changed.iter().map(Vec::as_slice).collect();
            let linear = combined.linear(&slices);
            let sum = PowerSum { columns: &slices[..SBOXES], linear: &linear, ..sum };
            assert!(!holds(&slices, &sum), "column {column}, row {row}");
        }
    }
    check::<Quadratic>();
    #[cfg(feature = "long-builds")]
    check::<Cubic>();
}
