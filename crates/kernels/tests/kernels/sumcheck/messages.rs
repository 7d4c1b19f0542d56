//! Messages are those of the definition, whatever the instruction set, the order, the mode and the number of threads.

use ark_bls12_381::Fr;
use evergrove_kernels::multilinear::sumcheck::{
    Evaluations, Order, SpongeProver, SpongeVerifier, SumCheck, Tables, VirtualPolynomial, ZeroCheck, eq, reference,
};
use evergrove_primitives::field::Field;
use evergrove_primitives::lanes::Isa;

use crate::fields::Sample;

use super::common::{Elements, ORDERS, Recorder, isas, mle, shapes, slices};

/// The sum over the cube by brute force.
fn sum<F: Field>(polynomial: &VirtualPolynomial<F>, tables: &[Vec<F>], point: Option<&[F]>) -> F {
    let at = |i: usize| polynomial.combine(&tables.iter().map(|table| table[i]).collect::<Vec<_>>());
    let corner = |i: usize| (0..polynomial.variables()).map(|k| F::from_u64((i >> k & 1) as u64)).collect::<Vec<_>>();
    (0..polynomial.len()).map(|i| point.map_or(F::ONE, |w| eq(w, &corner(i))) * at(i)).sum()
}

struct Case<F> {
    polynomial: VirtualPolynomial<F>,
    tables: Vec<Vec<F>>,
    point: Option<Vec<F>>,
    order: Order,
}

impl<F: Sample> Case<F> {
    fn check(&self) -> SumCheck<F> {
        match &self.point {
            None => SumCheck::new(self.polynomial.clone(), self.order),
            Some(w) => SumCheck::weighted(self.polynomial.clone(), w.clone(), self.order).unwrap(),
        }
    }

    fn expected(&self) -> (Recorder<F>, Evaluations<F>) {
        let mut recorder = Recorder::default();
        let point = self.point.as_deref();
        let end = reference::sum_check(&self.polynomial, &slices(&self.tables), point, self.order, &mut recorder);
        (recorder, end)
    }

    fn prove(&self, isa: Isa, claim: Option<F>) -> (F, Recorder<F>, Evaluations<F>) {
        let check = self.check();
        let mut workspace = vec![-F::ONE; check.workspace()];
        let tables = slices(&self.tables);
        let tables = Tables { tables: &tables, workspace: &mut workspace };
        let mut recorder = Recorder::default();
        let (claim, end) = check.prove_on(isa, tables, claim, &mut recorder).unwrap();
        (claim, recorder, end)
    }

    fn test(&self, sum: F) {
        let (expected, end) = self.expected();
        for isa in isas() {
            for claim in [None, Some(sum)] {
                let (found, recorder, evaluations) = self.prove(isa, claim);
                let name = || format!("{isa}, {:?}, {:?}, n = {}", self.order, claim, self.polynomial.variables());
                assert_eq!(found, sum, "{}", name());
                assert_eq!(recorder, expected, "{}", name());
                assert_eq!(evaluations, end, "{}", name());
            }
        }
    }
}

fn messages<F: Sample>() {
    let mut elements = Elements::new(1);
    for variables in 0..=7 {
        for polynomial in shapes::<F>(variables) {
            for order in ORDERS {
                for weighted in [false, true] {
                    let tables = elements.tables(variables, polynomial.tables());
                    let point = weighted.then(|| (0..variables).map(|_| elements.element()).collect::<Vec<_>>());
                    let sum = sum(&polynomial, &tables, point.as_deref());
                    Case { polynomial: polynomial.clone(), tables, point, order }.test(sum);
                }
            }
        }
    }
}

#[test]
fn messages_are_those_of_the_definition() {
    messages::<Fr>();
}

/// Over an extension of the Goldilocks field: SumCheck on every instruction set takes minutes to compile.
#[cfg(feature = "long-builds")]
mod extension {
    use evergrove_primitives::field::{Cubic, Quadratic};

    use super::{long_tables, messages};

    #[test]
    fn messages_are_those_of_the_definition() {
        messages::<Quadratic>();
        messages::<Cubic>();
    }

    #[test]
    fn long_tables_give_the_messages_of_the_definition() {
        long_tables::<Quadratic>(&[(13, true), (16, false), (16, true)]);
        long_tables::<Cubic>(&[(13, false), (16, true)]);
    }
}

/// Products of two tables, on every instruction set.
fn long_tables<F: Sample>(sizes: &[(usize, bool)]) {
    let mut elements = Elements::new(2);
    for &(variables, weighted) in sizes {
        for order in ORDERS {
            let polynomial = VirtualPolynomial::<F>::product(variables, 2).unwrap();
            let tables = elements.tables(variables, 2);
            let point = weighted.then(|| (0..variables).map(|_| elements.random()).collect::<Vec<_>>());
            let case = Case { polynomial, tables, point, order };
            let (expected, end) = case.expected();
            for isa in isas() {
                let (_, recorder, evaluations) = case.prove(isa, None);
                assert_eq!(recorder, expected, "{isa}, {order:?}");
                assert_eq!(evaluations, end, "{isa}, {order:?}");
            }
        }
    }
}

/// Enough values for blocks that shrink and are gathered, and for several tasks.
#[test]
fn long_tables_give_the_messages_of_the_definition() {
    long_tables::<Fr>(&[(13, true), (16, true), (16, false)]);
}

#[test]
#[ignore = "isa: seconds, tables of 2^20 values on every instruction set"]
fn the_longest_tables_give_the_messages_of_the_definition() {
    long_tables::<Fr>(&[(18, true), (20, true), (20, false)]);
}

#[test]
fn threads_do_not_matter() {
    let mut elements = Elements::new(3);
    for order in ORDERS {
        let polynomial = shapes::<Fr>(15).swap_remove(3);
        let tables = elements.tables(15, polynomial.tables());
        let point = Some((0..15).map(|_| elements.random()).collect());
        let case = Case { polynomial, tables, point, order };
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| case.prove(Isa::detect(), None))
        };
        let one = on(1);
        assert_eq!(on(2), one);
        assert_eq!(on(3), one);
    }
}

#[test]
fn weights_at_the_corners_select_values() {
    let mut elements = Elements::new(4);
    for order in ORDERS {
        let polynomial = VirtualPolynomial::<Fr>::product(6, 2).unwrap();
        let tables = elements.tables(6, 2);
        for corner in [0, 1, 21, 63] {
            let w: Vec<Fr> = (0..6).map(|k| Fr::from_u64((corner >> k & 1) as u64)).collect();
            let case = Case { polynomial: polynomial.clone(), tables: tables.clone(), point: Some(w), order };
            case.test(case.tables[0][corner] * case.tables[1][corner]);
        }
    }
}

#[test]
fn proofs_are_accepted_and_end_in_values_of_the_tables() {
    let mut elements = Elements::new(5);
    for variables in [0, 1, 4, 9] {
        for polynomial in shapes::<Fr>(variables) {
            for order in ORDERS {
                let tables = elements.tables(variables, polynomial.tables());
                let w: Vec<Fr> = (0..variables).map(|_| elements.random()).collect();
                let plain = SumCheck::new(polynomial.clone(), order);
                let weighted = SumCheck::weighted(polynomial.clone(), w, order).unwrap();
                for check in [plain, weighted] {
                    let mut workspace = vec![Fr::ZERO; check.workspace()];
                    let mut transcript = SpongeProver::new(b"tests", b"tables");
                    let slices = slices(&tables);
                    let borrowed = Tables { tables: &slices, workspace: &mut workspace };
                    let (claim, end) = check.prove(borrowed, None, &mut transcript).unwrap();
                    let proof = transcript.into_proof();
                    assert_eq!(proof.len(), 32 * (variables * polynomial.degree() + polynomial.tables()));
                    let mut transcript = SpongeVerifier::new(b"tests", b"tables", &proof);
                    assert_eq!(check.verify(claim, &mut transcript).unwrap(), end);
                    transcript.finish().unwrap();
                    for (table, value) in tables.iter().zip(&end.values) {
                        assert_eq!(mle(table, &end.point), *value);
                    }
                }
            }
        }
    }
}

#[test]
fn zero_checks_are_accepted_on_every_instruction_set() {
    let mut elements = Elements::new(6);
    for variables in [1, 5, 10] {
        // c - a b, with c = a b on the cube.
        let polynomial = shapes::<Fr>(variables).swap_remove(3);
        let mut tables = elements.tables(variables, 2);
        tables.push(tables[0].iter().zip(&tables[1]).map(|(a, b)| *a * b).collect());
        for order in ORDERS {
            let check = ZeroCheck::new(polynomial.clone(), order);
            let mut proofs = Vec::new();
            for isa in isas() {
                let mut workspace = vec![Fr::ZERO; check.workspace()];
                let mut transcript = SpongeProver::new(b"tests", b"tables");
                let slices = slices(&tables);
                let borrowed = Tables { tables: &slices, workspace: &mut workspace };
                let end = check.prove_on(isa, borrowed, &mut transcript).unwrap();
                let proof = transcript.into_proof();
                let mut transcript = SpongeVerifier::new(b"tests", b"tables", &proof);
                assert_eq!(check.verify(&mut transcript).unwrap(), end);
                transcript.finish().unwrap();
                for (table, value) in tables.iter().zip(&end.values) {
                    assert_eq!(mle(table, &end.point), *value);
                }
                proofs.push(proof);
            }
            assert!(proofs.windows(2).all(|pair| pair[0] == pair[1]), "{order:?}");
        }
    }
}
