//! STARKs by our prover compared with `starky`'s prover and verifier.

use evergrove_kernels::ntt::{Row, ZERO_ROW};
use evergrove_plonky2::circuit::{C, D, F, to_plonky};
use evergrove_plonky2::stark::keccak::{Block, KeccakAir, Permutations};
use evergrove_plonky2::stark::{Air, AirStark, Algebra, RecordedProof, StarkProver, TraceRows, starky_proof, verify};
use evergrove_primitives::lanes::{LANES, available};
use evergrove_primitives::{Goldilocks, lanes::Isa};
use plonky2::field::polynomial::PolynomialValues;
use plonky2::field::types::Field;
use plonky2::fri::FriConfig;
use plonky2::fri::reduction_strategies::FriReductionStrategy;
use plonky2::hash::hash_types::HashOut;
use plonky2::util::timing::TimingTree;
use starky::config::StarkConfig;
use starky::verifier::verify_stark_proof;

fn config(rate_bits: usize, num_challenges: usize) -> StarkConfig {
    let fri_config = FriConfig {
        rate_bits,
        cap_height: 2,
        proof_of_work_bits: 4,
        reduction_strategy: FriReductionStrategy::ConstantArityBits(2, 2),
        num_query_rounds: 5,
    };
    StarkConfig::new(1, num_challenges, fri_config)
}

/// x, y -> y, x^2 + y with both ends public, and z -> z + 1 in a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Quadratic;

impl Air for Quadratic {
    const COLUMNS: usize = 3;
    const PUBLIC_INPUTS: usize = 3;
    const DEGREE: usize = 3;
    const CONSTRAINTS: usize = 6;

    #[inline(always)]
    fn constraints<A: Algebra>(a: &mut A, local: &[A::T], next: &[A::T], public_inputs: &[A::T]) {
        let wrong = a.sub(local[0], public_inputs[0]);
        a.constraint_first_row(wrong);
        let wrong = a.sub(local[1], public_inputs[1]);
        a.constraint_first_row(wrong);
        let wrong = a.sub(local[1], public_inputs[2]);
        a.constraint_last_row(wrong);
        let moved = a.sub(next[0], local[1]);
        a.constraint_transition(moved);
        let square = a.mul(local[0], local[0]);
        let sum = a.add(square, local[1]);
        let moved = a.sub(next[1], sum);
        a.constraint_transition(moved);
        let flip = a.xor(next[2], local[2]);
        let one = a.constant(1);
        let wrong = a.sub(flip, one);
        a.constraint(wrong);
    }
}

struct Columns(Vec<Vec<Goldilocks>>);

impl TraceRows for Columns {
    fn rows(&self) -> usize {
        self.0[0].len()
    }

    fn group(&self, row: usize, group: usize) -> Row {
        let mut out = ZERO_ROW;
        for (x, column) in out.iter_mut().zip(self.0.iter().skip(group * LANES)) {
            *x = column[row];
        }
        out
    }
}

fn quadratic(log_rows: u32) -> (Columns, [Goldilocks; 3]) {
    let mut columns = vec![vec![], vec![], vec![]];
    let (mut x, mut y) = (Goldilocks::reduce(5), Goldilocks::reduce(1 << 63));
    let first = [x, y];
    for row in 0..1u64 << log_rows {
        columns[0].push(x);
        columns[1].push(y);
        columns[2].push(Goldilocks::reduce(row & 1));
        (x, y) = (y, x * x + y);
    }
    let last = *columns[1].last().unwrap();
    (Columns(columns), [first[0], first[1], last])
}

fn plonky_columns(trace: &dyn TraceRows, columns: usize) -> Vec<PolynomialValues<F>> {
    let value = |row: usize, c: usize| to_plonky(trace.group(row, c / LANES)[c % LANES]);
    (0..columns).map(|c| PolynomialValues::new((0..trace.rows()).map(|row| value(row, c)).collect())).collect()
}

/// Everything before the proof of work, which the provers may choose differently.
fn assert_same(ours: &RecordedProof, theirs: &RecordedProof) {
    let (a, b) = (&ours.proof, &theirs.proof);
    assert_eq!(a.trace_cap, b.trace_cap);
    assert_eq!(a.auxiliary_polys_cap, b.auxiliary_polys_cap);
    assert_eq!(a.quotient_polys_cap, b.quotient_polys_cap);
    assert_eq!(a.openings.local_values, b.openings.local_values);
    assert_eq!(a.openings.next_values, b.openings.next_values);
    assert_eq!(a.openings.auxiliary_polys, b.openings.auxiliary_polys);
    assert_eq!(a.openings.auxiliary_polys_next, b.openings.auxiliary_polys_next);
    assert_eq!(a.openings.ctl_zs_first, b.openings.ctl_zs_first);
    assert_eq!(a.openings.quotient_polys, b.openings.quotient_polys);
    assert_eq!(a.opening_proof.commit_phase_merkle_caps, b.opening_proof.commit_phase_merkle_caps);
    assert_eq!(a.opening_proof.final_poly, b.opening_proof.final_poly);
    assert_eq!(ours.public_inputs, theirs.public_inputs);
}

#[test]
fn a_table_with_public_inputs_is_proven_as_by_starky() {
    for (log_rows, rate_bits, challenges) in [(3, 1, 1), (5, 1, 2), (6, 3, 3), (9, 2, 2)] {
        let config = config(rate_bits, challenges);
        let (trace, inputs) = quadratic(log_rows);
        let theirs = starky::prover::prove::<F, C, _, D>(
            AirStark::<Quadratic>::default(),
            &config,
            plonky_columns(&trace, Quadratic::COLUMNS),
            &inputs.map(to_plonky),
            None,
            &mut TimingTree::default(),
        )
        .unwrap();
        for isa in available() {
            let prover = StarkProver::<Quadratic>::on(isa, &config, log_rows).unwrap();
            for _ in 0..2 {
                let ours = prover.prove(&trace, &inputs).unwrap();
                assert_same(&ours, &theirs);
                verify_stark_proof(AirStark::<Quadratic>::default(), ours, &config, None).unwrap();
            }
        }
    }
}

#[test]
fn a_table_that_breaks_its_rules_has_no_proof() {
    let config = config(1, 2);
    let prover = StarkProver::<Quadratic>::new(&config, 6).unwrap();
    let (trace, inputs) = quadratic(6);
    for (column, row) in [(0, 0), (1, 63), (2, 17), (0, 40), (1, 1)] {
        let mut columns = trace.0.clone();
        columns[column][row] += Goldilocks::ONE;
        let verdict = (prover.prove(&Columns(columns), &inputs))
            .and_then(|proof| verify_stark_proof(AirStark::<Quadratic>::default(), proof, &config, None));
        assert!(verdict.is_err(), "column {column}, row {row}");
    }
    for k in 0..3 {
        let mut inputs = inputs;
        inputs[k] += Goldilocks::ONE;
        let verdict = (prover.prove(&trace, &inputs))
            .and_then(|proof| verify_stark_proof(AirStark::<Quadratic>::default(), proof, &config, None));
        assert!(verdict.is_err(), "public input {k}");
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let config = config(1, 2);
    for log_rows in [0, 2, 33, 64] {
        assert!(StarkProver::<Quadratic>::new(&config, log_rows).is_err(), "2^{log_rows} rows");
    }
    let error = StarkProver::<KeccakAir>::new(&config, 6).err().unwrap();
    assert!(error.to_string().contains("degree 9 at a rate of 2^-1"), "{error}");
    let prover = StarkProver::<Quadratic>::new(&config, 6).unwrap();
    let (trace, inputs) = quadratic(5);
    let error = prover.prove(&trace, &inputs).unwrap_err();
    assert!(error.to_string().contains("32 rows, for a prover of 64"), "{error}");
    let (trace, inputs) = quadratic(6);
    assert!(prover.prove(&trace, &inputs[..2]).is_err());
    assert!(prover.prove_bound(&trace, &inputs, HashOut::ZERO).is_err());
}

fn messages(n: usize) -> Vec<Block> {
    (0..n).map(|i| Block::of(&vec![i as u8 ^ 0x5a; [0, 40, 64, 1][i % 4]]).unwrap()).collect()
}

fn binding(x: u64) -> HashOut<F> {
    HashOut { elements: [F::from_canonical_u64(x), F::ONE, F::ZERO, F::TWO] }
}

#[test]
fn keccak_is_proven_as_by_starky() {
    let config = config(3, 2);
    let table = Permutations::new(messages(2), 6).unwrap();
    let theirs = starky_proof::<KeccakAir>(&config, &table, binding(7)).unwrap();
    let check = |proof: &RecordedProof, x: u64, records: &[Vec<Goldilocks>]| {
        verify::<KeccakAir>(&config, 6, proof, binding(x), records)
    };
    check(&theirs, 7, &table.records()).unwrap();
    for isa in available().filter(|isa| *isa != Isa::Portable || cfg!(not(debug_assertions))) {
        let prover = StarkProver::<KeccakAir>::on(isa, &config, 6).unwrap();
        let ours = prover.prove_bound(&table, &[], binding(7)).unwrap();
        assert_same(&ours, &theirs);
        check(&ours, 7, &table.records()).unwrap();
    }
    let mut wrong = table.records();
    wrong[1][20] += Goldilocks::ONE;
    assert!(check(&theirs, 7, &wrong).is_err(), "another digest");
    assert!(check(&theirs, 7, &table.records()[..1]).is_err(), "a record is missing");
    assert!(check(&theirs, 8, &table.records()).is_err(), "another binding");
    let refuse = |what: &str, change: &dyn Fn(&mut RecordedProof)| {
        let mut proof = theirs.clone();
        change(&mut proof);
        assert!(check(&proof, 7, &table.records()).is_err(), "{what}");
    };
    refuse("another sum", &|p| p.proof.openings.ctl_zs_first.as_mut().unwrap()[0] += F::ONE);
    refuse("no cap of the quotient", &|p| p.proof.quotient_polys_cap = None);
    refuse("no cap of the sums", &|p| p.proof.auxiliary_polys_cap = None);
    refuse("no sums", &|p| p.proof.openings.auxiliary_polys = None);
    refuse("no queries", &|p| p.proof.opening_proof.query_round_proofs.clear());
    refuse("a query fewer", &|p| _ = p.proof.opening_proof.query_round_proofs.pop());
    refuse("no layers", &|p| p.proof.opening_proof.commit_phase_merkle_caps.clear());
    refuse("no openings of a query", &|p| {
        p.proof.opening_proof.query_round_proofs[0].initial_trees_proof.evals_proofs.clear();
    });
    assert!(verify::<KeccakAir>(&config, 7, &theirs, binding(7), &table.records()).is_err(), "another number of rows");
}
