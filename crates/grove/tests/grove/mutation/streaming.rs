//! Damaged and arbitrary proof files and keys in the verifier that reads a key file once: it never panics, refuses all
//! of them, and takes memory in proportion to the file.

use std::sync::LazyLock;

use evergrove_primitives::field::extension::Extension;
use evergrove_primitives::field::{Cubic, Quadratic};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_testkit::heap;
use evergrove_verifier::key::Header;
use evergrove_verifier::verify::{Code, Outcome, Request};
use evergrove_verifier::{BackendId, BatchProof, HeightClass, NodeKind, Policy, Profile};
use proptest::prelude::*;

use super::PROOFS;
use crate::verifier::{KEYS, commitment, file};

/// The words of a key's header, which states its own length.
fn header(which: usize) -> Vec<u64> {
    let words = KEYS[which].as_chunks::<8>().0;
    let count = 3 + u64::from_le_bytes(words[2]) as usize;
    words[..count].iter().map(|word| u64::from_le_bytes(*word)).collect()
}

static FILES: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| [file(0, &PROOFS[0].0), file(1, &PROOFS[1].0)]);

/// A change of a list: what to do, where, and with which number.
type Edit = (u8, prop::sample::Index, u64);

/// Small numbers, powers of two and their neighbours, and arbitrary numbers.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..70, 2 => 0u64..5000, 3 => (0u32..64, 0u64..3).prop_map(|(log, more)| (1u64 << log).wrapping_add(more).wrapping_sub(1)), 1 => any::<u64>()]
}

fn edits(most: usize) -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec((any::<u8>(), any::<prop::sample::Index>(), number()), 0..most)
}

fn edited<T: Copy>(list: &mut Vec<T>, edits: Vec<Edit>, from: impl Fn(u64) -> T) {
    for (how, at, x) in edits {
        let at = at.index(list.len() + 1);
        match how % 8 {
            0 => list.insert(at, from(x)),
            1 if at < list.len() => drop(list.remove(at)),
            2 if how >= 128 => list.truncate(at),
            3 if at < list.len() => {
                let copied = list[at];
                list.insert(at, copied);
            }
            _ if at < list.len() => list[at] = from(x),
            _ => {}
        }
    }
}

/// A header with changed numbers and the right count of them.
fn edited_header(which: usize, edits: Vec<Edit>) -> Vec<u64> {
    let mut words = header(which);
    let mut numbers = words.split_off(3);
    edited(&mut numbers, edits, |x| x);
    words[2] = numbers.len() as u64;
    words.extend(numbers);
    words
}

/// Changes one field of a proof file's claim.
fn claim(batch: &mut BatchProof, (how, at, x): Edit) {
    let height = (x % 50) as u8;
    match how % 14 {
        0 => {
            batch.profile =
                [Profile::Proven, Profile::Johnson, Profile::Paper, Profile::Grove100, Profile::Grove128][at.index(5)]
        }
        1 => batch.class = [HeightClass::H27, HeightClass::H40][at.index(2)],
        2 => batch.kind = NodeKind::ALL[at.index(3)],
        3 => batch.statement.height = height,
        4 => batch.statement.base = x,
        5 => batch.statement.root.0[at.index(4)] = Goldilocks::reduce(x),
        6 => batch.statement.canonical.0[at.index(4)] = Goldilocks::reduce(x),
        7 => batch.statement.canonical = Digest::ZERO,
        8 => batch.backend = BackendId::new(["grove", "plonky2", "native", "x"][at.index(4)], (x % 3) as u32),
        9 => batch.scheme = ["evergrove1", "reckle-paper", "x"][at.index(3)].into(),
        10 => batch.body.truncate(at.index(batch.body.len() + 1)),
        11 => batch.body.resize((x as usize) % (3 << 20), how),
        _ => {}
    }
}

/// Reads a file and pieces of a key. Returns the code, and the heap that this took beyond the file.
fn judged(which: usize, file: &[u8], key: &[&[u8]]) -> (Code, usize) {
    let policy = Policy::default().allow_profile(Profile::Grove128);
    let commitment = commitment(which);
    heap::peak(|| {
        let mut check = match Request::new(file, &commitment, &policy).start() {
            Ok(Outcome::Key(check)) => check,
            Ok(Outcome::Verdict(_)) => return Code::Accepted,
            Err(e) => return e.code(),
        };
        for piece in key {
            if let Err(e) = check.key(piece) {
                return e.code();
            }
        }
        check.finish().map_or_else(|e| e.code(), |_| Code::Accepted)
    })
}

/// The most heap that a file of this many bytes may take.
pub(crate) fn bound(file: usize) -> usize {
    3 * file + (1 << 20)
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn header_reads<K: Extension + PartialEq>(words: &[u64]) -> Result<(), TestCaseError> {
    let (read, held) = heap::peak(|| Header::<K>::read(words));
    prop_assert!(held <= bound(8 * words.len()), "{held} bytes of heap for {} words", words.len());
    if let Ok(header) = read {
        prop_assert_eq!(header.words(), words);
    }
    Ok(())
}

/// Replaces each number of an honest header by others. If the result is a header, it consists of these words.
#[test]
fn headers_with_another_number() {
    for which in 0..2 {
        let words = header(which);
        let mut accepted = 0;
        for at in 3..words.len() {
            for x in (0..70).chain((6..64).map(|log| 1 << log)).chain([u64::MAX]) {
                let mut words = words.clone();
                words[at] = x;
                header_reads::<Quadratic>(&words).unwrap();
                header_reads::<Cubic>(&words).unwrap();
                accepted +=
                    usize::from(Header::<Quadratic>::read(&words).is_ok() || Header::<Cubic>::read(&words).is_ok());
            }
        }
        assert!(accepted > 200, "{accepted} headers of {which}");
    }
}

proptest! {
    // Most cases read a whole proof, which takes tens of milliseconds.
    #![proptest_config(ProptestConfig { cases: (ProptestConfig::default().cases / 512).max(24), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_beside_damaged_keys_are_refused(
        which in 0..2usize,
        claims in prop::collection::vec((any::<u8>(), any::<prop::sample::Index>(), number()), 0..3),
        elements in edits(4),
        raw in edits(3),
        parameters in edits(3),
        more in 0..3000usize,
        pieces in 1..5000usize,
    ) {
        let mut batch = BatchProof::decode(&FILES[which]).unwrap();
        let mut words: Vec<[u8; 8]> = batch.body.as_chunks::<8>().0.to_vec();
        edited(&mut words, elements, u64::to_le_bytes);
        batch.body = words.concat();
        for edit in claims {
            claim(&mut batch, edit);
        }
        let mut file = batch.encode();
        edited(&mut file, raw, |x| x as u8);
        let mut key = bytes(&edited_header(which, parameters));
        let from = 8 * header(which).len();
        key.extend(&KEYS[which][from..from + more]);
        let (code, held) = judged(which, &file, &key.chunks(pieces).collect::<Vec<_>>());
        // The key ends early, or is another key.
        prop_assert_ne!(code, Code::Accepted);
        prop_assert!(held <= bound(file.len()), "{held} bytes of heap for a file of {} bytes", file.len());
    }

    #[test]
    fn honest_files_beside_damaged_headers_give_no_verdict(which in 0..2usize, other in 0..2usize, parameters in edits(4), more in 0..3000usize) {
        let mut key = bytes(&edited_header(other, parameters));
        key.extend(vec![0; more]);
        let (code, held) = judged(which, &FILES[which], &[&key]);
        prop_assert_eq!(code, Code::WrongKey);
        prop_assert!(held <= bound(FILES[which].len()), "{held} bytes of heap for a file of {} bytes", FILES[which].len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_files_are_refused(
        start in 0..5usize,
        content in prop_oneof![prop::collection::vec(any::<u8>(), 0..600), prop::collection::vec(0u8..5, 0..600)],
        key in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        // Beginnings of proofs of both versions, and of openings, get further than arbitrary bytes.
        let honest = &FILES[start % 2];
        let at = content.len() * 3 % 160;
        let start = [&b""[..], b"EVGP\x02\0", b"EVGP\x01\0", b"EVGO\x02\0", &honest[..at]][start];
        let file = [start, &content].concat();
        let (code, held) = judged(0, &file, &[&key]);
        prop_assert_ne!(code, Code::Accepted);
        prop_assert!(held <= bound(file.len()), "{held} bytes of heap for a file of {} bytes", file.len());
    }

    #[test]
    fn headers_of_damaged_numbers(which in 0..2usize, version in 0u64..12, edits in edits(6)) {
        let mut words = edited_header(which, edits);
        header_reads::<Quadratic>(&words)?;
        header_reads::<Cubic>(&words)?;
        words[1] = version;
        header_reads::<Quadratic>(&words)?;
        header_reads::<Cubic>(&words)?;
    }

    #[test]
    fn headers_of_arbitrary_numbers(version in 0u64..12, numbers in prop::collection::vec(number(), 0..260), count in prop::option::of(number()), degree in 1u64..5) {
        let mut words = header(0);
        words.truncate(3);
        words[1] = version;
        words[2] = count.unwrap_or(numbers.len() as u64);
        words.extend(&numbers);
        if let Some(first) = words.get_mut(3) {
            *first = degree;
        }
        header_reads::<Quadratic>(&words)?;
        header_reads::<Cubic>(&words)?;
        header_reads::<Quadratic>(&numbers)?;
    }

    /// Numbers in the form of a header: every count is followed by that many numbers.
    #[test]
    fn headers_of_the_right_form(
        version in 1usize..10,
        degree in 2u64..4,
        query in (number(), number()),
        widths in prop::collection::vec(1u64..22, 0..6),
        zeros in prop::collection::vec((0u64..64, 1u64..65), 0..6),
        blocks in prop::collection::vec(prop_oneof![Just(0), 0u64..40, 0u64..2049], 15),
        stack in (number(), number()),
        rounds in prop::collection::vec(prop::collection::vec(prop_oneof![3 => 0u64..66, 1 => number()], 6), 0..6),
        sorted in any::<bool>(),
    ) {
        let (mut widths, mut zeros) = (widths, zeros);
        if sorted {
            widths.sort_unstable();
            widths.dedup();
            zeros.retain(|(from, to)| from < to);
            zeros.sort_unstable();
            zeros.dedup();
        }
        let mut numbers = vec![degree, query.0 % 40, query.1 % 70, widths.len() as u64];
        numbers.extend(&widths);
        numbers.push(zeros.len() as u64);
        numbers.extend(zeros.iter().flat_map(|(from, to)| [from, to]));
        numbers.extend(&blocks[..6 + version]);
        numbers.extend([stack.0, stack.1]);
        numbers.extend(rounds.concat());
        let mut words = header(0);
        words.truncate(3);
        (words[1], words[2]) = (version as u64, numbers.len() as u64);
        words.extend(numbers);
        header_reads::<Quadratic>(&words)?;
        header_reads::<Cubic>(&words)?;
    }
}
