//! Applications by their names, and applications of other programs.

use std::sync::Arc;

use evergrove::apps::catalog::{Catalog, Kind, KindError};
use evergrove::apps::samples::Tally;
use evergrove::apps::tables::Circuits;
use evergrove::apps::{Leaf, MapReduce, MapReduceError};
use evergrove::commit::schema::Schema;
use evergrove::primitives::Goldilocks;
use evergrove::proof::Scheme;
use evergrove::{Config, Store};

use crate::world::World;

/// A [`Tally`] that another program has registered as `mine`, and its kind.
struct Mine(Tally);

impl MapReduce for Mine {
    fn name(&self) -> &str {
        "mine"
    }
    fn parameters(&self) -> Vec<u8> {
        self.0.parameters()
    }
    fn opening_len(&self) -> usize {
        0
    }
    fn output_len(&self) -> usize {
        2
    }
    fn identity(&self) -> Vec<Goldilocks> {
        self.0.identity()
    }
    fn map(&self, leaf: &Leaf<'_>) -> Result<Vec<Goldilocks>, MapReduceError> {
        self.0.map(leaf)
    }
    fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, MapReduceError> {
        MapReduce::reduce(&self.0, left, right)
    }
    fn is_commutative(&self) -> bool {
        true
    }
    fn on_tables(&self) -> Option<&dyn Circuits> {
        self.0.on_tables()
    }
}

impl Kind for Mine {
    fn name(&self) -> &str {
        "mine"
    }
    fn help(&self) -> &str {
        "a tally"
    }
    fn make(&self, parameters: &[u8]) -> Result<Arc<dyn MapReduce>, KindError> {
        Ok(Arc::new(Self(Tally::from_parameters(parameters)?)))
    }
    fn parse(&self, _: &str, _: &Schema) -> Result<Arc<dyn MapReduce>, KindError> {
        self.make(&[20])
    }
}

fn numbers() -> World {
    let world = World::new();
    world.write("t.csv", "e0,e1,e2,e3\n1,2,3,4\n5,6,7,8\n9,0,0,1\n");
    world.write("raw.toml", "raw = true\n");
    world.json(&["commit", "--store", "s", "--input", "t.csv", "--schema", "raw.toml"]);
    world
}

#[test]
fn a_store_with_an_application_of_another_program_says_so() {
    let world = numbers();
    let catalog = Catalog::standard().with(Mine(Tally::new(20))).unwrap();
    let app: Arc<dyn MapReduce> = Arc::new(Mine(Tally::new(20)));
    // A store refuses an application that it could not open again.
    let mut store = Store::open(world.path("s")).unwrap();
    assert!(store.prove_app("m", app.clone().into(), Scheme::Selected, &[0, 2]).is_err());
    drop(store);
    let mut store = Store::open_with(world.path("s"), &Config { catalog, ..Config::default() }).unwrap();
    store.prove_app("m", app.into(), Scheme::Selected, &[0, 2]).unwrap();
    drop(store);

    for args in [
        &["prove", "--store", "s", "--batch", "m"][..],
        &["update", "--store", "s", "--set", "1=7,7,7,7"],
        &["doctor", "--store", "s"],
        &["serve", "--store", "s", "--no-token"],
        &["migrate", "--store", "s", "--to", "new"],
    ] {
        let said = world.fails(2, args);
        let error = "error: unknown application \"mine\" (known: aggregate, bls-keys, sequence, tally)\n";
        let help = "help: run the program that registers this application, or choose one of these\n";
        assert!(said.ends_with(&format!("{error}{help}")), "{args:?}: {said}");
    }
    let status = world.run(&["status", "--store", "s"]);
    assert!(
        status.out.contains("  m: 2 members from 0 to 2, mine evergrove1-selected grove grove-100, fresh"),
        "{status:?}"
    );
}

/// The command that proves an application as batch `b`.
fn prove<'a>(name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args = ["app", "prove", name, "--store", "s", "--batch", "b", "--out", "b.proof"];
    [&args[..], more].concat()
}

#[test]
fn samples_are_proven_and_verified_by_their_names() {
    let world = numbers();
    let list = world.run(&["app", "list"]);
    assert!(list.out.contains("tally      sample: number of rows"), "{}", list.out);
    let root = world.commitment();
    let verify = |name, over: &[&str]| {
        let args = ["app", "verify", name, "--proof", "b.proof", "--root", &root, "--format", "json"];
        world.run(&[&args[..], over].concat())
    };
    let text = world.run(&prove("tally", &["--parameters", "20", "--indices", "0,2"]));
    assert!(text.code == 0 && text.out.lines().any(|l| l.starts_with("output ") && l.ends_with("  2 10")), "{text:?}");
    world.write("rows.csv", "index,e0,e1,e2,e3\n0,1,2,3,4\n2,9,0,0,1\n");
    let accepted = verify("tally", &["--parameters", "20", "--leaves", "rows.csv"]);
    assert!(accepted.code == 0 && accepted.out.contains(r#""output":["2","10"]"#), "{accepted:?}");
    assert_eq!(verify("tally", &["--parameters", "21", "--leaves", "rows.csv"]).code, 1);
    assert_eq!(verify("tally", &["--parameters", "20"]).code, 2, "over which rows?");

    assert_eq!(world.run(&["batches", "--store", "s", "--drop", "b"]).code, 0);
    let said = world.fails(2, &prove("sequence", &["--indices", "0,2"]));
    assert!(said.contains("error: sequence depends on the order of rows") && said.contains("--all"), "{said}");
    world.json(&prove("sequence", &["--all"]));
    assert_eq!(verify("sequence", &["--all"]).code, 0);
    let said = world.fails(2, &prove("tally", &["--parameters", "24", "--all"]));
    assert!(
        said.contains("error: invalid parameters \"24\" of application \"tally\": ") && said.contains("help: "),
        "{said}"
    );
}
