//! What builds of the library stand on.

use std::process::Command;

/// Batches and queries need no crate that needs `RUSTC_BOOTSTRAP`.
#[test]
fn the_library_with_grove_alone_stands_on_no_plonky2() {
    let tree = |features: &str| {
        let out = Command::new(env!("CARGO"))
            .args(["tree", "--offline", "--locked", "--package", "evergrove", "--edges", "normal", "--prefix", "none"])
            .args(["--no-default-features", "--features", features])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .output()
            .expect("cargo runs");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).expect("text")
    };
    let names = |features: &str, name: &str| tree(features).lines().any(|line| line.starts_with(name));
    assert!(names("grove", "evergrove-apps ") && names("grove", "evergrove-multilinear "));
    for needs in ["plonky2 ", "plonky2_field ", "starky ", "evergrove-recursion "] {
        assert!(!names("grove", needs), "{needs}");
        assert!(names("grove,plonky2", needs), "{needs}");
    }
}
