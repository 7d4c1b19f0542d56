//! Rows for contracts.

use evergrove::openzeppelin::{Order, Tree};
use evergrove::prelude::*;
use evergrove::proof::openzeppelin::root_of_proof;

use crate::{native, table};

fn columns() -> Vec<Column> {
    let abi = |name: &str, kind: &str| Column::new(name, kind.parse().unwrap());
    vec![abi("to", "address"), abi("amount", "uint256"), abi("change", "int128"), abi("paid", "bool")]
}

fn row(i: u64) -> Vec<Value> {
    let amount = if i == 3 { format!("{}0", u128::MAX) } else { i.to_string() };
    vec![format!("0x{:040X}", 0xabc0 + i).into(), amount.into(), (-5 - i128::from(i)).into(), "true".into()]
}

#[test]
fn words_are_found_changed_and_proven() {
    let table = Table::from_rows(columns(), (0..9).map(row)).unwrap();
    let lower = format!("0x{:040x}", 0xabc7);
    assert_eq!(table.rows_where(|row| row["to"] == lower).unwrap(), [7]);
    assert_eq!(table.rows_where(|row| row["to"] == lower.replace("abc", "ABC")).unwrap(), [7]);
    assert_eq!(table.rows_where(|row| row["to"] == "abc7" || row["amount"] == "7").unwrap(), [0; 0]);
    assert_eq!(table.rows_where(|row| row["amount"] > 6).unwrap(), [3, 7, 8]);
    assert_eq!(table.rows_where(|row| row["amount"] > i128::MAX && row["amount"] > 1e39).unwrap(), [3]);
    assert_eq!(table.rows_where(|row| row["change"] <= -13).unwrap(), [8]);
    assert_eq!(table.rows_where(|row| row["change"] < -12.5 && row["paid"] == "true").unwrap(), [8]);

    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create_with(dir.path(), &table, &native()).unwrap();
    store.update(Changes::new().set(2, "amount", u64::MAX).set(3, "to", lower)).unwrap();
    let proofs = store.openzeppelin_proofs(&[2, 3, 8]).unwrap();
    assert_eq!(proofs[0].values()[1], u64::MAX.to_string());
    // The last of 9 rows is alone up to the root.
    assert_eq!(proofs.iter().map(|p| p.siblings.len()).collect::<Vec<_>>(), [4, 4, 1]);
    for proof in &proofs {
        assert_eq!(root_of_proof(proof.leaf, &proof.siblings), proofs[0].root);
    }
    for (position, says) in [(9, "empty"), (99, "outside")] {
        let error = store.openzeppelin_proofs(&[0, position]).unwrap_err();
        assert!(error.to_string().contains(says) && error.class() == ErrorClass::Usage, "{error}");
    }
    let e = store.update(Changes::new().set(2, "amount", -1)).unwrap_err().to_string();
    assert_eq!(
        e,
        "row 2: column \"amount\": -1 is outside the range of uint256: write a decimal number from 0 to 2^256 - 1"
    );
}

/// The order of the rows affects only the root of the unsorted order, and a change of a row takes the table out of the
/// sorted order.
#[test]
fn rows_are_placed_as_the_library_does() {
    let create = |rows: &[u64], order: Option<Order>| {
        let table = Table::from_rows(columns(), rows.iter().map(|i| row(*i))).unwrap();
        let table = order.map_or(Ok(table.clone()), |order| table.in_order(order, false)).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create_with(dir.path(), &table, &native()).unwrap();
        let tree = Tree::of(&store.layer().view().unwrap()).unwrap();
        assert_eq!(tree.leaves().len(), rows.len());
        (tree.root().unwrap(), tree.order())
    };
    let (there, back) = ([0, 1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0]);
    let sorted = create(&there, Some(Order::Sorted));
    assert_eq!((sorted, sorted.1), (create(&back, Some(Order::Sorted)), Some(Order::Sorted)));
    let unsorted = create(&there, Some(Order::Unsorted));
    assert_eq!(unsorted.1, Some(Order::Unsorted));
    assert!(unsorted.0 != sorted.0 && unsorted.0 != create(&back, Some(Order::Unsorted)).0);
    // As many rows as there are slots have the positions of their order anyway; others have gaps.
    assert_eq!(create(&there[..4], None), create(&there[..4], Some(Order::Unsorted)));
    assert_eq!(create(&there, None).1, None);

    let twice = || Table::from_rows(columns(), [0, 1, 2, 1, 0].map(row)).unwrap();
    let error = twice().in_order(Order::Sorted, false).unwrap_err();
    assert_eq!(error.to_string(), "rows 1 and 3 are equal");
    assert!(twice().in_order(Order::Sorted, true).is_ok());
    let error = table().in_order(Order::Unsorted, false).unwrap_err();
    assert!(error.to_string().starts_with("column \"name\" is of type bytes: OpenZeppelin's tree needs "), "{error}");
    assert_eq!("openzeppelin-js".parse(), Ok(Order::Sorted));
    assert_eq!(
        "js".parse::<Order>().unwrap_err().to_string(),
        "unknown order \"js\": choose openzeppelin-js or openzeppelin-js-unsorted"
    );
}
