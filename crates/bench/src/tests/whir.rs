//! Compares our openings with those of p3-whir. With the same challenges, every message is the same.
//!
//! Both have the same code (coefficients of columns, evaluated at roots of unity), order of binding variables, sums of
//! rounds, folded oracles, way of adding queries to the sum, and final table. They differ in these points: p3-whir has
//! another hash and transcript; it numbers leaves in the order of the domain; it sends the polynomial of a round as its
//! value at 0 and its leading coefficient; it compares the last queries with the final table, where our protocol adds
//! them to the sum like the others; its points outside the domain have other weights.

use std::collections::VecDeque;

use evergrove_multilinear::whir::{self, Oracles};
use evergrove_multilinear::writer::Writer;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Field, Quadratic};
use evergrove_verifier::argument::{Machine, Parameters, Reader, Round, Schedule, UNIQUE_100, tags};
use evergrove_verifier::tables::{Layout, Table, Tables, bits, query};
use p3_challenger::{
    CanObserve, CanSample, CanSampleBits, CanSampleUniformBits, FieldChallenger, GrindingChallenger, ResamplingError,
};
use p3_commit::MultilinearPcs;
use p3_dft::Radix2DFTSmallBatch;
use p3_field::extension::BinomialExtensionField;
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing, TwoAdicField};
use p3_goldilocks::Goldilocks as F;
use p3_goldilocks::poseidon1::{Poseidon1Goldilocks, default_goldilocks_poseidon1_12};
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_multilinear_util::point::Point;
use p3_sumcheck::layout::{Layout as _, PrefixProver, Table as P3Table};
use p3_sumcheck::{OpeningBatch, OpeningProtocol, PrescribedPointPcs, SumcheckData, TableShape, TableSpec};
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};
use p3_whir::parameters::{FoldingFactor, ProtocolParameters, SecurityAssumption, WhirConfig};
use p3_whir::pcs::proof::QueryOpenings;
use p3_whir::pcs::prover::WhirProver;

use super::columns;

type E = BinomialExtensionField<F, 2>;
type Permutation = Poseidon1Goldilocks<12>;
type Mmcs = MerkleTreeMmcs<
    <F as p3_field::Field>::Packing,
    <F as p3_field::Field>::Packing,
    PaddingFreeSponge<Permutation, 12, 8, 4>,
    TruncatedPermutation<Permutation, 2, 4, 12>,
    2,
    4,
>;
type Pcs = WhirProver<E, F, Radix2DFTSmallBatch<F>, Mmcs, Script, PrefixProver<F, E>>;

/// A challenger that returns the given challenges.
#[derive(Clone, Debug, Default)]
struct Script {
    elements: VecDeque<F>,
    indices: VecDeque<usize>,
}

impl<T> CanObserve<T> for Script {
    fn observe(&mut self, _: T) {}
}
impl CanSample<F> for Script {
    fn sample(&mut self) -> F {
        self.elements.pop_front().expect("a challenge")
    }
}
impl CanSampleBits<usize> for Script {
    fn sample_bits(&mut self, _: usize) -> usize {
        0
    }
}
impl CanSampleUniformBits<F> for Script {
    fn sample_uniform_bits<const RESAMPLE: bool>(&mut self, _: usize) -> Result<usize, ResamplingError> {
        Ok(self.indices.pop_front().expect("an index"))
    }
}
impl FieldChallenger<F> for Script {}
impl GrindingChallenger for Script {
    type Witness = F;
    fn grind(&mut self, _: usize) -> F {
        F::new(0)
    }
}

fn base(x: Goldilocks) -> F {
    F::new(x.as_u64())
}
fn extension(x: Quadratic) -> E {
    let coefficients = x.as_ref();
    E::from_basis_coefficients_fn(|i| base(coefficients[i]))
}

/// p3-whir's index of the leaf with our `index` among 2^`depth` leaves. It counts powers of another root of unity, and
/// our indices are in bit-reversed order.
fn their_index(index: u64, depth: usize) -> usize {
    let our = base(Goldilocks::root_of_unity(depth as u32).expect("a root"));
    let their = F::two_adic_generator(depth);
    let power = their.powers().take(1 << depth).position(|x| x == our).expect("the same group");
    (index.reverse_bits() >> (64 - depth)) as usize * power % (1 << depth)
}

/// The contents of our proof.
#[derive(Default)]
struct Ours {
    script: Script,
    /// For each round of a sum, the value at 0 and the leading coefficient.
    sums: Vec<[E; 2]>,
    /// The leaves of each oracle.
    leaves: Vec<Vec<Vec<F>>>,
    last: Vec<E>,
}

/// Reads an opening with `schedule`, whose sum is `claim`.
fn read(proof: &[Goldilocks], schedule: &Schedule, mut claim: Quadratic) -> Ours {
    let mut ours = Ours::default();
    let reader = &mut Reader::<Quadratic>::new(proof);
    let challenge = |ours: &mut Ours, reader: &mut Reader<'_, Quadratic>| {
        let x = reader.challenge();
        ours.script.elements.extend(x.as_ref().iter().map(|&x| base(x)));
        x
    };
    reader.begin(tags::TRANSCRIPT);
    let mut tree = reader.receive_cap(schedule.depth(0), schedule.rounds[0].cap);
    let tables = schedule.tables();
    for (i, round) in schedule.rounds.iter().enumerate() {
        let mut r = Vec::new();
        for _ in 0..round.fold {
            let message = reader.receive(2);
            let constant = (claim - message[0] - message[1]) * Quadratic::from(Goldilocks::half());
            ours.sums.push([constant, message[1]].map(extension));
            let x = challenge(&mut ours, reader);
            claim = constant + x * (message[0] + x * message[1]);
            r.push(x);
        }
        let this = tree;
        if let Some(next) = schedule.rounds.get(i + 1) {
            tree = reader.receive_cap(schedule.depth(i + 1), next.cap);
        } else {
            ours.last = reader.receive(1 << tables[i + 1]).into_iter().map(extension).collect();
        }
        reader.grind(round.grinding);
        let depth = schedule.depth(i);
        let indices = reader.indices(round.queries, depth);
        let joining = if i + 1 < schedule.rounds.len() { challenge(&mut ours, reader) } else { reader.challenge() };
        let (tag, elements) = match i {
            0 => (tags::BASE_ORACLE, schedule.width),
            _ => (tags::EXTENSION_ORACLE, 2 << round.fold),
        };
        let mut power = joining;
        let mut leaves = Vec::new();
        for index in indices {
            ours.script.indices.push_back(their_index(index, depth));
            let leaf = reader.open(this, tag, index, elements / 4);
            let leaf = leaf.as_flattened();
            // The folded value, with weights eq of the column's bits, the highest bit first.
            let values: Vec<Quadratic> = match i {
                0 => leaf.iter().map(|&x| x.into()).collect(),
                _ => leaf.chunks_exact(2).map(|x| Quadratic::from_coefficients(x).expect("two")).collect(),
            };
            let eq = |column: usize| -> Quadratic {
                let bit = |(k, &r): (usize, &Quadratic)| match column >> (round.fold - 1 - k) & 1 {
                    1 => r,
                    _ => Quadratic::ONE - r,
                };
                r.iter().enumerate().map(bit).product()
            };
            claim += power * values.iter().enumerate().map(|(column, &x)| x * eq(column)).sum::<Quadratic>();
            power *= joining;
            leaves.push(leaf.iter().map(|&x| base(x)).collect());
        }
        ours.leaves.push(leaves);
    }
    ours
}

#[test]
fn openings_are_those_of_p3_whir() {
    // A stack of 2^17 elements: one block of rows, 256 columns of two tables.
    let (tables, blocks) = (1..64)
        .flat_map(|bits| (1..64).map(move |variables| query::Parameters { bits, variables }))
        .find_map(|query| {
            let tables = Tables::<Quadratic>::new(query, bits::Parameters::new(vec![], vec![]));
            let blocks = Table::ALL.map(|table| usize::from([Table::Permutation, Table::Query].contains(&table)));
            let layout = Layout::new(&tables, blocks);
            (layout.committed().elements() == 1 << 17).then_some((tables, blocks))
        })
        .expect("tables of 256 columns");
    const VARIABLES: usize = 17;
    let folds = [7, 3, 4];
    let rates = [1, 2, 5];
    // p3-whir's own numbers of queries for unique decoding.
    let config = WhirConfig::<E, F, Script>::new(
        VARIABLES,
        ProtocolParameters {
            starting_log_inv_rate: rates[0],
            round_log_inv_rates: rates[1..].to_vec(),
            folding_factor: FoldingFactor::PerRound(folds.to_vec()),
            soundness_type: SecurityAssumption::UniqueDecoding,
            security_level: 60,
            pow_bits: 14,
        },
    )
    .unwrap();
    assert_eq!(config.commitment_ood_samples(), 0);
    let queries: Vec<usize> = config.round_parameters().iter().map(|round| round.num_queries).collect();
    let queries = [&queries[..], &[config.terminal().num_queries]].concat();
    let rounds = core::array::from_fn::<_, 3, _>(|i| Round {
        fold: folds[i],
        rate: rates[i],
        queries: queries[i],
        cap: 2,
        grinding: 4,
        samples: 0,
    });
    let schedule = Schedule { variables: VARIABLES, width: 1 << folds[0], rounds: rounds.to_vec() };
    let parameters = Parameters::new(tables, blocks, schedule).unwrap();
    let schedule = parameters.schedule();

    // A sum over columns with powers of an element of order 255 as weights, which are eq of the column and a point.
    let data = columns(1, 1 << VARIABLES).remove(0);
    let random = columns(2, 9);
    let rows: Vec<Quadratic> =
        (0..9).map(|i| Quadratic::from_coefficients(&[random[0][i], random[1][i]]).unwrap()).collect();
    let eta = Quadratic::from(Goldilocks::GENERATOR.pow((Goldilocks::ORDER - 1) / 255));
    let squares = core::iter::successors(Some(eta), |&x| Some(x * x)).take(8);
    let point: Vec<Quadratic> =
        rows.iter().copied().chain(squares.map(|x| x * (Quadratic::ONE + x).inverse().unwrap())).collect();
    let mut writer = Writer::new(tags::TRANSCRIPT);
    let oracles = Oracles::new(schedule);
    let sent = whir::commit(&oracles, parameters.layout().committed(), &data).send(&mut writer);
    let sums = sent.sums(&rows);
    sent.open(|table| parameters.layout().shape(table), &rows, eta, sums, &mut writer);
    let claim = (point.iter().enumerate())
        .fold(data.iter().map(|&x| x.into()).collect::<Vec<Quadratic>>(), |f, (_, &r)| {
            f.chunks_exact(2).map(|pair| pair[0] + r * (pair[1] - pair[0])).collect()
        })[0];
    let mut ours = read(&writer.finish(), schedule, claim);

    // For p3-whir: one column and one point, its highest coordinate first. The first challenge batches claims, and
    // there is only one claim. The last challenges are for a sum that our protocol does not have.
    let mut script = ours.script.clone();
    script.elements.extend([F::new(1); 2 * (VARIABLES - 14)]);
    script.elements.push_front(F::new(3));
    script.elements.push_front(F::new(5));
    let permutation = default_goldilocks_poseidon1_12();
    let mmcs = Mmcs::new(PaddingFreeSponge::new(permutation.clone()), TruncatedPermutation::new(permutation), 0);
    let pcs = Pcs::new(config, Radix2DFTSmallBatch::default(), mmcs);
    let table = P3Table::new(RowMajorMatrix::new(data.iter().map(|&x| base(x)).collect(), 1 << VARIABLES));
    let witness = PrefixProver::<F, E>::new_witness(vec![table], folds[0]);
    let spec =
        TableSpec::new(TableShape::new(VARIABLES, 1), [OpeningBatch::new(vec![0], Vec::new())].into_iter().collect());
    let protocol = OpeningProtocol::new(vec![spec]);
    let points = [Point::new(point.iter().rev().map(|&x| extension(x)).collect())];
    let (commitment, prover_data) = pcs.commit(witness, &mut script.clone()).unwrap();
    let proof = pcs.open_at(prover_data, &protocol, &points, &mut script.clone()).unwrap();
    let evaluations = pcs.verify_at(&commitment, &proof, &protocol, &points, &mut script.clone()).unwrap();
    assert_eq!(evaluations[0].current(), [extension(claim)]);

    let theirs = proof.whir;
    let sums = |data: &SumcheckData<F, E>| data.polynomial_evaluations().to_vec();
    let sums: Vec<[E; 2]> = [&theirs.initial_sumcheck]
        .into_iter()
        .chain(theirs.rounds.iter().map(|round| &round.sumcheck))
        .flat_map(sums)
        .collect();
    let last = theirs.final_poly.unwrap();
    let openings = theirs.rounds.into_iter().map(|round| round.openings).chain([theirs.final_openings]);
    for (i, opening) in openings.enumerate() {
        let rows: Vec<Vec<F>> = match opening {
            QueryOpenings::Base(opening) => opening.rows,
            QueryOpenings::Extension(opening) => opening
                .rows
                .iter()
                .map(|row| row.iter().flat_map(|x| x.as_basis_coefficients_slice().to_vec()).collect())
                .collect(),
        };
        assert!(core::mem::take(&mut ours.leaves[i]) == rows, "leaves of oracle {i}");
    }
    assert!(ours.sums == sums, "sums of rounds");
    assert_eq!(ours.last, last.as_slice());
}

#[test]
fn as_many_queries_as_p3_whir_asks() {
    for round in UNIQUE_100 {
        let needed = SecurityAssumption::UniqueDecoding.queries(100 - round.grinding, round.rate);
        assert!((needed..=needed + 1).contains(&round.queries), "{} queries, {needed} needed", round.queries);
    }
}
