//! Helpers that several modules share: circuits take seconds to build, and gigabytes.

use std::sync::LazyLock;

use evergrove_plonky2::Plonky2Backend;
use evergrove_verifier::{HeightClass, Profile};

/// The pinned circuits of the profile `paper`.
pub(crate) static PAPER: LazyLock<Plonky2Backend> =
    LazyLock::new(|| Plonky2Backend::load(Profile::Paper, HeightClass::H27, None).expect("the pinned circuits"));
