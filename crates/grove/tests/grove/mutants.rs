//! Changed proof files: every verifier gives the same code for the same mutant. This process runs the verifier with the
//! key in memory, which computes in lanes, and the verifier that reads a key file. The tests of `vectors/verifier.py`
//! and of WebAssembly read the list that [`list`] writes.

use std::fs;
use std::path::Path;

use evergrove_commit::NodeProof;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_testkit::commit::Rng;
use evergrove_verifier::verify::{Code, Outcome, Request};
use evergrove_verifier::wire::OpeningError;
use evergrove_verifier::{BatchProof, Commitment, Opening, Policy, Profile};
use rayon::prelude::*;

use crate::mutation::PROOFS;
use crate::verifier::{KEYS, code, commitment, file, run};

const P: u64 = Goldilocks::ORDER;

/// A replacement of bytes in a file: offset, number of bytes, new bytes.
type Edit = (usize, usize, Vec<u8>);

/// One change of a proof file whose body begins at byte `start`. If there are several edits, only the last one changes
/// the length.
fn mutant(rng: &mut Rng, file: &[u8], start: usize) -> Vec<Edit> {
    let words = (file.len() - start) / 8;
    let mut below = |n: usize| rng.below(n as u64) as usize;
    let (any, place, other) = (below(file.len()), start + 8 * below(words), start + 8 * below(words));
    let element = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes"));
    let length = |words: usize| (start - 4, 4, (8 * words as u32).to_le_bytes().to_vec());
    match below(16) {
        0 => vec![(any, 1, vec![file[any] ^ (1 << below(8))])],
        1 => vec![(any, 1, vec![below(256) as u8])],
        2 => vec![(place, 8, vec![0; 8])],
        3 => {
            let copies = [(place, other), (other, place)];
            copies.map(|(to, from)| (to, 8, file[from..from + 8].to_vec())).into()
        }
        4 => vec![(place, 8, file[other..other + 8].to_vec())],
        // A non-canonical encoding of the same element, or bytes that encode no element.
        5 => vec![(
            place,
            8,
            element(place).checked_add(P).unwrap_or(u64::MAX - below(1000) as u64).to_le_bytes().into(),
        )],
        6 => vec![(below(start), 1, vec![below(256) as u8])],
        7 => {
            let at = below(start);
            vec![(at, 1, vec![file[at].wrapping_add(1)])]
        }
        8 => vec![(any, file.len() - any, vec![])],
        9 => {
            let left = below(words);
            vec![length(left), (start + 8 * left, 8 * (words - left), vec![])]
        }
        10 => vec![(file.len(), 0, vec![0; 1 + below(40)])],
        11 => {
            let more = 1 + below(4);
            vec![length(words + more), (place, 0, below(1 << 20).to_le_bytes().repeat(more))]
        }
        12 => vec![length(words - 1), (place, 8, vec![])],
        13 => vec![(place, 8, ((element(place) + 1) % P).to_le_bytes().into())],
        _ => vec![(place, 8, (below(usize::MAX) as u64 % P).to_le_bytes().into())],
    }
}

fn edited(file: &[u8], edits: &[Edit]) -> Vec<u8> {
    edits.iter().fold(file.to_vec(), |mut file, (at, removed, by)| {
        file.splice(*at..*at + removed, by.iter().copied());
        file
    })
}

/// The codes of `count` mutants of a proof, with their edits. Checks that the verifier with the key in memory agrees.
fn judged(which: usize, count: u64) -> Vec<(Vec<Edit>, Code)> {
    let (proof, in_memory) = &PROOFS[which];
    let honest = file(which, proof);
    let start = honest.len() - proof.bytes.len();
    let (policy, commitment) = (Policy::default().allow_profile(Profile::Grove128), commitment(which));
    let one = |seed| {
        let edits = mutant(&mut Rng(seed), &honest, start);
        let file = edited(&honest, &edits);
        let code = code(run(Request::new(&file, &commitment, &policy), KEYS[which].chunks(1 << 16)));
        assert_eq!(code == Code::Accepted, file == honest, "mutant {seed}: {code:?}, {edits:?}");
        // Compare the body alone if the rest of the file is unchanged.
        if let Ok(BatchProof { body: bytes, .. }) = BatchProof::decode(&file)
            && let changed = (NodeProof { bytes, ..proof.clone() })
            && self::file(which, &changed) == file
        {
            let accepted = in_memory.verify(&changed).is_ok();
            assert_eq!(accepted, code == Code::Accepted, "mutant {seed}: {code:?}, {edits:?}");
        }
        (edits, code)
    };
    (0..count).into_par_iter().map(one).collect()
}

/// Mutants of a proof with their codes, for verifiers in other languages.
pub(crate) fn list(which: usize, count: u64) -> serde_json::Value {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mutants = judged(which, count).into_iter().map(|(edits, code)| {
        let edits: Vec<_> = edits.iter().map(|(at, removed, by)| serde_json::json!([at, removed, hex(by)])).collect();
        serde_json::json!({ "edits": edits, "code": code.to_string() })
    });
    mutants.collect()
}

/// The frozen proofs and openings, whole and cut in half, with their codes. The verifier gets no key for them.
pub(crate) fn frozen() -> serde_json::Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/frozen");
    let names = ["v1", "v2"].into_iter().flat_map(|version| fs::read_dir(folder.join(version)).expect("a folder"));
    let mut paths: Vec<_> = names.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let mut list = Vec::new();
    for path in paths.iter().filter(|path| path.is_file()) {
        let bytes = fs::read(path).expect("a file");
        let commitment = if let Ok(proof) = BatchProof::decode(&bytes) {
            Commitment { height: proof.statement.height, root: proof.statement.root }
        } else if let Ok(opening) = Opening::decode(&bytes) {
            let (height, root) = (opening.height, Digest::ZERO);
            let Err(OpeningError::Root { found, .. }) = opening.verify(&Commitment { height, root }) else {
                panic!("{path:?} leads to the root 0");
            };
            Commitment { height, root: found }
        } else {
            continue;
        };
        for length in [bytes.len(), bytes.len() / 2] {
            let code = match Request::new(&bytes[..length], &commitment, &Policy::default()).start() {
                Ok(Outcome::Key(_)) => Code::KeyMissing,
                Ok(Outcome::Verdict(_)) => Code::Accepted,
                Err(e) => e.code(),
            };
            assert_eq!(length < bytes.len(), code == Code::Truncated, "{path:?}: {code:?}");
            let file = path.strip_prefix(&folder).expect("a part of it");
            list.push(serde_json::json!({
                "file": file, "length": length, "commitment": commitment.to_string(), "code": code.to_string(),
            }));
        }
    }
    assert_eq!(list.len(), 22, "{list:?}");
    list.into()
}

#[test]
#[ignore = "slow: half an hour of processor time, a hundred thousand proofs"]
fn a_hundred_thousand() {
    for which in 0..2 {
        judged(which, 50_000);
    }
}
