//! Real sync committees of Ethereum, proven by Plonky2.

#[path = "../../../../apps/tests/apps/sync_committees/data.rs"]
mod data;

use std::sync::Arc;

use evergrove_apps::bls::BlsKeys;
use evergrove_plonky2::apps::circuit_set::AppBackend;
use evergrove_verifier::{HeightClass, Profile, Scheme};

use data::{data, one_from_the_other};

#[test]
#[ignore = "apps: a minute, dozens of proofs of 2^14 rows"]
fn committees_are_proven_one_from_the_other_by_plonky2() {
    let app = Arc::new(BlsKeys);
    let backend = AppBackend::load(app, Scheme::Selected, Profile::Paper, HeightClass::H27, None).expect("circuits");
    one_from_the_other(&backend, data());
}
