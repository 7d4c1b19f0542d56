//! Manifests and tests follow the rules of the project: the workspace of the benchmarks has the settings of the
//! product's, and every ignored test belongs to a group of `scripts/test-groups.sh`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository exists")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The sorted lines of a section of a manifest, without comments.
fn section(manifest: &str, name: &str) -> BTreeSet<String> {
    let heading = format!("[{name}]");
    let lines = manifest.lines().skip_while(|l| *l != heading).skip(1).take_while(|l| !l.starts_with('['));
    let lines: BTreeSet<String> = lines.filter(|l| !l.is_empty() && !l.starts_with('#')).map(str::to_owned).collect();
    assert!(!lines.is_empty(), "no section {heading}");
    lines
}

/// The versions in a lock file, by name and compatible part of the version (x, or 0.x).
fn locked(lock: &str) -> BTreeMap<(String, String), String> {
    let mut out = BTreeMap::new();
    let value = |line: &str| line.split('"').nth(1).expect("a quoted value").to_owned();
    let mut name = String::new();
    for line in lock.lines() {
        if line.starts_with("name = ") {
            name = value(line);
        } else if line.starts_with("version = ") && !name.is_empty() {
            let version = value(line);
            let parts: Vec<&str> = version.split('.').collect();
            let kept = if parts[0] == "0" { 2 } else { 1 };
            out.insert((name.clone(), parts[..kept].join(".")), version.clone());
        }
    }
    out
}

#[test]
fn benchmarks_are_built_like_the_product() {
    let (product, bench) = (read("Cargo.toml"), read("crates/bench/Cargo.toml"));
    for lints in ["rust", "clippy"] {
        let (ours, theirs) = (format!("workspace.lints.{lints}"), format!("lints.{lints}"));
        assert_eq!(section(&product, &ours), section(&bench, &theirs), "[{ours}] and crates/bench's [{theirs}]");
    }
    // Profiles of our own crates may differ.
    let profiles = |manifest: &str| -> BTreeMap<String, BTreeSet<String>> {
        let names = manifest.lines().filter_map(|l| l.strip_prefix('[')?.strip_suffix(']'));
        let names = names.filter(|n| n.starts_with("profile.") && !n.contains(".evergrove-"));
        names.map(|name| (name.to_owned(), section(manifest, name))).collect()
    };
    assert_eq!(profiles(&product), profiles(&bench), "the profiles of Cargo.toml and crates/bench/Cargo.toml");
    assert!(profiles(&product).contains_key("profile.release"));
    let (product, bench) = (locked(&read("Cargo.lock")), locked(&read("crates/bench/Cargo.lock")));
    let mut compared = 0;
    for (package, version) in &product {
        let Some(other) = bench.get(package) else { continue };
        assert_eq!(version, other, "{}: the version in Cargo.lock and in crates/bench/Cargo.lock", package.0);
        compared += 1;
    }
    assert!(compared > 100, "only {compared} packages are in both lock files");
}

/// Every Rust file in a folder, except in build folders.
fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for path in fs::read_dir(dir).expect("the folder can be listed").map(|e| e.expect("readable").path()) {
        if path.is_dir() && path.file_name().is_some_and(|n| n != "target") {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn every_ignored_test_belongs_to_a_group() {
    let script = read("scripts/test-groups.sh");
    let groups: BTreeSet<&str> =
        script.lines().filter_map(|l| l.strip_prefix("group_")?.split_once("()")).map(|(name, _)| name).collect();
    assert!(groups.len() >= 5, "groups of scripts/test-groups.sh: {groups:?}");
    let makefile = read("Makefile");
    for group in groups.iter().filter(|g| **g != "test") {
        assert!(makefile.contains(&format!("\ntest-{group}:")), "the Makefile has no target test-{group}");
    }
    let attribute = concat!("#[", "ignore");
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let mut found = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("readable");
        let mut lines = text.lines().map(str::trim).peekable();
        while let Some(line) = lines.next() {
            if !line.starts_with(attribute) {
                continue;
            }
            let at = file.display();
            let reason = line.strip_prefix(&format!("{attribute} = \"")).unwrap_or_default();
            let group = reason.split_once(": ").map(|(group, _)| group).unwrap_or_default();
            assert!(
                groups.contains(group),
                "{at}: {line}: the reason must begin with one of {groups:?}, as in \"slow: ..\""
            );
            let next = lines.peek().copied().unwrap_or_default();
            let name = next.strip_prefix("fn ").and_then(|l| l.split('(').next());
            let name = name.unwrap_or_else(|| panic!("{at}: expected `fn NAME(` below {line}, got {next}"));
            let other = found.insert(name.to_owned(), group.to_owned()).filter(|other| other != group);
            assert!(other.is_none(), "{at}: the ignored test {name} is in the groups {group} and {other:?}");
        }
    }
    assert!(found.len() >= 10, "only {found:?}");
}
