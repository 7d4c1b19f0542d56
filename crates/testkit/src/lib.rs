//! Suites of laws and strict doubles, for tests, benches and fuzz targets only.

#![deny(unsafe_code)]

pub mod backend;
pub mod commit;
#[cfg(feature = "demands")]
pub mod demands;
pub mod engine;
pub mod faults;
pub mod gates;
pub mod heap;
pub mod http;
pub mod servers;
pub mod store;
pub mod text;
#[cfg(feature = "tls")]
pub mod tls;

/// Reports that the calling test was skipped, and why. libtest does not capture the line, and `scripts/test-groups.sh`
/// counts it.
///
/// # Panics
/// If `EVERGROVE_REQUIRE_<GROUP>` is set.
pub fn not_tested(group: &str, reason: &str) {
    use std::io::Write;

    assert!(std::env::var_os(format!("EVERGROVE_REQUIRE_{group}")).is_none(), "{reason}");
    let thread = std::thread::current();
    // If standard error is closed, nobody can read the message.
    let _ = writeln!(std::io::stderr(), "not tested: test {}: {reason}", thread.name().unwrap_or("without a name"));
}
