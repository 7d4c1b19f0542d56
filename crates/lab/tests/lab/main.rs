//! Models of machines: results, cycles, traces and configurations.

mod configs;
mod msm;
mod mtu;
mod mtu_trace;
mod mutation;
mod poseidon;

use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// This many random designs, the same in each run.
fn designs(cases: u32) -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(9),
        failure_persistence: None,
        max_global_rejects: u32::MAX,
        ..ProptestConfig::with_cases(cases)
    }
}

/// Requires that a page states a bound of the tests in these words.
fn states(page: &str, words: &str) {
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(words), "the page does not say: {words}");
}
