//! Key files.

mod common;

use common::key_set;
use evergrove_proof::keys::{KeySet, file_name, pinned};
use evergrove_proof::{DecodeError, HeightClass, NodeKind, Profile};

#[test]
fn key_files_survive_the_round_trip() {
    for profile in Profile::ALL {
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
