//! Applications on the engine's tables: real proofs in both schemes with `grove-100`, updates, refusals and attacks.

use std::sync::Arc;

use evergrove_apps::aggregate::Aggregate;
use evergrove_apps::samples::{Sequence, Tally};
use evergrove_apps::{MapReduce, circuits_on_tables};
use evergrove_commit::batch::{Batch, Structure};
use evergrove_commit::{MemoryStore, NodeProof, RecursionBackend, Vector};
use evergrove_grove::{AppCircuitSet, GroveBackend};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::{AppSpec, Commitment, HeightClass, Profile, Scheme, Statement};

use crate::aggregate::table::Table;
use crate::world::{Proofs, output, prove, prove_opened, refuses_other_statements, value, vector};

pub(crate) fn circuit_set(
    app: impl MapReduce + 'static,
    scheme: Scheme,
    profile: Profile,
) -> (AppCircuitSet, GroveBackend) {
    let spec = AppSpec { name: app.name().into(), parameters: app.parameters() };
    let app: Arc<dyn MapReduce> = Arc::new(app);
    let circuit_set = circuits_on_tables(&app, scheme, profile, HeightClass::H27).unwrap().unwrap();
    let backend = circuit_set.backend(spec).unwrap();
    (circuit_set, backend)
}

#[test]
fn selected_leaves_and_their_updates() {
    let (circuit_set, backend) = circuit_set(Tally::new(20), Scheme::Selected, Profile::Grove100);
    let m = backend.spec().capacity as u64;
    let members: Vec<u64> = (0..m + 20).map(|i| 3 * i * i).collect();
    let mut vector = vector(23, members.iter().copied().chain([1, 2]));
    let batch = Batch::build_as(&vector, &members, backend.spec().structure()).unwrap();
    let mut proofs = Proofs::new();
    let (proof, made) = prove(&backend, &vector, &batch, &mut proofs);
    assert_eq!(made, batch.cost(false).total());
    assert!(made >= 3, "two buckets at least");
    assert_eq!(proof.statement, Statement::whole(&vector.commitment().unwrap(), batch.statement().canonical));
    assert_eq!(proof.output, output(&Tally::new(20), &members, &vector));
    refuses_other_statements(&backend, &proof);
    let verifier = circuit_set.verifier().unwrap();
    assert_eq!(verifier.key_digest(), backend.key_digest());
    proofs.values().for_each(|p| verifier.verify(p).unwrap());

    // A member's value changes, and a member joins.
    vector.apply(&[(0, Some([Goldilocks::new(999_999); 4]))]).unwrap();
    let changed = batch.update(&vector, &[], &[], &[0]).unwrap();
    let (proof, made) = prove(&backend, &vector, &changed, &mut proofs);
    assert!(made <= 3, "{made} proofs for a value");
    assert_eq!(proof.output, output(&Tally::new(20), &members, &vector));
    let mut more = members.clone();
    more.insert(1, 2);
    let joined = changed.update(&vector, &[2], &[], &[]).unwrap();
    let (proof, _) = prove(&backend, &vector, &joined, &mut proofs);
    assert_eq!(proof.output, output(&Tally::new(20), &more, &vector));

    // A value that the application does not map.
    vector.apply(&[(0, Some([Goldilocks::new(1 << 20); 4]))]).unwrap();
    let wrong = joined.update(&vector, &[], &[], &[0]).unwrap();
    let refused = backend.prove(&wrong.nodes()[0].witness(&vector).unwrap(), &[]);
    assert!(refused.unwrap_err().to_string().contains("slot 0"));
}

#[test]
fn complete_tables_in_order_and_their_updates() {
    let (_, backend) = circuit_set(Sequence, Scheme::Complete, Profile::Grove100);
    let slots = backend.spec().capacity as u64;
    // Two neighbouring blocks and a block far away; everything else is empty.
    let filled: Vec<u64> = (0..slots + 5).chain([7 * slots, 7 * slots + 3]).collect();
    let mut vector = vector(24, filled.iter().copied());
    let build = |vector: &Vector<MemoryStore>| Batch::build_as(vector, &[], backend.spec().structure()).unwrap();
    let batch = build(&vector);
    assert_eq!(batch.indices(), filled);
    let mut proofs = Proofs::new();
    let (proof, made) = prove(&backend, &vector, &batch, &mut proofs);
    assert_eq!(made, 5, "three blocks and two merges");
    assert_eq!(proof.output, output(&Sequence, &filled, &vector));
    refuses_other_statements(&backend, &proof);

    // A row between the blocks is added, and another row is removed.
    vector.apply(&[(3 * slots + 1, Some(value(5))), (7 * slots + 3, None)]).unwrap();
    let (proof, made) = prove(&backend, &vector, &build(&vector), &mut proofs);
    assert_eq!(made, 5, "the new block, the far one and three merges");
    let mut now = filled.clone();
    now.retain(|i| *i != 7 * slots + 3);
    now.insert(now.len() - 1, 3 * slots + 1);
    assert_eq!(proof.output, output(&Sequence, &now, &vector));
}

#[test]
fn a_table_lower_than_a_block_counts_as_grown() {
    let (_, backend) = circuit_set(Sequence, Scheme::Complete, Profile::Grove128);
    let vector = vector(3, [1, 4, 6]);
    let batch = Batch::build_as(&vector, &[], backend.spec().structure()).unwrap();
    let (proof, made) = prove(&backend, &vector, &batch, &mut Proofs::new());
    assert_eq!(made, 1);
    let Structure::Complete { block_height } = backend.spec().structure() else { panic!("a complete backend") };
    let Commitment { height, root } = vector.commitment().unwrap().grown(block_height);
    assert_eq!((proof.statement.height, proof.statement.root), (height, root));
    assert_eq!(proof.output, output(&Sequence, &[1, 4, 6], &vector));

    let empty = Vector::new(3, MemoryStore::new()).unwrap();
    let batch = Batch::build_as(&empty, &[], backend.spec().structure()).unwrap();
    let (proof, _) = prove(&backend, &empty, &batch, &mut Proofs::new());
    assert_eq!(proof.statement.root, empty.commitment().unwrap().grown(block_height).root);
    assert_eq!(proof.output, Sequence.identity());
}

/// Numbered rows of six elements.
fn table(rows: u64) -> Table {
    let text: Vec<[String; 5]> = (0..rows)
        .map(|i| {
            let or_null = |x: u64| if x % 7 == 3 { String::new() } else { x.to_string() };
            let kind = ["red", "blue", ""][(i % 3) as usize];
            let price = format!("{}.{:02}", i * 31 % 997, i % 100);
            [i.to_string(), or_null(i * i % 1000), kind.into(), price, (i % 50).to_string()]
        })
        .collect();
    let cells: Vec<Vec<&str>> = text.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let cells: Vec<&[&str]> = cells.iter().map(Vec::as_slice).collect();
    Table::new(&["id:unsigned", "qty:unsigned?", "kind:bytes?", "price:fixed:2", "day:unsigned"], &cells)
}

pub(crate) fn committed(table: &Table, height: u8) -> Vector<MemoryStore> {
    let mut vector = Vector::new(height, MemoryStore::new()).unwrap();
    let slots: Vec<_> =
        table.rows.iter().enumerate().map(|(i, row)| (i as u64, Some(table.schema.value(row).unwrap()))).collect();
    vector.apply(&slots).unwrap();
    vector
}

pub(crate) fn answered(
    backend: &GroveBackend,
    table: &Table,
    vector: &Vector<MemoryStore>,
    members: &[u64],
    proofs: &mut Proofs,
) -> NodeProof {
    let batch = Batch::build_as(vector, members, backend.spec().structure()).unwrap();
    let opening = |i: u64| table.schema.elements(&table.rows[i as usize]).unwrap();
    prove_opened(backend, vector, &batch, proofs, opening).0
}

#[test]
fn queries_are_answered_by_shape() {
    let table = table(1500);
    let vector = committed(&table, 20);
    let sql = |day: u64, least: u64| {
        format!(
            "SELECT COUNT(*), SUM(price), MIN(qty), MAX(price), SUM(qty * day) FROM t \
             WHERE day < {day} AND (qty >= {least} OR kind = 'red')"
        )
    };
    let aggregate = |sql: &str| Aggregate::new(table.query(sql).plan().clone());
    let proven = |sql: &str, scheme: Scheme, members: &[u64], proofs: &mut Proofs| {
        let (_, backend) = circuit_set(aggregate(sql), scheme, Profile::Grove100);
        let proof = answered(&backend, &table, &vector, members, proofs);
        (backend, proof)
    };
    let first = sql(20, 100);
    let (backend, proof) = proven(&first, Scheme::Complete, &[], &mut Proofs::new());
    assert_eq!(table.query(&first).answer(&proof.output).unwrap(), table.answer(&first));
    refuses_other_statements(&backend, &proof);

    // Another query of the same shape has the same key and states something else.
    let second = sql(31, 7);
    let (other, another) = proven(&second, Scheme::Complete, &[], &mut Proofs::new());
    assert_eq!(other.key_digest(), backend.key_digest());
    assert_eq!(table.query(&second).answer(&another.output).unwrap(), table.answer(&second));
    assert_ne!(another.output, proof.output);
    assert!(other.verify(&proof).is_err() && backend.verify(&another).is_err());
    // A proof of one query is refused as a proof of the other.
    let swapped = NodeProof { output: another.output.clone(), ..proof.clone() };
    assert!(backend.verify(&swapped).is_err());

    // Over selected rows.
    let members: Vec<u64> = (0..1500).filter(|i| i % 2 == 0).collect();
    let (backend, proof) = proven(&first, Scheme::Selected, &members, &mut Proofs::new());
    let app = aggregate(&first);
    let cases = table.cases(&app);
    let expected = members
        .iter()
        .fold(app.identity(), |before, i| app.reduce(&before, &app.map(&cases[*i as usize].leaf()).unwrap()).unwrap());
    assert_eq!(proof.output, expected);
    refuses_other_statements(&backend, &proof);
}

/// Sizes; bits by unique decoding, up to the Johnson bound and for random words; and keys. If a key changes, earlier
/// proofs no longer verify.
#[test]
fn sizes_and_bits_are_as_recorded() {
    let table = table(10);
    let wide: Vec<String> = (0..12).map(|i| format!("c{i}:unsigned")).collect();
    let wide = Table::new(&wide.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
    let aggregate =
        |table: &Table, sql: &str| -> Arc<dyn MapReduce> { Arc::new(Aggregate::new(table.query(sql).plan().clone())) };
    let apps: [(&str, Arc<dyn MapReduce>); 4] = [
        ("tally", Arc::new(Tally::new(20))),
        ("count", aggregate(&table, "SELECT COUNT(*) FROM t")),
        (
            "sum, min, max",
            aggregate(&table, "SELECT SUM(qty), COUNT(*), MIN(price), MAX(price) FROM t WHERE day BETWEEN 5 AND 9"),
        ),
        ("of 12 columns", aggregate(&wide, "SELECT SUM(c3) FROM t WHERE c11 > 8")),
    ];
    let mut lines = Vec::new();
    for (name, app) in apps {
        for scheme in [Scheme::Selected, Scheme::Complete] {
            for profile in Profile::GROVE {
                let circuit_set = circuits_on_tables(&app, scheme, profile, HeightClass::H27).unwrap().unwrap();
                let bits = circuit_set.bits();
                let least = if profile == Profile::Grove100 { bits.unique_decoding } else { bits.johnson };
                assert!(
                    least >= if profile == Profile::Grove100 { 100.0 } else { 127.9 },
                    "{name} {scheme} {profile}: {bits:?}"
                );
                let key = circuit_set.verifier().unwrap().key_digest();
                lines.push(format!(
                    "{name}, {scheme}, {profile}: {} in {:?}, 2^{}; {:.1} / {:.1} / {:.1} bits; key {key}",
                    circuit_set.capacity(),
                    circuit_set.shape().blocks,
                    circuit_set.shape().variables,
                    bits.unique_decoding,
                    bits.johnson,
                    bits.conjectured,
                ));
            }
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn what_has_no_circuits_on_tables_says_so() {
    let sequence: Arc<dyn MapReduce> = Arc::new(Sequence);
    let refused = |scheme, profile| circuits_on_tables(&sequence, scheme, profile, HeightClass::H27).unwrap().err();
    assert!(refused(Scheme::Selected, Profile::Grove100).is_some(), "an order");
    assert!(refused(Scheme::Tree, Profile::Grove100).is_some());
    assert!(refused(Scheme::Complete, Profile::Proven).is_some());
    // A condition with the greatest number of tests: blocks have few slots, or there are no circuits, but no panic.
    let kinds: Vec<String> = (0..550).map(|i| format!("'{i}'")).collect();
    let table = table(3);
    let query = table.query(&format!("SELECT COUNT(*) FROM t WHERE kind IN ({})", kinds.join(", ")));
    let long: Arc<dyn MapReduce> = Arc::new(Aggregate::new(query.plan().clone()));
    let found = circuits_on_tables(&long, Scheme::Complete, Profile::Grove100, HeightClass::H27).unwrap();
    assert!(found.is_ok_and(|circuit_set| circuit_set.capacity() < 1 << 7));
}
