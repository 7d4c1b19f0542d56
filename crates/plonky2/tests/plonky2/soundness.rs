//! The counts that `evergrove_verifier::soundness` computes with are those of the pinned circuits.

use evergrove_plonky2::keys::{CommonData, KeySet};
use evergrove_verifier::soundness::{CircuitShape, Layer, layers};
use evergrove_verifier::{HeightClass, NodeKind, Profile};

fn compare(layer: &Layer, common: &CommonData, what: &str) {
    let config = &common.config;
    let shape = CircuitShape {
        routed_wires: config.num_routed_wires as u32,
        wires: config.num_wires as u32,
        constants: common.num_constants as u32,
        gate_constraints: common.num_gate_constraints as u32,
        quotient_degree_factor: common.quotient_degree_factor as u32,
    };
    assert_eq!(layer.shape, shape, "{what}");
    let fri = layer.fri;
    assert_eq!(usize::from(fri.degree_bits), common.degree_bits(), "{what}");
    assert_eq!(usize::from(fri.rate_bits), config.fri_config.rate_bits, "{what}");
    assert_eq!(usize::from(fri.queries), config.fri_config.num_query_rounds, "{what}");
    assert_eq!(u32::from(fri.pow_bits), config.fri_config.proof_of_work_bits, "{what}");
    assert_eq!(usize::from(fri.challenges), config.num_challenges, "{what}");
    let arities: Vec<u32> = common.fri_params.reduction_arity_bits.iter().map(|a| *a as u32).collect();
    assert_eq!(layer.arity_bits, arities, "{what}");
    assert!(!config.zero_knowledge && common.num_lookup_polys == 0, "{what}");
    assert_eq!(common.num_partial_products, shape.products() as usize - 1, "{what}");
}

#[test]
fn pinned_circuits_have_the_counts_of_the_soundness_numbers() {
    for profile in Profile::PLONKY2 {
        for class in HeightClass::ALL {
            let keys = KeySet::pinned(profile, class).unwrap();
            for layer in layers(profile, class) {
                let what = format!("{} of {profile}, {class:?}", layer.kind);
                let common = match layer.kind {
                    NodeKind::Bucket | NodeKind::Merge => &keys.node_common,
                    NodeKind::Wrap => &keys.wrap.as_ref().unwrap().0,
                };
                compare(&layer, common, &what);
            }
        }
    }
}
