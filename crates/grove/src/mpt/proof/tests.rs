//! Tests that set values directly: a join neither drops nor changes a claim about fixed columns.

use evergrove_primitives::field::Field;
use evergrove_verifier::argument::read_up_to_fixed;
use evergrove_verifier::ethereum::{Claim as About, EMPTY_ROOT};

use super::*;

const SIZE: Size = Size { blocks: 1, accounts: 1, roots: 1, ..Size::NONE };

type Prover = StateProver<Quadratic>;

fn witness(i: u8) -> Witness {
    Witness::new(&Roots::of_state(EMPTY_ROOT), &|_| None, &[About::AbsentAccount { address: [i; 20] }]).unwrap()
}

/// A piece that passes on a claim whose value is too large by `more`.
fn piece(prover: &Prover, i: u8, more: Quadratic) -> NodeProof {
    let key = &prover.verifier.pieces;
    let (point, value) = prover.pieces.claim.clone();
    let witness = witness(i);
    let public = Public { information: information(witness.lists(), None), point, value: value + more };
    let mut free = witness.data(SIZE, key.digest()).unwrap();
    free.extend(claim_data(&public));
    let proof = prover.pieces.prove(key, false, &free, public).unwrap();
    NodeProof { kind: Kind::Piece, lists: witness.lists(), bytes: encode(&proof) }
}

/// Free data of a join of proofs that may be false, and the offsets of the claims and of the proofs in it.
fn data(prover: &Prover, of: [&NodeProof; 2], join: Join<'_>) -> (Vec<Goldilocks>, [usize; 2]) {
    let kind = Kind::of(of.map(|proof| proof.kind)).unwrap();
    let lists = join.lists(of.map(|proof| proof.lists));
    let words = [of[0].lists[0], of[1].lists[0], of[0].lists[1], of[1].lists[1], lists[0], lists[1]];
    let bit = |bit: bool| Goldilocks::new(bit.into());
    let mut free: Vec<Goldilocks> = words.iter().flat_map(|word| word.0).collect();
    free.extend([join == Join::Below, join == Join::Alone].map(bit));
    if kind == Kind::Joins {
        free.push(Goldilocks::ZERO);
        free.extend(Sublist::default().data());
    }
    let key = prover.verifier.key_of(kind).unwrap();
    let pieces = &prover.verifier.pieces;
    free.extend(key.digest());
    free.extend([Goldilocks::ZERO; WORD]);
    let begin = free.len();
    let read = of.map(|proof| prover.verifier.read(proof).unwrap());
    let own_key = if kind == Kind::Pieces { pieces } else { key };
    if kind == Kind::Joins {
        free.extend(of.map(|proof| bit(proof.kind == Kind::Joins)));
        let claims: Vec<_> = read.iter().map(|(_, claim)| claim.clone().unwrap()).collect();
        free.extend(claims.iter().flat_map(claim_data));
        let claims: Vec<_> = claims.into_iter().map(|Public { point, value, .. }| Claim::At { point, value }).collect();
        free.extend(prover::reduce(pieces, &claims).0);
    }
    let proofs = free.len();
    let mut claims = Vec::new();
    for (proof, _) in &read {
        free.extend(proof.data());
        let statement = proof.public.statement(own_key.digest(), proof.circuit);
        let own = read_up_to_fixed(&proof.elements, own_key.parameters(), &statement).unwrap();
        let Public { point, value, .. } = proof.public.clone();
        claims.extend([Claim::Fixed(own), Claim::At { point, value }]);
    }
    free.extend(prover::reduce(own_key, &claims).0);
    if kind == Kind::Pieces {
        let (point, value) = prover.joins.as_ref().unwrap().claim.clone();
        free.extend(claim_data(&Public { information: Vec::new(), point, value }));
    }
    (free, [begin, proofs])
}

fn holds(prover: &Prover, kind: Kind, free: &[Goldilocks]) -> bool {
    let circuit = &prover.joins.as_ref().unwrap().circuits[usize::from(kind == Kind::Joins)];
    circuit.witness(free).is_ok_and(|columns| columns.faults(circuit).is_empty())
}

#[test]
fn no_claim_of_a_join_is_dropped() {
    let prover = Prover::new(&UNIQUE_100, SIZE, true).unwrap();
    let verifier = prover.verifier();
    let none = Quadratic::ZERO;
    let [first, second] = [1, 2].map(|i| piece(&prover, i, none));
    verifier.check(&first).unwrap();
    let (free, _) = data(&prover, [&first, &second], Join::Beside);
    assert!(holds(&prover, Kind::Pieces, &free));
    // A piece that passes on a false claim, on either side: the piece is refused, and joins of it do not hold.
    let wrong = piece(&prover, 1, Quadratic::ONE);
    assert!(verifier.check(&wrong).is_err());
    for of in [[&wrong, &second], [&second, &wrong]] {
        assert!(!holds(&prover, Kind::Pieces, &data(&prover, of, Join::Alone).0));
    }

    let beside = prover.join([&first, &second], Join::Beside).unwrap();
    let alone = prover.join([&second; 2], Join::Alone).unwrap();
    let (free, [begin, proofs]) = data(&prover, [&beside, &alone], Join::Beside);
    assert!(holds(&prover, Kind::Joins, &free));
    // The key's digest, the circuits, the claims about pieces and their reduction: changing any element is detected.
    // The padding of a hash is zero.
    let ahead = (begin - 2 * WORD..begin - WORD).chain(begin..begin + 10).chain((begin + 10..proofs).step_by(23));
    let mut counted = 0;
    for at in ahead {
        let mut changed = free.clone();
        changed[at] += Goldilocks::ONE;
        assert!(!holds(&prover, Kind::Joins, &changed), "element {at} of {begin} to {proofs}");
        counted += 1;
    }
    assert!(counted > 15, "{counted}");
    // The two claims are swapped, or one of them is there twice.
    let half = claim_data(&verifier.read(&beside).unwrap().1.unwrap()).len();
    let [left, right] = [begin + 2, begin + 2 + half];
    for pair in [[left, left], [right, right], [right, left]] {
        let mut changed = free.clone();
        for (to, from) in [left, right].into_iter().zip(pair) {
            changed[to..to + half].copy_from_slice(&free[from..from + half]);
        }
        assert!(changed != free && !holds(&prover, Kind::Joins, &changed));
    }
    // A piece cannot be joined to a join.
    assert!(prover.join([&first, &alone], Join::Beside).is_err());
    // A join's file with claims about pieces that do not hold.
    for proof in [&beside, &alone, &prover.join([&beside, &alone], Join::Beside).unwrap()] {
        verifier.check(proof).unwrap();
        for at in (0..16 * (verifier.pieces.variables() + 1)).step_by(40) {
            let mut changed = proof.clone();
            changed.bytes[at] ^= 1;
            assert!(verifier.check(&changed).is_err());
        }
    }
}
