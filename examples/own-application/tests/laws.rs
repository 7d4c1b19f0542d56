//! Checks that the circuits equal the code, and refuse what the code refuses.

use evergrove::apps::catalog::{Catalog, CatalogError};
use evergrove::apps::laws::{Case, check, refuses_leaf};
use evergrove::apps::{Leaf, MapReduce, MapReduceError};
use evergrove::commit::schema::{Cell, Column, ColumnType, Row, Schema};
use evergrove::primitives::Goldilocks;
use evergrove::proof::AppSpec;
use own_application::{Score, Scores};

/// Rows of six elements, which are hashed, or of two, which are values themselves.
fn schema(hashed: bool) -> Schema {
    let note = hashed.then(|| Column::new("note", ColumnType::Bytes));
    let numbers = ["units", "defects"].map(|name| Column::new(name, ColumnType::Unsigned));
    Schema::new(note.into_iter().chain(numbers).collect()).unwrap()
}

fn case(schema: &Schema, index: u64, numbers: [u64; 2]) -> Case {
    let note = (schema.columns().len() == 3).then(|| Cell::Bytes(index.to_string().into_bytes()));
    let row = Row::Cells(note.into_iter().chain(numbers.map(Cell::Unsigned)).collect());
    let opening = if schema.is_inline() { vec![] } else { schema.elements(&row).unwrap() };
    Case { index, value: schema.value(&row).unwrap(), opening }
}

fn score(hashed: bool) -> Score {
    let first = hashed.into();
    Score::new(schema(hashed), vec![(first, 3), (first + 1, 40)]).unwrap()
}

#[test]
fn the_circuits_equal_the_code() {
    for hashed in [true, false] {
        let (app, schema) = (score(hashed), schema(hashed));
        let numbers = [[5, 2], [0, 0], [(1 << 20) - 1, 0], [7, 1], [9, 1 << 10], [5, 2]];
        let cases: Vec<Case> = numbers.into_iter().zip(0..).map(|(n, i)| case(&schema, i * i, n)).collect();
        check(&app, &cases);
        assert_eq!(app.map(&cases[0].leaf()).unwrap(), [1, 95, 95].map(Goldilocks::new));
    }
}

#[test]
fn numbers_out_of_range_are_refused_on_both_sides() {
    for hashed in [true, false] {
        let (app, schema) = (score(hashed), schema(hashed));
        for numbers in [[1 << 20, 0], [0, 1 << 20], [(1 << 62) + 1, 0], [0, (1 << 20) - 1]] {
            refuses_leaf(&app, &case(&schema, 3, numbers));
        }
    }
    // A row of another slot.
    let mut stolen = case(&schema(true), 3, [5, 2]);
    stolen.value = case(&schema(true), 4, [5, 2]).value;
    refuses_leaf(&score(true), &stolen);
    let short = Leaf { index: 3, value: stolen.value, opening: &stolen.opening[1..] };
    assert!(matches!(score(true).map(&short), Err(MapReduceError::OpeningLength { .. })));
}

#[test]
fn parameters_have_one_form() {
    let catalog = Catalog::standard().with(Scores).unwrap();
    let parse = |text| catalog.parse("score", text, &schema(true));
    let app = parse("defects=40,units=3").unwrap();
    assert_eq!(app.id(), score(true).id());
    assert_eq!(app.id(), parse("units=3,defects=40").unwrap().id());
    assert_ne!(app.id(), parse("units=3,defects=41").unwrap().id());
    for text in ["", "units", "units=0", "units=1048576", "units=x", "note=1", "Units=1", "units=1,units=2"] {
        assert!(matches!(parse(text), Err(CatalogError::Text { .. })), "{text:?}");
    }
    let bytes = app.parameters();
    let made = |parameters: Vec<u8>| catalog.make(&AppSpec { name: "score".into(), parameters });
    assert!(made(bytes.clone()).is_ok());
    // Truncated parameters, and columns in another order.
    for end in 0..bytes.len() {
        assert!(matches!(made(bytes[..end].to_vec()), Err(CatalogError::Parameters { .. })), "{end} bytes");
    }
    let turned = [&bytes[..1], &bytes[7..13], &bytes[1..7], &bytes[13..]].concat();
    assert!(made(turned).err().unwrap().to_string().contains("canonical"));
}
