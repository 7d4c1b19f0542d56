//! The dependencies of builds of the library and of the command line.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The crates below a package with these features.
fn tree(package: &str, features: &[&str]) -> String {
    let out = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none", "--package", package])
        .args(features)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

/// Batches, queries, sums of keys and digest translation need no crate that needs `RUSTC_BOOTSTRAP`.
#[test]
fn only_the_feature_plonky2_stands_on_plonky2() {
    let names = |tree: &str, name: &str| tree.lines().any(|line| line.starts_with(name));
    let without = [
        tree("evergrove", &[]),
        tree("evergrove", &["--no-default-features", "--features", "grove"]),
        tree("evergrove-apps", &[]),
        tree("evergrove-serve", &[]),
        tree("evergrove-cli", &[]),
        tree("evergrove-cli", &["--features", "full"]),
    ];
    let with = [tree("evergrove", &["--features", "plonky2"]), tree("evergrove-cli", &["--features", "plonky2"])];
    for needs in ["plonky2 ", "plonky2_field ", "starky ", "evergrove-plonky2 "] {
        for tree in &without {
            assert!(!names(tree, needs), "{needs}: {tree}");
        }
        assert!(with.iter().all(|tree| names(tree, needs)), "{needs}");
    }
    assert!(names(&without[0], "evergrove-apps ") && names(&without[0], "evergrove-multilinear "));
}

/// The crates of a workspace whose manifest names one of these as a dependency of any kind.
fn users(manifest: &str, names: &[&str]) -> Vec<String> {
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(manifest))
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let uses = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().expect("dependencies");
        dependencies.iter().any(|d| names.iter().any(|name| d["name"] == *name))
    };
    let name = |package: &serde_json::Value| package["name"].as_str().expect("a name").to_owned();
    packages.iter().filter(|package| uses(package)).map(name).collect()
}

/// The backend of version 0.1, the baselines on it, and the benchmarks.
#[test]
fn only_one_backend_and_its_baselines_depend_on_plonky2() {
    let names = ["plonky2", "plonky2_field", "plonky2_util", "plonky2_maybe_rayon", "starky"];
    assert_eq!(
        BTreeSet::from_iter(users("Cargo.toml", &names)),
        ["evergrove-baselines", "evergrove-plonky2"].map(String::from).into()
    );
    assert_eq!(users("crates/bench/Cargo.toml", &names), ["evergrove-bench"]);
}

/// A reader who audits the verifier reads two crates.
#[test]
fn the_verifier_stands_on_our_primitives_alone() {
    let crates = |tree: &str| {
        let names = tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned);
        names.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(crates(&tree("evergrove-verifier", &[])), ["evergrove-primitives", "evergrove-verifier"]);
    let with_rows = crates(&tree("evergrove-verifier", &["--features", "schema"]));
    for std in ["rayon", "blake3", "evergrove-kernels"] {
        assert!(!with_rows.iter().any(|name| name == std), "{std}: {with_rows:?}");
    }
}
