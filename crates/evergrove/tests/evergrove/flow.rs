//! Commit, prove, change, verify.

use evergrove::prelude::*;

use crate::{native, strikes, table};

#[test]
fn a_batch_stays_proven_through_changes() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::from_csv(strikes()).unwrap();
    let night = table.rows_where(|row| row["time_of_day"] == "Night").unwrap();
    assert_eq!(night.len(), 3363);
    let mut store = Store::create_with(dir.path().join("db"), &table, &native()).unwrap();
    let first = store.prove("night", &night).unwrap();
    assert_eq!((first.members, first.made), (3363, first.total));
    let before = store.commitment().unwrap();

    let changes = Changes::new().set(night[0], "cost_repair", 2_500).set(night[0], "speed_kn", None::<u64>);
    let update = store.update(changes.leave("night", [night[1]])).unwrap();
    assert!(update.batches[0].made < update.batches[0].total);
    let (proof, commitment, rows) =
        (store.proof("night").unwrap(), store.commitment().unwrap(), store.rows("night").unwrap());
    assert_eq!((rows.len(), update.epoch.after.number), (3362, 2));
    let (position, cells) = rows.iter().next().unwrap();
    assert_eq!(position, night[0]);
    assert!(cells[10] == 2_500 && cells[12].is_null());

    let verifier = Verifier::default().allow_backend(Backend::Native);
    let verified = verifier.verify(&proof, &commitment, &rows).unwrap();
    assert_eq!(verified.leaves, Some(3362));
    assert_eq!(verifier.verify_statement(&proof, &commitment).unwrap().leaves, None);
    assert!(matches!(verifier.verify(&proof, &before, &rows), Err(Error::Verify(_))));
    assert!(matches!(Verifier::default().verify(&proof, &commitment, &rows), Err(Error::Verify(_))));

    // What another program does, with files alone.
    let path = |name: &str| dir.path().join(name);
    proof.write(path("night.proof")).unwrap();
    rows.write_csv(path("night.csv")).unwrap();
    let read = Rows::from_csv(path("night.csv"), store.schema()).unwrap();
    assert_eq!(read, rows);
    verifier.verify(&Proof::read(path("night.proof")).unwrap(), &commitment, &read).unwrap();
    let text = std::fs::read_to_string(path("night.csv")).unwrap();
    std::fs::write(path("night.csv"), text.replacen(",2500,", ",2501,", 1)).unwrap();
    let other = Rows::from_csv(path("night.csv"), store.schema()).unwrap();
    assert!(matches!(verifier.verify(&proof, &commitment, &other), Err(Error::Verify(_))));

    // A store opens where it was left.
    drop(store);
    let mut store = Store::open_with(path("db"), &native()).unwrap();
    assert_eq!(store.commitment().unwrap(), commitment);
    assert!(store.batches().unwrap()[0].fresh && store.refresh().unwrap().is_empty());
    store.opening(night[1]).unwrap().verify(&commitment).unwrap();
}

#[test]
fn rows_join_grow_and_are_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create_with(dir.path(), &table(), &native()).unwrap();
    let cheap = table().rows_where(|row| row["price"] < 4.5 && row["stock"] != 1).unwrap();
    assert_eq!(cheap, [0, 2]);
    store.prove("cheap", &cheap).unwrap();
    let new = || [Value::from("new"), Value::from("0.05"), Value::Null];
    let beyond = Changes::new().set_row(16, new());
    assert!(matches!(store.update(beyond.clone()), Err(Error::Store(_))));
    store.update(beyond.grow().join("cheap", [16]).delete([11])).unwrap();
    let rows = store.rows("cheap").unwrap();
    let last = rows.iter().last().unwrap();
    assert_eq!((last.0, last.1[1].to_string()), (16, "0.05".into()));
    assert_eq!((store.epoch().unwrap().filled, store.commitment().unwrap().height), (12, 5));
    let verifier = Verifier::default().allow_backend(Backend::Native);
    verifier.verify(&store.proof("cheap").unwrap(), &store.commitment().unwrap(), &rows).unwrap();
}

#[test]
fn files_of_either_format_make_the_same_table() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("t.csv"), "a,b\n1,x\n2,y\n").unwrap();
    std::fs::write(path("t.jsonl"), "{\"a\":1,\"b\":\"x\"}\n{\"b\":\"y\",\"a\":2}\n").unwrap();
    let tables = [Table::from_csv(path("t.csv")).unwrap(), Table::from_jsonl(path("t.jsonl")).unwrap()];
    let roots = tables.each_ref().map(|table| {
        let name = format!("s{}", std::ptr::from_ref(table) as usize);
        Store::create_with(path(&name), table, &native()).unwrap().commitment().unwrap()
    });
    assert_eq!(roots[0], roots[1]);
}
