//! Bits of soundness of the circuits and of their table.

use evergrove_apps::digest_translation::DigestTranslation;
use evergrove_verifier::soundness::{CircuitShape, Layer, SoundnessBits, Terms, least};
use evergrove_verifier::wire::SnarkParams;
use evergrove_verifier::{FriParams, Profile, Scheme};

use super::bucket;
use crate::apps::circuit_set::AppKeys;
use crate::stark::Air;
use crate::stark::keccak::{DIGEST_HALVES, KeccakAir, MESSAGE_HALVES, ROUNDS};

/// The layers of a translation by these keys: its circuits with their own counts of wires and constraints, and the table, whose
/// term `permutation` does not exist and is infinite. The table's binding is apart: [`binding_bits`]. There are none for a profile
/// of another backend than Plonky2.
pub fn layers(keys: &AppKeys, profile: Profile, app: &DigestTranslation) -> Vec<Layer> {
    let mut out = keys.layers(Scheme::Tree, profile);
    out.extend(table(profile, app));
    out
}

fn table(profile: Profile, app: &DigestTranslation) -> Option<Layer> {
    let known = profile.recursion()?;
    let fri = FriParams { degree_bits: bucket::log_rows(app.bucket_height()) as u8, ..known };
    let challenges = u32::from(challenges_of(fri));
    Some(Layer {
        kind: evergrove_verifier::NodeKind::Bucket,
        fri,
        arity_bits: SnarkParams::standard(fri, 0, 0).arity_bits.into_iter().map(|a| a as u32).collect(),
        // Trace and sums are opened at two points, sums at a third, quotients at one.
        shape: CircuitShape {
            routed_wires: 0,
            wires: 2 * (KeccakAir::COLUMNS as u32 + challenges),
            constants: 0,
            gate_constraints: KeccakAir::CONSTRAINTS as u32 + challenges,
            quotient_degree_factor: KeccakAir::DEGREE as u32 - 1,
        },
        bucket_capacity: None,
    })
}

/// The parameter on which the binding of records rests: its challenges are drawn from the base field.
fn challenges_of(params: FriParams) -> u8 {
    let FriParams {
        challenges,
        rate_bits: _,
        queries: _,
        pow_bits: _,
        extension_degree: _,
        cap_height: _,
        arity_bits: _,
        final_poly_bits: _,
        degree_bits: _,
    } = params;
    challenges
}

/// Bits of the comparison of records, before a list of candidate tables: two different multisets of records have the same
/// sums.
///
/// The circuit has N records, and a table of n rows has at most n / 24. Their sums differ as rational functions of
/// gamma whose denominators have degree w - 1 in beta, so they agree at a random pair with probability at most (w -
/// 1)(N + n / 24 - 1) / p. In a row whose denominator vanishes the table's sum is free: at most n / p more. Each
/// challenge is a separate pair. A profile of a backend other than Plonky2 has no bits.
pub fn binding_bits(profile: Profile, app: &DigestTranslation) -> f64 {
    let records = (2u32 << app.bucket_height()) - 1;
    let rows = 1u32 << bucket::log_rows(app.bucket_height());
    let width = (MESSAGE_HALVES + DIGEST_HALVES) as u32;
    let agreements = (width - 1) * (records + rows / ROUNDS as u32 - 1) + rows;
    f64::from(profile.recursion().map_or(0, challenges_of)) * (64.0 - f64::from(agreements).log2())
}

/// The minimum over every layer, every error term and the binding, for one layer and one query. No bits for a profile of
/// another backend than Plonky2.
pub fn bits(keys: &AppKeys, profile: Profile, app: &DigestTranslation) -> SoundnessBits {
    let binding = binding_bits(profile, app);
    // The table is committed to before the challenge, as one of a list: the list costs the binding as much as it costs
    // alpha.
    let Some(table) = table(profile, app) else { return least(&[]) };
    let table = table.terms();
    let list = |regime: &Terms| table.unique_decoding.alphas - regime.alphas;
    let bound = SoundnessBits {
        unique_decoding: binding,
        johnson: binding - list(&table.johnson),
        conjectured: binding - list(&table.conjectured),
    };
    let layers = layers(keys, profile, app);
    layers.iter().map(|layer| layer.terms().bits()).fold(bound, |a, b| SoundnessBits {
        unique_decoding: a.unique_decoding.min(b.unique_decoding),
        johnson: a.johnson.min(b.johnson),
        conjectured: a.conjectured.min(b.conjectured),
    })
}

#[cfg(test)]
mod tests {
    use evergrove_verifier::{HeightClass, soundness};
    use plonky2::hash::hash_types::HashOut;
    use plonky2::hash::merkle_tree::MerkleCap;

    use super::*;
    use crate::apps::digest_translation::Shape;
    use crate::keys::{CommonData, KeySet, VerifierKey};
    use crate::setup::CircuitPair;

    /// Keys that describe circuits without commitments. A profile's wrap is that of batch proofs here.
    fn keys(shape: &Shape, common: CommonData) -> AppKeys {
        let key = VerifierKey { constants_sigmas_cap: MerkleCap(vec![]), circuit_digest: HashOut::default() };
        let set = KeySet { node_common: common, bucket: key.clone(), merge: key, wrap: None };
        AppKeys { size: shape.size(), set }
    }

    /// Both circuits fit their rows (otherwise the search fails), and their bits are the profile's in unique decoding.
    fn holds(profile: Profile) {
        let app = &DigestTranslation::default();
        let shape = Shape::of(profile, HeightClass::H40, app.bucket_height()).expect("a profile of Plonky2");
        let keys = keys(&shape, CircuitPair::search(&shape, None).expect("circuits that fit"));
        let ours = bits(&keys, profile, app);
        let own = soundness::bits(profile, HeightClass::H40);
        println!("{profile}: {ours:?}, {own:?}, binding {}", binding_bits(profile, app));
        for layer in layers(&keys, profile, app) {
            println!("  {:?} {:?}", layer.shape, layer.terms());
        }
        assert!(ours.unique_decoding >= own.unique_decoding - 0.05, "{profile}");
        assert!(ours.johnson >= own.johnson - 4.0, "{profile}");
    }

    #[test]
    fn circuits_fit_and_unique_decoding_is_the_profiles_own() {
        holds(Profile::Paper);
        assert!((binding_bits(Profile::Paper, &DigestTranslation::default()) - 99.1).abs() < 0.1);
    }

    #[test]
    #[ignore = "apps: a minute of processor time, circuits of 2^16 rows are built"]
    fn so_it_is_in_the_larger_profiles() {
        [Profile::Johnson, Profile::Proven].into_iter().for_each(holds);
    }
}
