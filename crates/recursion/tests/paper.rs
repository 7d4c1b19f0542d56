//! The paper's scheme, really proven.

use std::sync::LazyLock;

use evergrove_commit::{NodeKind, vc};
use evergrove_proof::{HeightClass, Profile};
use evergrove_recursion::paper::PaperBackend;
use evergrove_testkit::commit::{value, vector};

static SMALL: LazyLock<PaperBackend> =
    LazyLock::new(|| PaperBackend::with_block_height(Profile::Paper, HeightClass::H27, 2));

#[test]
fn a_batch_is_proven_level_by_level() {
    let members = [1, 2, 12];
    let vector = vector(4, members);
    let pp = vc::r#gen(4, &*SMALL).unwrap();
    let (proof, data) = vc::agg(&pp, &members, &vector).unwrap();
    // Two blocks, two levels above them, the root, the wrap.
    assert_eq!((data.made, proof.kind), (6, NodeKind::Wrap));
    let mut leaves = members.map(|i| (i, value(i)));
    vc::ver(&vector.commitment().unwrap(), &leaves, &proof, &*SMALL).unwrap();
    leaves[0].1 = value(9);
    vc::ver(&vector.commitment().unwrap(), &leaves, &proof, &*SMALL).unwrap_err();
}
