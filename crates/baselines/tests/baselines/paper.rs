//! The paper's scheme, really proven, beside ours.

use std::sync::LazyLock;

use evergrove_baselines::paper::{PaperBackend, PaperVerifier, paper_keys};
use evergrove_commit::batch::Batch;
use evergrove_commit::{
    BackendError, BlockWitness, BucketWitness, LeafWitness, LevelWitness, NodeProof, RecursionBackend, Witness, vc,
};
use evergrove_plonky2::Plonky2Backend;
use evergrove_primitives::{Digest, Goldilocks};
use evergrove_testkit::commit::{random_updates, value, vector};
use evergrove_verifier::tree::{Value, canonical_digest, leaf_digest, node_digest, null_digest};
use evergrove_verifier::{Commitment, HEIGHT_MAX, HeightClass, NodeKind, Profile, Scheme, Statement};

/// q of the small circuits.
const Q: u8 = 2;

/// The pinned circuits of our own scheme.
static OURS: LazyLock<Plonky2Backend> =
    LazyLock::new(|| Plonky2Backend::load(Profile::Paper, HeightClass::H27, None).expect("the pinned circuits"));

static PAPER: LazyLock<PaperBackend> = LazyLock::new(|| {
    PaperBackend::with_block_height(Profile::Paper, HeightClass::H27, Q).expect("a profile of Plonky2")
});

#[test]
#[ignore = "slow: a minute, twenty proofs of the paper's scheme"]
fn both_schemes_prove_the_same_statements_through_updates() {
    let mut v = vector(8, [16, 17, 27, 90, 200]);
    let mut values = std::collections::BTreeMap::from_iter([16, 17, 27, 90, 200].map(|i| (i, value(i))));
    let mut members = vec![16, 27];
    let (paper, ours) = (vc::setup(8, &*PAPER).unwrap(), vc::setup(8, &*OURS).unwrap());
    let (mut p, mut q) = (vc::agg(&paper, &members, &v).unwrap(), vc::agg(&ours, &members, &v).unwrap());
    // Blocks 4 and 6, levels of height 3 above them, one path from height 4 to 8, the wrap.
    assert_eq!((p.1.made, q.1.made), (2 + 2 + 5 + 1, 2));

    /// The change (index, joins, leaves), and the number of proofs that it takes in each scheme.
    type Step = (Option<u64>, &'static [u64], &'static [u64], usize, usize);
    let steps: [Step; 3] = [
        (Some(27), &[], &[], 8, 2),
        // Outside: only the root has members on the path of 200.
        (Some(200), &[], &[], 2, 2),
        (None, &[17], &[27], 8, 2),
    ];
    for (changed, joins, leaves, of_paper, of_ours) in steps {
        let touched: Vec<u64> = changed.into_iter().collect();
        for i in &touched {
            values.insert(*i, value(1000 + i));
        }
        let changes: Vec<_> = touched.iter().map(|i| (*i, Some(values[i]))).collect();
        let commitment = vc::upd_all_proofs(&mut v, &changes).unwrap();
        members.extend(joins);
        members.retain(|i| !leaves.contains(i));
        let stale = p.0.clone();
        p = vc::upd_batch_proof(&paper, &p.1, &v, &touched, joins, leaves).unwrap();
        q = vc::upd_batch_proof(&ours, &q.1, &v, &touched, joins, leaves).unwrap();
        assert_eq!((p.1.made, q.1.made), (of_paper, of_ours), "{changed:?}, {joins:?}, {leaves:?}");
        assert_eq!(p.1.batch, Batch::build_as(&v, &members, PAPER.spec().structure()).unwrap());

        assert_eq!(p.0.statement, q.0.statement, "(C, d, height) of both schemes");
        let mut claim: Vec<(u64, Value)> = members.iter().map(|i| (*i, values[i])).collect();
        vc::ver(&commitment, &claim, &p.0, &*PAPER).unwrap();
        vc::ver(&commitment, &claim, &q.0, &*OURS).unwrap();
        assert!(PAPER.verify(&q.0).is_err() && OURS.verify(&p.0).is_err(), "a proof of the other scheme");
        assert!(PAPER.verify(&NodeProof { statement: p.0.statement, ..(*stale).clone() }).is_err(), "a stale proof");
        claim[0].1[0] += Goldilocks::ONE;
        assert!(vc::ver(&commitment, &claim, &p.0, &*PAPER).is_err(), "a tampered leaf");
    }
    // What each proof states, and no other statement, kind or byte.
    let proof = &p.0;
    let Statement { root, canonical, height, .. } = proof.statement;
    for statement in [
        Statement { root: canonical, ..proof.statement },
        Statement { canonical: root, ..proof.statement },
        Statement { canonical: Digest::ZERO, ..proof.statement },
        Statement { height: height - 1, ..proof.statement },
        Statement { height: 41, ..proof.statement },
    ] {
        assert!(PAPER.verify(&NodeProof { statement, ..(**proof).clone() }).is_err(), "{statement:?}");
    }
    for at in (0..proof.bytes.len()).step_by(proof.bytes.len() / 24) {
        let mut other = (**proof).clone();
        other.bytes[at] ^= 1;
        assert!(PAPER.verify(&other).is_err(), "byte {at} changed");
    }
    assert!(PAPER.prove(&Witness::Wrap, &[proof]).is_err(), "a wrap of a wrap");
    for foreign in p.1.proofs.values().filter(|p| p.statement.height < 8) {
        assert!(vc::ver(&v.commitment().unwrap(), &[(16, value(16))], foreign, &*PAPER).is_err());
    }
}

#[test]
#[ignore = "slow: minutes, some hundred proofs"]
fn random_updates_of_the_papers_scheme() {
    random_updates(&*PAPER, 6, 10, 1);
}

#[test]
#[ignore = "slow: a minute and 3 GiB, all circuits of vectors of 2^27 slots"]
fn the_papers_own_size() {
    let backend = PaperBackend::new(Profile::Paper, HeightClass::H27).unwrap();
    let (pp, members) = (vc::setup(27, &backend).unwrap(), [5, (1 << 27) - 1]);
    let v = vector(27, members);
    let (proof, data) = vc::agg(&pp, &members, &v).unwrap();
    assert_eq!(data.made, 2 + 2 * 21 + 1 + 1);
    vc::ver(&v.commitment().unwrap(), &members.map(|i| (i, value(i))), &proof, &backend).unwrap();
}

/// All nodes of a tree, level by level.
fn tree(leaves: Vec<Digest>) -> Vec<Vec<Digest>> {
    let mut levels = vec![leaves];
    while let Some(level) = levels.last().filter(|l| l.len() > 1) {
        levels.push(level.chunks(2).map(|pair| node_digest(&pair[0], &pair[1])).collect());
    }
    levels
}

/// The paper's proof of the one leaf at `position`, up to the root and wrapped. Nothing asks which index the leaf names.
fn open_in_paper(tree: &[Vec<Digest>], position: usize) -> Result<NodeProof, BackendError> {
    let canonical = tree[0][position];
    let statement = |height: u8| {
        let base = position >> height << height;
        Statement { root: tree[usize::from(height)][position >> height], canonical, height, base: base as u64 }
    };
    let first = position >> Q << Q;
    let block = BlockWitness {
        statement: statement(Q),
        leaves: tree[0][first..first + (1 << Q)].to_vec(),
        members: (first..first + (1 << Q)).map(|i| i == position).collect(),
    };
    let mut proof = PAPER.prove(&block.into(), &[])?;
    for height in Q + 1..tree.len() as u8 {
        let (left, below) = (position >> height << 1, usize::from(height - 1));
        let right = position >> below & 1;
        let mut canonicals = [None; 2];
        canonicals[right] = Some(canonical);
        let roots = [tree[below][left], tree[below][left + 1]];
        let level = LevelWitness { statement: statement(height), roots, canonicals };
        proof = PAPER.prove(&level.into(), &[&proof])?;
    }
    PAPER.prove(&Witness::Wrap, &[&proof])
}

/// Our bucket over the leaf at `position`, claimed to be that of `index`.
fn open_in_ours(tree: &[Vec<Digest>], position: usize, index: u64, value: Value) -> Result<NodeProof, BackendError> {
    let height = (tree.len() - 1) as u8;
    let canonical = canonical_digest(&[(index, leaf_digest(index, &value))]);
    let siblings = (0..height).map(|l| tree[usize::from(l)][position >> l ^ 1]).collect();
    let statement = Statement { root: tree[usize::from(height)][0], canonical, height, base: 0 };
    let leaves = vec![LeafWitness { index, value, siblings, opening: vec![] }];
    OURS.prove(&BucketWitness { statement, leaves }.into(), &[])
}

/// Definition 2.4 lets the adversary choose C. The paper's circuits do not tie the index in a leaf to the leaf's position: a
/// commitment that holds two leaves of index 1 opens index 1 to two values. Ours opens it to the one at position 1.
#[test]
fn a_dishonest_commitment_opens_one_index_twice_in_the_papers_scheme_and_not_in_ours() {
    let values = [value(10), value(20)];
    let mut leaves = vec![null_digest(0); 8];
    (leaves[1], leaves[5]) = (leaf_digest(1, &values[0]), leaf_digest(1, &values[1]));
    let tree = tree(leaves);
    let commitment = Commitment { height: 3, root: tree[3][0] };

    let paper = [1, 5].map(|position| open_in_paper(&tree, position).unwrap());
    for (proof, value) in paper.iter().zip(values) {
        vc::ver(&commitment, &[(1, value)], proof, &*PAPER).expect("the paper's verifier accepts either value");
    }

    let honest = open_in_ours(&tree, 1, 1, values[0]).unwrap();
    let wrapped = OURS.prove(&Witness::Wrap, &[&honest]).unwrap();
    vc::ver(&commitment, &[(1, values[0])], &wrapped, &*OURS).unwrap();
    assert!(vc::ver(&commitment, &[(1, values[1])], &wrapped, &*OURS).is_err());
    // The second leaf by its own path, and by the path of the index that it names. The constraints themselves, with wires
    // set by hand: `attacks::bucket`.
    assert!(open_in_ours(&tree, 5, 1, values[1]).is_err());
    assert!(open_in_ours(&tree, 1, 1, values[1]).is_err());
    assert!(open_in_ours(&tree, 5, 5, values[1]).is_err());
}

#[test]
fn the_pinned_keys_are_those_of_the_circuits() {
    let pinned = PaperVerifier::pinned(Profile::Paper).unwrap();
    assert_eq!((pinned.keys().block_height, pinned.keys().keys.len()), (Scheme::BLOCK_HEIGHT, HEIGHT_MAX.into()));
    let backend = PaperBackend::new(Profile::Paper, HeightClass::H27).unwrap();
    for height in [1, 5, 6] {
        assert_eq!(Some(&backend.key(height)), pinned.keys().get(height), "height {height}");
    }
    // The verifier that a user has: pinned keys and no circuit.
    let members = [3, 20];
    let v = vector(5, members);
    let (proof, _) = vc::agg(&vc::setup(5, &backend).unwrap(), &members, &v).unwrap();
    pinned.verify(&proof).unwrap();
    for statement in [
        Statement { height: 4, ..proof.statement },
        Statement { height: 41, ..proof.statement },
        Statement { height: 0, ..proof.statement },
        Statement { canonical: proof.statement.root, ..proof.statement },
    ] {
        assert!(pinned.verify(&NodeProof { statement, ..(*proof).clone() }).is_err(), "{statement:?}");
    }
    assert!(pinned.verify(&NodeProof { kind: NodeKind::Merge, ..(*proof).clone() }).is_err());
    assert!(PaperVerifier::pinned(Profile::Proven).is_err(), "not pinned");
}

#[test]
fn circuits_survive_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    let cached =
        || PaperBackend::with_block_height(Profile::Paper, HeightClass::H27, Q).unwrap().with_cache(Some(dir.path()));
    let v = vector(3, [1]);
    let prove = |backend: &PaperBackend| vc::agg(&vc::setup(3, backend).unwrap(), &[1], &v).unwrap().0;
    let built = cached();
    built.setup(3);
    let files = || {
        let names = std::fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().path());
        std::collections::BTreeMap::from_iter(names.map(|p| (p.clone(), std::fs::read(p).unwrap())))
    };
    let left = files();
    // Block, level, wrap, and what stands in for an absent block.
    assert_eq!(left.len(), 4);
    let again = cached();
    built.verify(&prove(&again)).unwrap();
    assert!(files() == left, "what is there is not written again");
    // Damaged files are built again, not trusted.
    for (path, bytes) in &left {
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= 1;
        std::fs::write(path, damaged).unwrap();
    }
    assert_eq!(cached().key(3), built.key(3));
    // A new proof may have another grinding witness.
    for (path, bytes) in files().into_iter().filter(|(path, _)| !path.to_string_lossy().contains("stand-in")) {
        assert!(left[&path] == bytes, "{}", path.display());
    }
}

#[test]
#[ignore = "slow: minutes, the circuits of every height"]
fn every_pinned_key_is_that_of_the_circuits() {
    let built = paper_keys(Profile::Paper, Scheme::BLOCK_HEIGHT, HEIGHT_MAX).unwrap();
    assert_eq!(built, *PaperVerifier::pinned(Profile::Paper).unwrap().keys());
}

#[test]
fn schemes_are_told_apart() {
    assert_eq!((PAPER.spec().choice.scheme, PAPER.spec().capacity), (Scheme::RecklePaper, 1 << Q));
    let v = vector(4, [1]);
    let ours = Batch::build(&v, &[1], 4).unwrap();
    let paper = Batch::build_as(&v, &[1], PAPER.spec().structure()).unwrap();
    for (batch, backend) in [(&ours, &*PAPER as &dyn RecursionBackend), (&paper, &*OURS as &dyn RecursionBackend)] {
        let leaf = batch.nodes()[0];
        let refused = backend.prove(&leaf.witness(&v).unwrap(), &[]);
        assert!(matches!(refused, Err(BackendError::Witness(_))), "{refused:?}");
    }
}
