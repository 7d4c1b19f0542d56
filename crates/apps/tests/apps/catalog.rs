//! Catalogs with kinds of other crates, and applications whose only circuits are on tables.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use evergrove_apps::catalog::{Application, Catalog, CatalogError, CircuitsError, Kind, KindError};
use evergrove_apps::digest_translation::{DigestTranslation, Format};
use evergrove_apps::laws::{Case, check, refuses_leaf};
use evergrove_apps::samples::Tally;
use evergrove_apps::tables::Circuits;
use evergrove_apps::{Leaf, MapReduce, MapReduceError};
use evergrove_commit::schema::Schema;
use evergrove_primitives::Goldilocks;
use evergrove_verifier::{AppSpec, HeightClass, Profile, Scheme};

/// A [`Tally`] with another name, and circuits on tables only. Its code adds `wrong` to a sum.
struct Count {
    tally: Tally,
    wrong: u64,
}

impl MapReduce for Count {
    fn name(&self) -> &str {
        "count"
    }
    fn parameters(&self) -> Vec<u8> {
        self.tally.parameters()
    }
    fn opening_len(&self) -> usize {
        0
    }
    fn output_len(&self) -> usize {
        2
    }
    fn identity(&self) -> Vec<Goldilocks> {
        self.tally.identity()
    }
    fn map(&self, leaf: &Leaf<'_>) -> Result<Vec<Goldilocks>, MapReduceError> {
        let mut out = self.tally.map(leaf)?;
        out[1] += Goldilocks::new(self.wrong);
        Ok(out)
    }
    fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, MapReduceError> {
        MapReduce::reduce(&self.tally, left, right)
    }
    fn is_commutative(&self) -> bool {
        true
    }
    fn on_tables(&self) -> Option<&dyn Circuits> {
        Some(&self.tally)
    }
}

/// The kind of [`Count`] with this name. Its applications drop the highest bit of a parameter.
struct Counts(&'static str);

impl Kind for Counts {
    fn name(&self) -> &str {
        self.0
    }
    fn help(&self) -> &str {
        "rows"
    }
    fn make(&self, parameters: &[u8]) -> Result<Arc<dyn MapReduce>, KindError> {
        let plain: Vec<u8> = parameters.iter().map(|b| b & 0x7f).collect();
        Ok(Arc::new(Count { tally: Tally::from_parameters(&plain)?, wrong: 0 }))
    }
    fn parse(&self, text: &str, _: &Schema) -> Result<Arc<dyn MapReduce>, KindError> {
        self.make(&[text.len() as u8])
    }
}

fn spec(name: &str, parameters: &[u8]) -> AppSpec {
    AppSpec { name: name.into(), parameters: parameters.to_vec() }
}

#[test]
fn a_kind_of_others_is_made_by_name_and_canonical_parameters() {
    let catalog = Catalog::standard().with(Counts("count")).unwrap();
    let app = catalog.make(&spec("count", &[20])).unwrap();
    assert_eq!((app.spec(), app.profiles()), (spec("count", &[20]), Profile::GROVE.to_vec()));
    assert_eq!(catalog.parse("count", "two", &Schema::raw()).unwrap().parameters(), [3]);
    let reason = |spec| catalog.make(&spec).err().unwrap().to_string();
    assert!(reason(spec("count", &[0x80 | 20])).contains("canonical"));
    assert!(reason(spec("count", &[])).starts_with("invalid parameters of application \"count\""));
    let text = catalog.parse("count", "", &Schema::raw()).err().unwrap();
    assert!(matches!(&text, CatalogError::Text { text, .. } if text.is_empty()), "{text}");

    let unknown = Catalog::standard().make(&spec("count", &[20])).err().unwrap().to_string();
    assert_eq!(unknown, "unknown application \"count\" (known: aggregate, bls-keys, sequence, tally)");
    assert!(catalog.make(&DigestTranslation::default().spec()).is_ok());
    let format = "openzeppelin-js(address,uint256)".parse().unwrap();
    let translation = DigestTranslation::new(format).of_height(5).unwrap();
    assert_eq!(catalog.make(&translation.spec()).unwrap().spec(), translation.spec());
}

#[test]
fn names_are_checked() {
    for taken in ["tally", "aggregate", DigestTranslation::NAME] {
        let error = Catalog::standard().with(Counts(taken)).unwrap_err();
        assert_eq!(error, CatalogError::Taken(taken.into()));
    }
    let twice = Catalog::standard().with(Counts("count")).unwrap().with(Counts("count"));
    assert_eq!(twice.unwrap_err(), CatalogError::Taken("count".into()));
    for wrong in ["", "Count", "a b", "0123456789012345678901234567890123"] {
        assert_eq!(Catalog::standard().with(Counts(wrong)).unwrap_err(), CatalogError::Name(wrong.into()));
    }
    // The name of the kind differs from that of its applications.
    let other = Catalog::standard().with(Counts("other")).unwrap();
    assert!(matches!(other.make(&spec("other", &[20])), Err(CatalogError::Parameters { .. })));
}

#[test]
fn the_standard_kinds_read_what_people_write() {
    let (catalog, raw) = (Catalog::standard(), Schema::raw());
    assert_eq!(catalog.parse("tally", "20", &raw).unwrap().id(), Tally::new(20).id());
    assert!(catalog.parse("sequence", "", &raw).is_ok());
    for (name, text) in [("tally", "24"), ("tally", "x"), ("sequence", "1"), ("bls-keys", ""), ("aggregate", "SELECT")]
    {
        let error = catalog.parse(name, text, &raw).err().unwrap_or_else(|| panic!("{name} {text}"));
        assert!(matches!(error, CatalogError::Text { .. }), "{name} {text}: {error}");
    }
    for name in [DigestTranslation::NAME, "count"] {
        assert!(matches!(catalog.parse(name, "", &raw), Err(CatalogError::Unknown { .. })));
    }
    assert!(catalog.kinds().all(|kind| !kind.help().contains('\n')));
}

#[test]
fn profiles_of_another_backend_are_errors() {
    let app: Arc<dyn MapReduce> = Arc::new(Count { tally: Tally::new(20), wrong: 0 });
    let (app, scheme, class) = (Application::from(app), Scheme::Selected, HeightClass::H27);
    for profile in Profile::PLONKY2 {
        let error = app.circuits(scheme, profile, class).err().unwrap();
        let expected = CircuitsError::Profile { app: "count".into(), profile, known: Profile::GROVE.to_vec() };
        assert_eq!(error, expected);
        assert!(app.check_profile(profile, vec![profile]).is_ok(), "another proof system may have it");
    }
    assert!(app.circuits(scheme, Profile::Grove100, class).is_ok());
}

#[test]
fn laws_hold_code_against_circuits_on_tables_alone() {
    let case = |index: u64, x: u64| Case { index, value: [Goldilocks::new(x); 4], opening: vec![] };
    let cases: Vec<Case> = (0..5).map(|i| case(i, i * i)).collect();
    let count = |wrong| Count { tally: Tally::new(20), wrong };
    check(&count(0), &cases);
    refuses_leaf(&count(0), &case(0, 1 << 20));
    assert!(catch_unwind(AssertUnwindSafe(|| check(&count(1), &cases))).is_err());
}

/// Parameters of digest translation have a canonical text, and those of the plain tree are the parameters of earlier
/// versions.
#[test]
fn formats_of_digest_translation_have_one_text() {
    assert_eq!(DigestTranslation::default().spec().parameters, b"\x07keccak-256");
    for text in ["keccak-256", "openzeppelin(address,uint256)", "openzeppelin-js(bool)"] {
        let format: Format = text.parse().unwrap();
        assert_eq!(format.to_string(), text);
        let app = DigestTranslation::new(format);
        assert_eq!(app.spec().parameters, [b"\x07", text.as_bytes()].concat());
        assert_eq!(DigestTranslation::from_parameters(&app.spec().parameters), Some(app));
    }
    let many = format!("openzeppelin({})", ["bool"; 17].join(","));
    for (bad, what) in [
        ("keccak", "unknown format \"keccak\": write keccak-256, "),
        ("openzeppelin", "unknown format "),
        ("openzeppelin()", "unknown ABI type \"\": choose "),
        ("openzeppelin(address, uint256)", "unknown ABI type \" uint256\": choose "),
        ("openzeppelin(uint)", "unknown ABI type \"uint\": choose "),
        ("openzeppelin(bool,)", "unknown ABI type \"\": choose "),
        ("keccak-256(bool)", "unknown format "),
        (&many, "rows of 17 columns have no proof to OpenZeppelin's tree: commit a table of 1 to 16 columns"),
    ] {
        let error = bad.parse::<Format>().unwrap_err().to_string();
        assert!(error.starts_with(what), "{error}");
        assert_eq!(DigestTranslation::from_parameters(&[b"\x07", bad.as_bytes()].concat()), None);
    }
    let app = Application::from(DigestTranslation::new("openzeppelin(bool)".parse().unwrap()));
    let refused = app.circuits(Scheme::Tree, Profile::Proven, HeightClass::H27).err().unwrap().to_string();
    let expected =
        "digest-translation to openzeppelin(bool) has no circuits for profile proven (known: grove-100, grove-128)";
    assert_eq!(refused, expected);
}
