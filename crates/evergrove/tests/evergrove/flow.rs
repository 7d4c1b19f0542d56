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

    // The steps of another program, with files alone.
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

    // A store opens in the state in which it was closed.
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
fn a_verifier_makes_rows_from_values() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create_with(dir.path(), &table(), &native()).unwrap();
    let (name, mut seen) = (String::from("item 3"), 0);
    let wanted = |row: &NamedRow<'_>| {
        seen += 1;
        row["name"] == name || row["price"] == 1.5
    };
    let positions = table().rows_where(wanted).unwrap();
    assert_eq!((positions.as_slice(), seen), (&[1, 3][..], 12));
    store.prove("b", &positions).unwrap();
    // The later value of a cell counts, and the empty text is null.
    store.update(Changes::new().set(3, "stock", 5).set(3, "stock", "")).unwrap();

    let values = [(3, "item 3", "4.50", Value::Null), (1, "item 1", "1.50", Value::from(1))];
    let values = values.map(|(at, name, price, stock)| (at, vec![name.into(), price.into(), stock]));
    let rows = Rows::from_values(store.schema(), values.clone()).unwrap();
    assert_eq!(rows, store.rows("b").unwrap());
    assert!((&rows).into_iter().eq(rows.iter()));
    let verifier = Verifier::default().allow_backend(Backend::Native).clone();
    let (proof, commitment) = (store.proof("b").unwrap(), store.commitment().unwrap());
    verifier.verify(&Proof::from_bytes(proof.as_ref().to_vec()), &commitment, &rows).unwrap();
    for (at, value) in [(1, "cheap".into()), (2, Value::from(-1)), (0, Value::Null)] {
        let mut other = values.clone();
        other[1].1[at] = value;
        let error = Rows::from_values(store.schema(), other).unwrap_err();
        assert!(matches!(error, Error::Row { position: 1, .. }), "{error}");
    }
    let narrow = Rows::from_values(store.schema(), [(0, vec![Value::Null])]);
    assert!(matches!(narrow, Err(Error::Row { position: 0, .. })));
}

#[test]
fn a_batch_keeps_its_profile_until_it_is_proven_with_another() {
    let dir = tempfile::tempdir().unwrap();
    let open = |config| Store::open_with(dir.path(), &config).unwrap();
    let profile = |store: &Store| {
        let batch = &store.batches().unwrap()[0];
        (batch.backend.choice.profile, batch.fresh)
    };
    Store::create_with(dir.path(), &table(), &native()).unwrap().prove("b", &[1, 3]).unwrap();
    let mut store = open(Config { profile: Profile::Paper, ..native() });
    store.update(Changes::new().set(1, "stock", 5)).unwrap();
    assert_eq!(profile(&store), (Profile::Grove100, true));
    store.prove("b", &[3, 1]).unwrap();
    assert_eq!(profile(&store), (Profile::Paper, true));
    drop(store);
    // Proving fails after the commit: the epoch stays, and the next refresh finishes the batch.
    let mut store = open(Config { max_memory: Some(1), ..native() });
    let error = store.update(Changes::new().set(1, "stock", 6)).unwrap_err();
    assert!(matches!(error, Error::Memory { .. }), "{error}");
    assert_eq!((store.epoch().unwrap().number, profile(&store)), (3, (Profile::Paper, false)));
    drop(store);
    let mut store = open(native());
    assert_eq!(store.refresh().unwrap().len(), 1);
    assert_eq!(profile(&store), (Profile::Paper, true));
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
