//! `vectors/verifier.py`, an independent verifier, accepts proofs of both profiles and refuses mutants.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use evergrove_testkit::commit::value;
use evergrove_verifier::Profile;
use evergrove_verifier::wire::{Bundle, RowsForm};

use crate::mutants;
use crate::mutation::PROOFS;

/// Runs the verifier, and demands that it accepts.
fn accepts(arguments: &[&str]) -> io::Result<()> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/verifier.py");
    let out = Command::new("python3").arg(program).args(arguments).output()?;
    let (said, failed) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "verifier.py {arguments:?}: {said}{failed}");
    Ok(())
}

/// Writes a key, a proof file, its rows, a bundle of all of them, and what a verifier is told: the input of
/// `--self-test --proofs`.
fn write(dir: &Path, which: usize, profile: Profile, members: u64) -> (PathBuf, String, PathBuf) {
    let (proof, verifier) = &PROOFS[which];
    let file = |end: &str| dir.join(format!("{profile}.{end}"));
    let mut key = Vec::new();
    verifier.write_key(&mut key).unwrap();
    fs::write(file("key"), &key).unwrap();
    let proof = crate::verifier::file(which, proof);
    fs::write(file("proof"), &proof).unwrap();
    let rows = (0..members).map(|i| format!("{i},{}\n", value(i).map(|x| x.as_u64().to_string()).join(",")));
    let rows = format!("index,e0,e1,e2,e3\n{}", rows.collect::<String>());
    fs::write(file("csv"), &rows).unwrap();
    let rows = Some((RowsForm::Csv, rows.as_bytes()));
    let bundle = Bundle { proof: &proof, rows, schema: Some(b"raw = true\n"), key: Some(&key), ..Bundle::default() };
    fs::write(file("tar"), bundle.encode().unwrap()).unwrap();
    let commitment = crate::verifier::commitment(which).to_string();
    let about = serde_json::json!({
        "commitment": commitment,
        "key": format!("{profile}.key"),
        "key_digest": verifier.key_digest().to_string(),
        "rows": format!("{profile}.csv"),
        "mutants": mutants::list(which, 1000),
    });
    fs::write(file("json"), about.to_string()).unwrap();
    (file("proof"), commitment, file("key"))
}

/// Writes both proofs. Demands that the second verifier accepts them, and gives the first `mutants` mutants of each
/// proof the codes of the list.
fn agrees_on(mutants: &str) {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verifier");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("frozen"), mutants::frozen().to_string()).unwrap();
    let written = [(Profile::Grove100, 674), (Profile::Grove128, 3)]
        .into_iter()
        .enumerate()
        .map(|(which, (profile, members))| write(&dir, which, profile, members))
        .collect::<Vec<_>>();
    if accepts(&["--self-test", "--proofs", dir.to_str().unwrap(), "--mutants", mutants]).is_err() {
        return evergrove_testkit::not_tested("TEST", "python3 is missing");
    }
    for (proof, commitment, key) in written {
        // The verifier uses its own pinned digest of the key.
        let [proof, key] = [&proof, &key].map(|path| path.to_str().unwrap());
        accepts(&["verify", proof, "--commitment", &commitment, "--key", key, "--mutants", "1"]).unwrap();
    }
}

#[test]
fn a_second_verifier_agrees() {
    agrees_on("15");
}

#[test]
#[ignore = "slow: minutes, two hundred proofs in Python"]
fn a_second_verifier_agrees_on_two_hundred() {
    agrees_on("100");
}
