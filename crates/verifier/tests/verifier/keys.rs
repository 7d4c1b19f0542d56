//! Key files.

use crate::common::key_set;
use evergrove_verifier::keys::{KeySet, PaperKeys, file_name, paper_file_name, pinned, pinned_grove, pinned_paper};
use evergrove_verifier::{DecodeError, HeightClass, NodeKind, Profile};

#[test]
fn key_files_survive_the_round_trip() {
    for profile in Profile::PLONKY2 {
        let keys = key_set(profile);
        let bytes = keys.encode();
        assert_eq!(KeySet::decode(&bytes).as_ref(), Ok(&keys));
        for n in 0..bytes.len() {
            assert!(KeySet::decode(&bytes[..n]).is_err(), "{n} bytes");
        }
        assert!(matches!(KeySet::decode(&[&bytes[..], &[0]].concat()), Err(DecodeError::Trailing { .. })));
        assert_eq!(keys.get(NodeKind::Wrap).is_some(), profile == Profile::Paper);
    }
}

#[test]
fn shared_common_data_is_written_once() {
    let keys = key_set(Profile::Proven);
    let mut apart = keys.clone();
    apart.keys[1].common.push(0);
    assert_eq!(apart.encode().len() - keys.encode().len(), 4 + apart.keys[1].common.len());
    assert_eq!(KeySet::decode(&apart.encode()), Ok(apart));
}

#[test]
fn verification_keys_of_paper_take_at_most_1_85_kib() {
    assert!(key_set(Profile::Paper).key_bytes() as f64 <= 1.85 * 1024.0);
}

#[test]
fn pinned_files_are_those_of_their_profile_and_class() {
    for profile in Profile::ALL {
        for class in HeightClass::ALL {
            // Either files or digests, by the profile's backend.
            assert_eq!(pinned(profile, class).is_some(), Profile::PLONKY2.contains(&profile));
            assert_eq!(pinned_grove(profile, class).is_some(), Profile::GROVE.contains(&profile));
            if let Some(bytes) = pinned(profile, class) {
                let keys = KeySet::decode(bytes).unwrap();
                assert_eq!((keys.profile, keys.class), (profile, class), "{}", file_name(profile, class));
                assert_eq!(keys.encode(), bytes);
                assert!(keys.key_bytes() as f64 <= 1.85 * 1024.0);
            }
        }
    }
    assert_eq!(file_name(Profile::Paper, HeightClass::H27), "paper-27.key");
}

#[test]
fn formats_and_the_second_verifier_have_the_pinned_digests() {
    let read = |path| std::fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (formats, verifier) = (read("docs/formats.md"), read("vectors/grove/key.py"));
    for profile in Profile::GROVE {
        for class in HeightClass::ALL {
            let (height, digest) = (class.height_max(), pinned_grove(profile, class).unwrap());
            assert!(formats.contains(&format!("| `{profile}`, {height} | `{digest}` |")), "{profile}, {height}");
            assert!(verifier.contains(&format!("(\"{profile}\", {height}): \"{digest}\"")), "{profile}, {height}");
        }
    }
}

#[test]
fn the_key_file_of_the_papers_scheme_has_one_encoding() {
    let bytes = pinned_paper(Profile::Paper).unwrap();
    let keys = PaperKeys::decode(bytes).unwrap();
    assert_eq!((keys.profile, keys.block_height, keys.keys.len()), (Profile::Paper, 5, 40));
    assert_eq!(keys.encode(), bytes);
    assert_eq!((keys.get(0), keys.get(41)), (None, None));
    for height in 1..=40 {
        let key = keys.get(height).unwrap();
        assert_eq!(key.kind, NodeKind::Wrap);
        assert!(32 * (key.cap.len() + 1) <= 1024);
        // Each height has a separate key.
        assert!((1..height).all(|lower| keys.get(lower).unwrap().circuit_digest != key.circuit_digest));
    }
    for n in (0..bytes.len()).step_by(97) {
        assert!(PaperKeys::decode(&bytes[..n]).is_err(), "{n} bytes");
    }
    assert!(matches!(PaperKeys::decode(&[bytes, &[0]].concat()), Err(DecodeError::Trailing { .. })));
    // Without a wrap, batches of low vectors end with a block, and those of higher vectors with a level.
    for (height, kind) in [(1, NodeKind::Bucket), (5, NodeKind::Bucket), (6, NodeKind::Merge), (40, NodeKind::Merge)] {
        assert_eq!(PaperKeys::kind(Profile::Proven, 5, height), kind);
    }
    assert_eq!(paper_file_name(Profile::Paper), "reckle-paper-paper.key");
}

#[test]
fn a_header_of_impossible_sizes_is_refused_before_anything_follows_from_it() {
    use evergrove_primitives::field::{Cubic, Quadratic};
    use evergrove_verifier::argument::{JOHNSON_128, Round, UNIQUE_100};
    use evergrove_verifier::key::{Header, HeaderError};

    let header = |degree: u64, rounds: &[Round], blocks: u64| {
        let mut numbers = vec![degree, 20, 64, 0, 0];
        numbers.extend([blocks; 15]);
        numbers.extend([25, 128]);
        for &Round { fold, rate, queries, cap, grinding, samples } in rounds {
            numbers.extend([fold, rate, queries, cap, grinding, samples].map(|x| x as u64));
        }
        [&[u64::from_le_bytes(*b"evgrkey\0"), 9, numbers.len() as u64], &numbers[..]].concat()
    };
    // On a machine of 32 bits its places on the bus have no number.
    let (two, three) = (header(2, &UNIQUE_100, 2048), header(3, &JOHNSON_128, 2048));
    assert_eq!(Header::<Quadratic>::read(&two), Err(HeaderError::Range("the size of the tables")));
    assert_eq!(Header::<Cubic>::read(&three), Err(HeaderError::Range("the size of the tables")));
    assert_eq!(Header::<Cubic>::read(&two), Err(HeaderError::Range("the degree of the extension")));
    let least = header(2, &UNIQUE_100, 1);
    assert!(!matches!(Header::<Quadratic>::read(&least), Err(HeaderError::Range("the size of the tables"))));
    for length in 0..least.len() {
        assert!(Header::<Quadratic>::read(&least[..length]).is_err(), "{length} words");
    }
}

#[test]
fn key_files_are_checked_field_by_field() {
    let good = key_set(Profile::Proven).encode();
    let damage = |at: usize, byte: u8| {
        let mut bad = good.clone();
        bad[at] = byte;
        KeySet::decode(&bad).unwrap_err()
    };
    assert!(matches!(damage(0, b'X'), DecodeError::Magic { .. }));
    // 4 magic, 2 version, 1 + 7 backend, 4 version, profile, class; then circuit, cap height, common data, 17 digests.
    let (bucket, merge) = (20, 20 + 3 + 17 * 32);
    assert_eq!(damage(bucket, 1), DecodeError::Code { what: "circuit in its place", found: 1 });
    assert_eq!(damage(bucket + 1, 9), DecodeError::Range { what: "cap height", found: 9, max: 8 });
    assert_eq!(damage(bucket + 2, 1), DecodeError::Range { what: "common data number", found: 1, max: 0 });
    // The same common data twice.
    let mut twice = good.clone();
    twice[merge + 2] = 1;
    let common = good[merge + 3 + 17 * 32..].to_vec();
    twice.extend(common);
    assert_eq!(KeySet::decode(&twice), Err(DecodeError::Code { what: "new common data", found: 1 }));
    let mut paper = pinned_paper(Profile::Paper).unwrap().to_vec();
    assert_eq!(paper[20], 40);
    paper[20] = 41;
    let heights = DecodeError::Range { what: "number of heights", found: 41, max: 40 };
    assert_eq!(PaperKeys::decode(&paper), Err(heights));
    paper[0] ^= 1;
    assert!(matches!(PaperKeys::decode(&paper), Err(DecodeError::Magic { .. })));
}
