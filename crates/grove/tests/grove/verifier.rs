//! The verifier of `evergrove-verifier`, which reads a key file once, agrees on every proof with the verifier that has
//! the key in memory.

use std::sync::LazyLock;

use evergrove_commit::NodeProof;
use evergrove_grove::{BACKEND_NAME, BACKEND_VERSION, GroveVerifier};
use evergrove_testkit::commit::value;
use evergrove_testkit::heap;
use evergrove_verifier::key::KeyError;
use evergrove_verifier::keys::pinned_grove;
use evergrove_verifier::soundness;
use evergrove_verifier::verify::{Code, Failure, Outcome, Request, Shown, Verdict};
use evergrove_verifier::{BackendId, BatchProof, Commitment, HeightClass, Policy, Profile, SCHEME};

use crate::mutation::PROOFS;
use crate::mutation::streaming::bound;

/// The key files of the proofs in [`PROOFS`].
pub(crate) static KEYS: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let key = |verifier: &GroveVerifier| {
        let mut key = Vec::new();
        verifier.write_key(&mut key).expect("memory");
        key
    };
    [key(&PROOFS[0].1), key(&PROOFS[1].1)]
});

const PROFILES: [Profile; 2] = [Profile::Grove100, Profile::Grove128];

fn policy() -> Policy {
    Policy::default().allow_profile(Profile::Grove128)
}

/// The commitment for a proof of [`PROOFS`].
pub(crate) fn commitment(which: usize) -> Commitment {
    let statement = PROOFS[which].0.statement;
    Commitment { height: statement.height, root: statement.root }
}

/// The proof as a file.
pub(crate) fn file(which: usize, proof: &NodeProof) -> Vec<u8> {
    let batch = BatchProof {
        scheme: SCHEME.into(),
        backend: BackendId::new(BACKEND_NAME, BACKEND_VERSION),
        profile: PROFILES[which],
        class: HeightClass::H27,
        kind: proof.kind,
        statement: proof.statement,
        app: None,
        body: proof.bytes.clone(),
    };
    batch.encode()
}

pub(crate) fn run<'a>(request: Request<'_>, key: impl IntoIterator<Item = &'a [u8]>) -> Result<Verdict, Failure> {
    let Outcome::Key(mut check) = request.start()? else { panic!("a batch needs a key") };
    for piece in key {
        check.key(piece)?;
    }
    check.finish()
}

/// The result of the verifier that reads a key file.
pub(crate) fn streamed(which: usize, proof: &NodeProof) -> Result<Verdict, Failure> {
    let (file, commitment, policy) = (file(which, proof), commitment(which), policy());
    run(Request::new(&file, &commitment, &policy), KEYS[which].chunks(1 << 16))
}

pub(crate) fn code(result: Result<Verdict, Failure>) -> Code {
    result.map_or_else(|e| e.code(), |_| Code::Accepted)
}

#[test]
fn proofs_are_accepted_whatever_pieces_the_key_comes_in() {
    for (which, (proof, verifier)) in PROOFS.iter().enumerate() {
        let key = &KEYS[which];
        let (file, commitment, policy) = (file(which, proof), commitment(which), policy());
        let count = if which == 0 { 674 } else { 3 };
        let leaves: Vec<_> = (0..count).map(|i| (i, value(i))).collect();
        let request = Request::new(&file, &commitment, &policy).leaves(&leaves);
        for pieces in [7, 4093, key.len()] {
            let verdict = run(request, key.chunks(pieces)).unwrap();
            let Shown::Batch { leaves: shown, bits, key, statement, .. } = verdict.shown else { panic!("a batch") };
            assert_eq!((shown, key, statement), (Some(leaves.len()), verifier.key_digest(), proof.statement));
            assert_eq!(bits, soundness::bits(PROFILES[which], HeightClass::H27));
        }
        // The pinned digest is the digest of this file.
        assert_eq!(pinned_grove(PROFILES[which], HeightClass::H27), Some(verifier.key_digest()));
        let mut changed = leaves.clone();
        changed[1].1[0] += evergrove_primitives::Goldilocks::ONE;
        let request = Request::new(&file, &commitment, &policy);
        assert_eq!(code(run(request.leaves(&changed), [])), Code::WrongRows);
        assert_eq!(code(run(request.leaves(&leaves[1..]), [])), Code::WrongRows);
        assert_eq!(code(run(request.leaves(&[leaves[1], leaves[0]]), [])), Code::BadRows);
    }
}

/// A check with a key file takes memory in proportion to the proof, whatever the size of the key.
#[test]
fn a_check_takes_three_times_the_proof_and_a_megabyte_of_heap() {
    let lines = [0, 1].map(|which| {
        let (file, commitment, policy) = (file(which, &PROOFS[which].0), commitment(which), policy());
        let key = KEYS[which].chunks(1 << 16);
        let (verdict, peak) = heap::peak(|| run(Request::new(&file, &commitment, &policy), key));
        assert_eq!(code(verdict), Code::Accepted);
        assert!(peak <= bound(file.len()), "{peak} bytes of heap for a proof of {}", file.len());
        // Rounded, because the allocator's other callers change the last bits.
        format!(
            "{}: {} KiB of heap, {} KiB of proof, {} KiB of key",
            PROFILES[which],
            peak >> 10,
            file.len() >> 10,
            KEYS[which].len() >> 10
        )
    });
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_key_that_is_not_the_right_one_gives_no_verdict() {
    let (proof, _) = &PROOFS[0];
    let key = &KEYS[0];
    let (file, commitment, policy) = (file(0, proof), commitment(0), policy());
    let request = Request::new(&file, &commitment, &policy);
    let with = |key: &[u8]| run(request, key.chunks(1 << 20)).expect_err("another key");
    assert_eq!(with(&[]), Failure::Key(KeyError::Missing));
    assert_eq!(with(&[]).code(), Code::KeyMissing);
    for at in [0, 8, 16, 24, 100, 800, key.len() / 2, key.len() - 1] {
        let mut damaged = key.clone();
        damaged[at] ^= 1;
        assert_eq!(with(&damaged).code(), Code::WrongKey, "byte {at}: {}", with(&damaged));
    }
    for length in [1, 7, 24, 25, 300, key.len() / 2, key.len() - 8, key.len() - 1] {
        assert!(matches!(with(&key[..length]), Failure::Key(KeyError::Truncated { found }) if found == length as u64));
    }
    for more in [1, 8, 9] {
        let longer = [&key[..], &[0; 9][..more]].concat();
        assert_eq!(with(&longer).code(), Code::WrongKey, "{more} bytes more");
    }
    assert_eq!(with(&KEYS[1]).code(), Code::WrongKey);
    let mut high = key.clone();
    let last = high.len() - 8;
    high[last..].fill(0xff);
    assert_eq!(with(&high), Failure::Key(KeyError::NonCanonical { offset: last as u64 }));
    // With a wrong key, even a false proof gets no verdict.
    let mut proof = proof.clone();
    *proof.bytes.last_mut().unwrap() ^= 1;
    let refused = self::file(0, &proof);
    let request = Request::new(&refused, &commitment, &policy);
    let mut damaged = key.clone();
    damaged[key.len() / 2] ^= 1;
    assert_eq!(code(run(request, [&damaged[..]])), Code::WrongKey);
    assert_eq!(code(run(request, [&key[..]])), Code::Refused);
    // The caller may choose the key's digest.
    let other = PROOFS[1].1.key_digest();
    assert_eq!(code(run(request.key(other), [&key[..]])), Code::WrongKey);
}

#[test]
fn each_kind_of_bad_input_has_its_code() {
    let (proof, _) = &PROOFS[0];
    let (good, commitment, policy) = (file(0, proof), commitment(0), policy());
    let of = |file: &[u8], commitment: &Commitment| code(run(Request::new(file, commitment, &policy), [&KEYS[0][..]]));
    let edited = |edit: fn(&mut BatchProof)| {
        let mut batch = BatchProof::decode(&good).unwrap();
        edit(&mut batch);
        of(&batch.encode(), &commitment)
    };
    assert_eq!(of(&good, &commitment), Code::Accepted);
    assert_eq!(of(&good[..3], &commitment), Code::Truncated);
    assert_eq!(of(&good[..good.len() - 1], &commitment), Code::Truncated);
    assert_eq!(of(&[&good[..], &[0]].concat(), &commitment), Code::Trailing);
    assert_eq!(of(b"EVGX\x02\0", &commitment), Code::Magic);
    assert_eq!(of(b"EVGP\xff\xff\0\0\0\0", &commitment), Code::Version);
    // A record that states a length of four gigabytes.
    assert_eq!(of(b"EVGP\x02\0\x01\x01\xff\xff\xff\xff", &commitment), Code::Truncated);
    assert_eq!(of(&vec![0; 3 << 20], &commitment), Code::Malformed);
    assert_eq!(edited(|p| p.profile = Profile::Johnson), Code::Profile);
    assert_eq!(edited(|p| p.profile = Profile::Proven), Code::Profile);
    assert_eq!(edited(|p| p.backend.name = "plonky2".into()), Code::Profile);
    assert_eq!(edited(|p| p.backend.name = "other".into()), Code::UnsupportedBackend);
    assert_eq!(edited(|p| p.backend.version = 2), Code::UnsupportedBackend);
    assert_eq!(edited(|p| p.class = HeightClass::H40), Code::Height);
    assert_eq!(edited(|p| p.scheme = "reckle-paper".into()), Code::Scheme);
    assert_eq!(edited(|p| p.body[..8].fill(0xff)), Code::NonCanonical);
    assert_eq!(edited(|p| p.body.truncate(p.body.len() - 1)), Code::Truncated);
    assert_eq!(edited(|p| p.body.truncate(p.body.len() - 8)), Code::Truncated);
    assert_eq!(edited(|p| p.body.truncate(80)), Code::Truncated);
    assert_eq!(edited(|p| p.body.extend([0; 8])), Code::Trailing);
    assert_eq!(edited(|p| p.body.resize((1 << 20) + 8, 0)), Code::Malformed);
    assert_eq!(edited(|p| p.body[800] ^= 1), Code::Refused);
    // A false statement changes the transcript, and with it the expected length of the proof.
    for element in 0..4 {
        let mut batch = BatchProof::decode(&good).unwrap();
        batch.statement.canonical.0[element] += evergrove_primitives::Goldilocks::ONE;
        assert_eq!(of(&batch.encode(), &commitment), Code::Refused);
    }
    let root = Commitment { root: evergrove_primitives::Digest::ZERO, ..commitment };
    assert_eq!(of(&good, &root), Code::WrongRoot);
    assert_eq!(of(&good, &Commitment { height: 11, ..commitment }), Code::Height);
    let plonky2 = {
        let mut batch = BatchProof::decode(&good).unwrap();
        (batch.backend.name, batch.profile) = ("plonky2".into(), Profile::Proven);
        batch.encode()
    };
    assert_eq!(of(&plonky2, &commitment), Code::UnsupportedBackend);
    let closed = Policy::default();
    let foreign = file(1, &PROOFS[1].0);
    assert_eq!(code(run(Request::new(&foreign, &self::commitment(1), &closed), [])), Code::Profile);
}
