//! Whether a circuit has the parameters of its profile.

use evergrove_verifier::FriParams;
use evergrove_verifier::wire::SnarkParams;

use crate::circuit::{D, circuit_config};
use crate::keys::CommonData;

/// A circuit has another parameter than its profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter} of the circuit: expected {expected}, got {found}")]
pub struct OtherParams {
    /// The parameter's name.
    pub parameter: &'static str,
    /// Its value in the profile.
    pub expected: String,
    /// Its value in the circuit.
    pub found: String,
}

/// Compares the common data that a verifier reads with the parameters that the soundness numbers are computed from.
///
/// # Errors
/// For the first parameter that differs.
pub fn check_params(common: &CommonData, params: &FriParams) -> Result<(), OtherParams> {
    let FriParams {
        rate_bits,
        queries,
        pow_bits,
        challenges,
        extension_degree,
        cap_height,
        arity_bits,
        final_poly_bits,
        degree_bits,
    } = *params;
    let (config, fri) = (&common.config, &common.fri_params);
    let numbers = [
        ("rate bits", fri.config.rate_bits, usize::from(rate_bits)),
        ("queries", fri.config.num_query_rounds, queries.into()),
        ("grinding bits", fri.config.proof_of_work_bits as usize, pow_bits.into()),
        ("challenges", config.num_challenges, challenges.into()),
        ("degree of the extension field", D, extension_degree.into()),
        ("cap height", fri.config.cap_height, cap_height.into()),
        ("degree bits", fri.degree_bits, degree_bits.into()),
    ];
    for (parameter, found, expected) in numbers {
        same(parameter, &found, &expected)?;
    }
    let folds = SnarkParams::constant_arity_bits(
        degree_bits.into(),
        rate_bits.into(),
        cap_height.into(),
        arity_bits.into(),
        final_poly_bits.into(),
    );
    same("folds", &fri.reduction_arity_bits, &folds)?;
    // Plonky2 keeps a configuration beside the parameters that it derived from it.
    same("hiding", &fri.hiding, &false)?;
    same("FRI configuration", &fri.config, &config.fri_config)?;
    same("configuration", config, &circuit_config(params))
}

fn same<T: PartialEq + core::fmt::Debug>(parameter: &'static str, found: &T, expected: &T) -> Result<(), OtherParams> {
    match found == expected {
        true => Ok(()),
        false => Err(OtherParams { parameter, expected: format!("{expected:?}"), found: format!("{found:?}") }),
    }
}

#[cfg(test)]
mod tests {
    use evergrove_verifier::{HeightClass, Profile};

    use super::*;
    use crate::circuit::params_of;
    use crate::keys::KeySet;

    /// Every parameter counts: keys with any other value are refused.
    #[test]
    fn keys_of_other_parameters_are_refused() {
        let keys = KeySet::pinned(Profile::Paper, HeightClass::H27).expect("pinned keys with the profile's parameters");
        let own = params_of(Profile::Paper).expect("a profile of Plonky2");
        check_params(&keys.node_common, &own).expect("the profile's parameters");
        let FriParams {
            rate_bits,
            queries,
            pow_bits,
            challenges,
            extension_degree,
            cap_height,
            arity_bits,
            final_poly_bits,
            degree_bits,
        } = own;
        for (other, parameter) in [
            (FriParams { rate_bits: rate_bits - 1, ..own }, "rate bits"),
            (FriParams { queries: queries - 1, ..own }, "queries"),
            (FriParams { pow_bits: pow_bits - 1, ..own }, "grinding bits"),
            (FriParams { challenges: challenges - 1, ..own }, "challenges"),
            (FriParams { extension_degree: extension_degree - 1, ..own }, "degree of the extension field"),
            (FriParams { cap_height: cap_height - 1, ..own }, "cap height"),
            (FriParams { arity_bits: arity_bits - 1, ..own }, "folds"),
            (FriParams { final_poly_bits: final_poly_bits + 4, ..own }, "folds"),
            // The same folds from another limit are another configuration.
            (FriParams { final_poly_bits: final_poly_bits + 1, ..own }, "configuration"),
            (FriParams { degree_bits: degree_bits - 1, ..own }, "degree bits"),
        ] {
            assert_eq!(check_params(&keys.node_common, &other).map_err(|e| e.parameter), Err(parameter));
        }
    }

    /// The data that plonky2 keeps beside its configuration counts too.
    #[test]
    fn common_data_that_differ_from_their_configuration_are_refused() {
        let own = params_of(Profile::Paper).expect("a profile of Plonky2");
        let common = KeySet::pinned(Profile::Paper, HeightClass::H27).expect("pinned keys").node_common;
        let mut other = common.clone();
        other.fri_params.config.num_query_rounds -= 1;
        assert!(check_params(&other, &own).is_err_and(|e| e.parameter == "queries"));
        let mut other = common.clone();
        other.config.fri_config.num_query_rounds -= 1;
        assert!(check_params(&other, &own).is_err_and(|e| e.parameter == "FRI configuration"));
        let mut other = common;
        other.fri_params.reduction_arity_bits.pop();
        assert!(check_params(&other, &own).is_err_and(|e| e.parameter == "folds"));
    }
}
