//! Reduces several claims about fixed columns to one: the messages that
//! [`reduce`](evergrove_verifier::argument::reduce) reads.
//!
//! As in openings, the weights of a claim are a weight within a chunk of 512 places times a weight of the chunk: rounds
//! over chunks work on sums, and one pass folds the chunks.

use evergrove_kernels::multilinear::mle::eq_table_vec;
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::extension::Extension;

use crate::key::Key;
use crate::whir::sum_round;
use crate::writer::Writer;
use evergrove_verifier::argument::{Claim, FixedClaim, Reduced, counts, observe_claims, tags};
use evergrove_verifier::tables::{BLOCK, BLOCK_LOG};

/// The proof, and the remaining claim.
///
/// # Panics
/// If a claim's point does not have a coordinate for each variable.
pub fn reduce<K: Extension>(key: &Key<K>, claims: &[Claim<K>]) -> (Vec<Goldilocks>, Reduced<K>) {
    let mut t = Writer::<K>::new(tags::CLAIMS);
    t.observe(&[key.digest(), counts(key.parameters(), claims)]);
    t.observe_elements(&observe_claims(claims));
    let theta = t.challenge();
    // For each claim the sums of chunks, the weights of chunks, and the weights within.
    let mut power = K::ONE;
    let mut sums = Vec::with_capacity(claims.len());
    let mut within = Vec::with_capacity(claims.len());
    for claim in claims {
        let (chunks, mut weights) = key.weighed(claim);
        weights.iter_mut().for_each(|weight| *weight *= power);
        sums.push((chunks, weights));
        let point = match claim {
            Claim::Fixed(FixedClaim { point, .. }) => &point.r,
            Claim::At { point, .. } => point,
        };
        within.push(eq_table_vec(&point[..BLOCK_LOG]).expect("few coordinates"));
        power *= theta;
    }
    let mut point: Vec<K> = (BLOCK_LOG..key.variables()).map(|_| sum_round(&mut t, &mut sums)).collect();
    point.reverse();
    let chunks = eq_table_vec(&point).expect("few coordinates");
    let folded = key.sum_chunks(&chunks);
    let mut weights = vec![K::ZERO; BLOCK];
    for ((_, chunk), within) in sums.iter().zip(&within) {
        weights.iter_mut().zip(within).for_each(|(weight, &x)| *weight += chunk[0] * x);
    }
    let mut rest = [(folded, weights)];
    let mut low: Vec<K> = (0..BLOCK_LOG).map(|_| sum_round(&mut t, &mut rest)).collect();
    low.reverse();
    let value = rest[0].0[0];
    t.send(&[value]);
    low.extend(point);
    (t.finish(), Reduced { point: low, value })
}
