//! Encodings: round trips, one encoding per value, every kind of damage refused.

use crate::common::{Random, app_proof, batch_proof, opening, small_shape, snark, wrap_shape};
use crate::frozen;
use evergrove_primitives::hash::poseidon::{hash_or_noop, two_to_one};
use evergrove_primitives::hash::tree::{Poseidon, Scalar};
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_verifier::wire::{
    BatchProof, DecodeError, Multiproof, Opening, OpeningError, SnarkParams, SnarkShape, decode, encode, encoded_len,
    open,
};
use evergrove_verifier::{Commitment, HeightClass, NodeKind, Profile};

fn shapes() -> Vec<SnarkShape> {
    [small_shape(), wrap_shape()].into_iter().chain(Profile::PLONKY2.map(node_shape)).collect()
}

fn node_shape(profile: Profile) -> SnarkShape {
    SnarkShape::new(SnarkParams::standard(profile.recursion().expect("a profile of Plonky2"), 0, 6))
}

#[test]
fn shapes_have_plonky2s_counts() {
    let s = wrap_shape();
    assert_eq!(s.params().arity_bits, [4, 4]);
    assert_eq!(s.final_poly_len(), 16);
    assert_eq!(s.oracle_widths(), [85, 135, 20, 16]);
    assert_eq!(s.opening_counts(), [5, 80, 135, 2, 2, 18, 16]);
    assert_eq!(s.initial_path_len(), 12);
    assert_eq!(s.steps().map(|x| x.path_len).collect::<Vec<_>>(), [8, 4]);
    let s = node_shape(Profile::Proven);
    assert_eq!(s.params().arity_bits, [4, 4]);
    assert_eq!(s.final_poly_len(), 128);
    assert_eq!(SnarkParams::constant_arity_bits(15, 3, 4, 4, 5), [4, 4, 4]);
    assert_eq!(SnarkParams::constant_arity_bits(12, 3, 12, 4, 5), [0; 0]);
}

#[test]
fn snarks_survive_the_round_trip() {
    for (seed, shape) in shapes().iter().enumerate() {
        let proof = snark(seed as u64, shape);
        let bytes = encode(&proof, shape);
        let indices: Vec<u32> = proof.queries.iter().map(|q| q.index).collect();
        assert_eq!(bytes.len(), encoded_len(&indices, shape));
        assert_eq!(decode(&bytes, shape).as_ref(), Ok(&proof));
    }
}

/// Where the constants' leaves lead, and zeros for the rest of their cap.
fn constants_cap(bytes: &[u8], shape: &SnarkShape) -> Vec<Digest> {
    let mut cap = vec![Digest::ZERO; shape.cap_len()];
    for q in &decode(bytes, shape).unwrap().queries {
        let (mut index, mut digest) = (q.index as usize, hash_or_noop(&q.initial[0].leaf));
        for s in &q.initial[0].siblings {
            digest = if index & 1 == 0 { two_to_one(&digest, s) } else { two_to_one(s, &digest) };
            index >>= 1;
        }
        cap[index] = digest;
    }
    cap
}

#[test]
fn opened_proofs_lie_under_the_verifiers_cap() {
    for shape in [small_shape(), wrap_shape()] {
        let proof = snark(3, &shape);
        let bytes = encode(&proof, &shape);
        let cap = constants_cap(&bytes, &shape);
        assert_eq!(open(&bytes, &shape, &cap, Scalar(Poseidon)).unwrap().snark(), &proof);
        for entry in 0..cap.len() {
            let mut other = cap.clone();
            other[entry].0[3] += Goldilocks::ONE;
            let opened = open(&bytes, &shape, &other, Scalar(Poseidon));
            let on_a_path = cap[entry] != Digest::ZERO;
            assert_eq!(opened.err(), on_a_path.then_some(DecodeError::Cap { entry: entry as u32 }));
        }
        assert!(matches!(open(&bytes, &shape, &[], Scalar(Poseidon)), Err(DecodeError::Cap { .. })));
        let short = open(&bytes[1..], &shape, &cap, Scalar(Poseidon));
        assert_eq!(short.err(), decode(&bytes[1..], &shape).err());
        // An element of the first opened leaf: the constants' leaves follow the fixed part.
        let leaf = proof.queries.iter().min_by_key(|q| q.index).unwrap().initial[0].leaf[0].as_u64().to_le_bytes();
        let at = bytes.windows(8).position(|window| window == leaf).unwrap();
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert!(decode(&changed, &shape).is_ok());
        assert!(matches!(open(&changed, &shape, &cap, Scalar(Poseidon)), Err(DecodeError::Cap { .. })));
    }
}

#[test]
fn decoded_paths_lead_to_the_caps() {
    let shape = wrap_shape();
    let proof = decode(&encode(&snark(7, &shape), &shape), &shape).unwrap();
    for q in &proof.queries {
        for (opened, cap) in q.initial[1..].iter().zip([&proof.wires_cap, &proof.zs_cap, &proof.quotient_cap]) {
            let mut index = q.index as usize;
            let mut digest = hash_or_noop(&opened.leaf);
            for s in &opened.siblings {
                digest = if index & 1 == 0 { two_to_one(&digest, s) } else { two_to_one(s, &digest) };
                index >>= 1;
            }
            assert_eq!(digest, cap[index]);
        }
    }
}

#[test]
fn a_wrapped_proof_of_paper_takes_at_most_95_kib() {
    let shape = wrap_shape();
    let file = BatchProof { body: encode(&snark(0, &shape), &shape), kind: NodeKind::Wrap, ..batch_proof() }.encode();
    assert!(file.len() <= 95 * 1024, "{} bytes", file.len());
    let r = &mut Random(3);
    let mut lengths: Vec<usize> = (0..2000)
        .map(|_| encoded_len(&(0..21).map(|_| (r.u64() & 0xffff) as u32).collect::<Vec<_>>(), &shape))
        .collect();
    lengths.sort_unstable();
    // 1st, 50th and 99th percentile over random query indices.
    assert_eq!([lengths[20], lengths[1000], lengths[1979]], [90236, 93436, 95612]);
}

#[test]
fn every_truncation_and_extension_is_refused() {
    let shape = small_shape();
    let mut bytes = encode(&snark(1, &shape), &shape);
    for n in 0..bytes.len() {
        assert!(matches!(decode(&bytes[..n], &shape), Err(DecodeError::Length { .. })), "{n} bytes");
    }
    bytes.push(0);
    assert!(matches!(decode(&bytes, &shape), Err(DecodeError::Length { .. })));

    for file in [batch_proof().encode(), opening().0.encode()] {
        for n in 0..file.len() {
            let (a, b) = (BatchProof::decode(&file[..n]), Opening::decode(&file[..n]));
            assert!(a.is_err() && b.is_err(), "{n} bytes");
        }
        let longer = [&file[..], &[0]].concat();
        let errors = [BatchProof::decode(&longer).unwrap_err(), Opening::decode(&longer).unwrap_err()];
        assert!(errors.iter().any(|e| matches!(e, DecodeError::Trailing { extra: 1, .. })));
    }
}

#[test]
fn elements_must_be_canonical() {
    let shape = small_shape();
    let mut proof = snark(2, &shape);
    proof.public_inputs[0] = Goldilocks::new(3);
    let mut bytes = encode(&proof, &shape);
    bytes[..8].copy_from_slice(&(Goldilocks::ORDER + 3).to_le_bytes());
    let refused = DecodeError::NonCanonical { offset: 0, value: Goldilocks::ORDER + 3 };
    assert_eq!(decode(&bytes, &shape), Err(refused));
}

#[test]
fn query_indices_lie_in_the_domain() {
    let shape = small_shape();
    let proof = snark(2, &shape);
    let bytes = encode(&proof, &shape);
    let first: Vec<u8> = proof.queries.iter().flat_map(|q| q.index.to_le_bytes()).collect();
    let at = bytes.windows(first.len()).position(|w| w == first).unwrap();
    let mut bad = bytes.clone();
    bad[at..at + 4].copy_from_slice(&64u32.to_le_bytes());
    assert_eq!(decode(&bad, &shape), Err(DecodeError::Range { what: "query index", found: 64, max: 63 }));
}

#[test]
fn openings_show_values_and_empty_slots() {
    let (full, commitment, empty) = opening();
    for o in [&full, &empty] {
        assert_eq!(Opening::decode(&o.encode()).as_ref(), Ok(o));
        assert_eq!(o.verify(&commitment), Ok(()));
    }
    let check = |f: fn(&mut Opening)| {
        let mut o = full.clone();
        f(&mut o);
        o.verify(&commitment).unwrap_err()
    };
    assert!(matches!(check(|o| o.value = None), OpeningError::Root { .. }));
    assert!(matches!(check(|o| o.index = 7), OpeningError::Root { .. }));
    assert!(matches!(check(|o| o.index = 14), OpeningError::Index { index: 14, height: 3 }));
    assert!(matches!(check(|o| o.height = 2), OpeningError::Height { expected: 3, found: 2 }));
    assert!(matches!(check(|o| o.siblings.truncate(2)), OpeningError::PathLength { expected: 3, found: 2 }));
    assert!(matches!(check(|o| o.siblings.swap(0, 1)), OpeningError::Root { .. }));
}

#[test]
fn proof_files_survive_the_round_trip() {
    for profile in Profile::ALL {
        for (class, height) in [(HeightClass::H27, 20), (HeightClass::H40, 40)] {
            for kind in NodeKind::ALL {
                let mut p = BatchProof { profile, class, kind, ..batch_proof() };
                p.statement.height = height;
                assert_eq!(BatchProof::decode(&p.encode()).as_ref(), Ok(&p));
            }
        }
    }
}

#[test]
fn proof_files_of_applications_survive_and_are_checked() {
    let good = app_proof();
    for scheme in ["evergrove1-selected", "evergrove1-complete", "evergrove1-tree"] {
        let proof = BatchProof { scheme: scheme.into(), ..good.clone() };
        assert_eq!(BatchProof::decode(&proof.encode()).as_ref(), Ok(&proof));
    }
    let bytes = good.encode();
    // 6 header; records with 6 bytes each before their content: 1 + 19 scheme, 1 + 7 backend, 4 version, 3 codes; height, 8 base,
    // 64 digests; the application's name.
    let name = 6 + 6 + 35 + 6 + 73 + 6;
    assert_eq!(&bytes[name..name + 6], b"\x05tally");
    let output = name + 6 + 32;
    let mut bad = bytes.clone();
    bad.drain(output..output + 24);
    bad[name - 4..name].copy_from_slice(&38u32.to_le_bytes());
    assert!(matches!(BatchProof::decode(&bad), Err(DecodeError::Range { what: "output length", found: 0, .. })));
    bad = bytes.clone();
    bad[output..output + 8].fill(0xff);
    assert!(BatchProof::decode(&bad).is_err(), "an output beyond p");
    for end in name..bytes.len() {
        assert!(BatchProof::decode(&bytes[..end]).is_err(), "cut at {end}");
    }
    // An application where the scheme has none, and none where it has one.
    let plain = BatchProof { app: None, ..good.clone() };
    assert!(std::panic::catch_unwind(|| plain.encode()).is_err());
    let other = BatchProof { scheme: "evergrove1".into(), ..good };
    assert!(std::panic::catch_unwind(|| other.encode()).is_err());
}

#[test]
fn proof_files_are_checked_field_by_field() {
    let good = batch_proof().encode();
    let damage = |at: usize, byte: u8| {
        let mut bad = good.clone();
        bad[at] = byte;
        BatchProof::decode(&bad).unwrap_err()
    };
    assert!(matches!(damage(0, b'X'), DecodeError::Magic { .. }));
    assert!(matches!(damage(4, 3), DecodeError::Version { found: 3, known: [1, 2] }));
    assert!(matches!(damage(6, 2), DecodeError::Record { kind: 2, version: 1, offset: 6 }));
    assert!(matches!(damage(7, 2), DecodeError::Record { kind: 1, version: 2, offset: 6 }));
    assert!(matches!(damage(13, b'E'), DecodeError::Name { what: "scheme" }));
    // 4 magic, 2 version, 6 record, 1 + 10 scheme, 1 + 7 backend, 4 backend version
    let codes = 35;
    assert!(matches!(damage(codes, 5), DecodeError::Code { what: "profile", found: 5 }));
    assert!(matches!(damage(codes + 1, 28), DecodeError::Code { what: "height class", found: 28 }));
    assert!(matches!(damage(codes + 2, 3), DecodeError::Code { what: "proof kind", found: 3 }));
    let statement = codes + 3 + 6;
    assert!(matches!(damage(statement, 28), DecodeError::Range { what: "height", found: 28, max: 27 }));
    assert!(matches!(damage(statement + 1, 1), DecodeError::Base { base: 1, height: 27 }));
}

#[test]
fn records_are_known_in_their_order_and_of_their_length() {
    let good = batch_proof().encode();
    // The record of the claim, with its kind, version and length.
    let claim = 6..6 + 6 + 26;
    let statement = claim.end..claim.end + 6 + 73;
    let with = |parts: &[&[u8]]| BatchProof::decode(&parts.concat()).unwrap_err();
    let (head, rest) = (&good[..6], &good[statement.end..]);
    let (claim, statement) = (&good[claim], &good[statement]);
    assert_eq!(BatchProof::decode(&[head, claim, statement, rest].concat()), Ok(batch_proof()));
    for parts in [&[head, statement, claim, rest][..], &[head, claim, claim, statement, rest], &[head, claim, rest]] {
        assert!(matches!(with(parts), DecodeError::Record { .. }));
    }
    let more = [9, 1, 1, 0, 0, 0, 7];
    for parts in [&[head, &more, claim, statement, rest][..], &[head, claim, statement, rest, &more]] {
        let error = with(parts);
        assert!(matches!(error, DecodeError::Record { kind: 9, version: 1, .. }), "{error}");
    }
    assert!(matches!(with(&[head, claim, statement, rest, &[9]]), DecodeError::Trailing { extra: 1, .. }));
    assert!(matches!(with(&[head, claim, statement]), DecodeError::Truncated { what: "body", .. }));
    // A length that is one too short or too long.
    for (less, expected) in [(72u8, "canonical digest"), (74, "body")] {
        let mut other = statement.to_vec();
        other[2] = less;
        let error = with(&[head, claim, &other, rest]);
        assert!(error.to_string().contains(expected) || less == 74, "{error}");
    }
}

/// The file with a byte at the end of a record, whose length is one more.
fn longer(file: &[u8], records: usize) -> Vec<u8> {
    let mut start = 6;
    for _ in 0..records {
        start += 6 + u32::from_le_bytes(file[start + 2..start + 6].try_into().unwrap()) as usize;
    }
    let length = u32::from_le_bytes(file[start + 2..start + 6].try_into().unwrap());
    let end = start + 6 + length as usize;
    let length = (length + 1).to_le_bytes();
    [&file[..start + 2], &length, &file[start + 6..end], &[0], &file[end..]].concat()
}

#[test]
fn records_have_no_bytes_after_their_content() {
    let trailing = |error| matches!(error, Some(DecodeError::Trailing { extra: 1, .. }));
    let proof = app_proof().encode();
    for record in 0..3 {
        assert!(trailing(BatchProof::decode(&longer(&proof, record)).err()), "record {record} of a proof");
    }
    let opening = opening().0.encode();
    for record in 0..2 {
        assert!(trailing(Opening::decode(&longer(&opening, record)).err()), "record {record} of an opening");
    }
    let paths = Multiproof { height: 3, siblings: vec![Digest::ZERO; 2] }.encode();
    for record in 0..2 {
        assert!(trailing(Multiproof::decode(&longer(&paths, record)).err()), "record {record} of paths");
    }
    let mut other = paths.clone();
    other[0] ^= 1;
    assert!(matches!(Multiproof::decode(&other), Err(DecodeError::Magic { .. })));
    assert!(trailing(Multiproof::decode(&[&paths[..], &[0]].concat()).err()));
}

#[test]
fn outputs_have_at_most_65535_elements() {
    let mut proof = app_proof();
    proof.body.clear();
    proof.app.as_mut().unwrap().output = vec![Goldilocks::ONE; 65535];
    let mut file = proof.encode();
    assert_eq!(BatchProof::decode(&file).as_ref(), Ok(&proof));
    // One more, in the record before the empty body.
    let body = file.len() - 6;
    let start = body - 6 - 6 - 32 - 8 * 65535;
    assert_eq!(file[start..start + 2], [3, 1]);
    let length = u32::from_le_bytes(file[start + 2..start + 6].try_into().unwrap());
    file[start + 2..start + 6].copy_from_slice(&(length + 8).to_le_bytes());
    file.splice(body..body, [0; 8]);
    let output = DecodeError::Range { what: "output length", found: 65536, max: 65535 };
    assert_eq!(BatchProof::decode(&file), Err(output));
}

#[test]
fn files_of_version_1_end_where_they_end() {
    let read = |name: &str| std::fs::read(frozen::path(1, name)).unwrap();
    for name in ["proof.bin", "proof-app.bin"] {
        let found = BatchProof::decode(&[&read(name)[..], &[0]].concat());
        assert!(matches!(found, Err(DecodeError::Trailing { extra: 1, .. })), "{name}");
    }
    let found = Opening::decode(&[&read("opening.bin")[..], &[0]].concat());
    assert!(matches!(found, Err(DecodeError::Trailing { extra: 1, .. })));
    // An output without elements.
    let mut file = read("proof-app.bin");
    let at = file.windows(6).position(|bytes| bytes == b"\x05tally").unwrap() + 6 + 32;
    assert_eq!(file[at..at + 2], [3, 0]);
    file.splice(at..at + 2 + 24, [0, 0]);
    assert_eq!(BatchProof::decode(&file), Err(DecodeError::Code { what: "output length", found: 0 }));
}

#[test]
fn openings_are_checked_field_by_field() {
    let good = opening().0.encode();
    let damage = |at: usize, bytes: &[u8]| {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        Opening::decode(&bad).unwrap_err()
    };
    // 4 magic, 2 version, 6 record, height, 8 index, tag
    for found in [0, 41] {
        assert_eq!(damage(12, &[found]), DecodeError::Range { what: "height", found: found.into(), max: 40 });
    }
    assert_eq!(damage(13, &[8]), DecodeError::Range { what: "index", found: 8, max: 7 });
    assert_eq!(damage(21, &[2]), DecodeError::Code { what: "slot tag", found: 2 });
    let tall = Opening { index: 0, height: 41, value: None, siblings: vec![Digest::ZERO; 41] };
    let refused = tall.verify(&Commitment { height: 41, root: Digest::ZERO });
    assert_eq!(refused, Err(OpeningError::Index { index: 0, height: 41 }));
}

#[test]
fn bases_are_below_the_greatest_vector() {
    let mut proof = batch_proof();
    proof.statement.base = 1 << 27;
    let base = DecodeError::Range { what: "base", found: 1 << 27, max: (1 << 27) - 1 };
    assert_eq!(BatchProof::decode(&proof.encode()), Err(base));
}
