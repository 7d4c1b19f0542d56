//! Bits of soundness of the circuits and of their table.

use evergrove_proof::soundness::{CircuitShape, Layer, LayerTerms, SoundnessBits, Terms, layers};
use evergrove_proof::wire::SnarkParams;
use evergrove_proof::{HeightClass, NodeKind, Profile};
use evergrove_recursion::stark::Air;
use evergrove_recursion::stark::keccak::{DIGEST_HALVES, KeccakAir, MESSAGE_HALVES, ROUNDS};

use super::circuits::Shape;

/// The layers of digest translation: the profile's with this application's rows, and the table, whose term `permutation` does
/// not exist and is infinite. The table's binding is apart: [`binding_bits`].
pub fn translation_layers(profile: Profile, bucket_height: u8) -> Vec<Layer> {
    let shape = Shape::of(profile, bucket_height);
    let mut out = layers(profile, HeightClass::H40);
    for layer in &mut out {
        layer.bucket_capacity = None;
        if layer.kind != NodeKind::Wrap {
            resize(layer, shape.spec.degree_bits);
        }
    }
    let mut table = out[0].clone();
    let challenges = u32::from(table.fri.challenges);
    // Trace and sums are opened at two points, sums at a third, quotients at one.
    table.shape = CircuitShape {
        routed_wires: 0,
        wires: 2 * (KeccakAir::COLUMNS as u32 + challenges),
        constants: 0,
        gate_constraints: KeccakAir::CONSTRAINTS as u32 + challenges,
        quotient_degree_factor: KeccakAir::DEGREE as u32 - 1,
    };
    resize(&mut table, shape.log_rows());
    out.push(table);
    out
}

fn resize(layer: &mut Layer, degree_bits: usize) {
    layer.fri.degree_bits = degree_bits as u8;
    let params = SnarkParams::standard(layer.fri, 0, 0);
    layer.arity_bits = params.arity_bits.into_iter().map(|a| a as u32).collect();
}

/// Bits of the comparison of records, before a list of candidate tables: two different multisets of records have the same
/// sums.
///
/// The circuit has N records, a table of n rows at most n / 24. Their sums differ as rational functions of gamma whose
/// denominators have degree w - 1 in beta, so that they agree at a random pair with probability at most
/// (w - 1)(N + n / 24 - 1) / p. In a row whose denominator vanishes the table's sum is free: at most n / p more. Each of the
/// challenges is a pair of its own.
pub fn binding_bits(profile: Profile, bucket_height: u8) -> f64 {
    let records = (2u32 << bucket_height) - 1;
    let rows = 1u32 << Shape::of(profile, bucket_height).log_rows();
    let width = (MESSAGE_HALVES + DIGEST_HALVES) as u32;
    let agreements = (width - 1) * (records + rows / ROUNDS as u32 - 1) + rows;
    f64::from(profile.recursion().challenges) * (64.0 - f64::from(agreements).log2())
}

/// The minimum over every layer, every error term and the binding, for one layer and one query.
pub fn bits(profile: Profile, bucket_height: u8) -> SoundnessBits {
    let binding = binding_bits(profile, bucket_height);
    let terms: Vec<LayerTerms> = translation_layers(profile, bucket_height).iter().map(Layer::terms).collect();
    // The table is committed to before the challenge, as one of a list: what the list costs alpha, it costs the binding.
    let none = terms.last().map_or(SoundnessBits { unique_decoding: 0.0, johnson: 0.0, conjectured: 0.0 }, |table| {
        let list = |regime: &Terms| table.unique_decoding.alphas - regime.alphas;
        SoundnessBits {
            unique_decoding: binding,
            johnson: binding - list(&table.johnson),
            conjectured: binding - list(&table.conjectured),
        }
    });
    terms.iter().map(LayerTerms::bits).fold(none, |a, b| SoundnessBits {
        unique_decoding: a.unique_decoding.min(b.unique_decoding),
        johnson: a.johnson.min(b.johnson),
        conjectured: a.conjectured.min(b.conjectured),
    })
}

#[cfg(test)]
mod tests {
    use evergrove_proof::soundness;

    use super::*;
    use crate::digest_translation::BUCKET_HEIGHT;

    #[test]
    fn unique_decoding_is_the_profiles_own() {
        for profile in Profile::ALL {
            let ours = bits(profile, BUCKET_HEIGHT);
            let own = soundness::bits(profile, HeightClass::H40);
            println!("{profile}: {ours:?}, {own:?}, binding {}", binding_bits(profile, BUCKET_HEIGHT));
            for layer in translation_layers(profile, BUCKET_HEIGHT) {
                println!("  {:?}", layer.terms());
            }
            assert!(ours.unique_decoding >= own.unique_decoding - 0.05, "{profile}");
            assert!(ours.johnson >= own.johnson - 4.0, "{profile}");
        }
        assert!(bits(Profile::Proven, BUCKET_HEIGHT).unique_decoding >= 100.0);
        assert!((binding_bits(Profile::Paper, BUCKET_HEIGHT) - 99.1).abs() < 0.1);
    }
}
