//! Mistakes are errors that name the value, and leave the store unchanged.

use evergrove::prelude::*;

use crate::{native, table};

#[test]
fn unknown_columns_are_named() {
    let says = table().rows_where(|row| row["cost"] == 1 || row["prize"] == 2).unwrap_err().to_string();
    assert_eq!(says, "unknown column \"cost\" (known: name, price, stock)");
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create_with(dir.path(), &table(), &native()).unwrap();
    let error = store.update(Changes::new().set(0, "Price", 1)).unwrap_err();
    assert!(matches!(&error, Error::UnknownColumn { name, .. } if name == "Price"), "{error}");
}

#[test]
fn changes_that_do_not_fit_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create_with(dir.path(), &table(), &native()).unwrap();
    let before = store.epoch().unwrap();
    let row = || [Value::from("x"), Value::from(1), Value::Null];
    let cases = [
        (Changes::new().set(0, "price", "cheap"), "price"),
        (Changes::new().set(0, "price", "0.005"), "price"),
        (Changes::new().set(0, "stock", -1), "stock"),
        (Changes::new().set(0, "name", 5), "name"),
        (Changes::new().set(0, "name", None::<&str>), "name"),
        (Changes::new().set(12, "stock", 5), "12"),
        (Changes::new().set(99, "stock", 5), "99"),
        (Changes::new().set(0, "stock", 5).set_row(0, row()), "row 0"),
        (Changes::new().set(1, "stock", 5).set_row(0, row()[..2].to_vec()), "row 0"),
        (Changes::new().set(0, "stock", 5).delete([0]), "0"),
        (Changes::new().join("none", [0]), "none"),
    ];
    for (changes, named) in cases {
        let error = store.update(changes.clone()).expect_err(&format!("{changes:?}"));
        assert!(error.to_string().contains(named), "{error}");
        assert_eq!(error.class(), ErrorClass::Usage, "{error}");
        assert!(!error.to_string().contains("--"), "{error}");
    }
    assert_eq!(store.epoch().unwrap(), before);
}

#[test]
fn a_file_in_the_place_of_keys_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let config = Config { keys: Some(file.join("keys")), ..native() };
    let error = Store::create_with(dir.path().join("db"), &table(), &config).unwrap_err();
    assert!(matches!(&error, Error::KeysDirectory { file: found, .. } if *found == file), "{error}");
    assert!(!dir.path().join("db").exists());
}

#[test]
fn memory_that_is_too_small_is_refused_before_proving() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config { max_memory: Some(1 << 20), ..native() };
    let mut store = Store::create_with(dir.path(), &table(), &config).unwrap();
    assert!(matches!(store.prove("b", &[0]), Err(Error::Memory { limit, .. }) if limit == 1 << 20));
    assert!(store.batches().unwrap().is_empty());
}

#[test]
fn errors_of_the_layers_become_errors_of_the_facade() {
    fn commitment(text: &str) -> Result<Commitment, Error> {
        Ok(text.parse()?)
    }
    fn config(backend: &str, profile: &str) -> Result<Config, Error> {
        Ok(Config { backend: backend.parse()?, profile: profile.parse()?, ..Config::default() })
    }
    fn opens(opening: &Opening, commitment: &Commitment) -> Result<(), Error> {
        Ok(opening.verify(commitment)?)
    }
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create_with(dir.path(), &table(), &native()).unwrap();
    let (before, opening) = (store.commitment().unwrap(), store.opening(3).unwrap());
    opens(&opening, &before).unwrap();
    store.update(Changes::new().set(3, "name", "other")).unwrap();
    let cases = [
        (commitment("evergrove2:4:00").unwrap_err(), "evergrove2", "usage"),
        (config("snark", "proven").unwrap_err(), "snark", "usage"),
        (config("native", "fast").unwrap_err(), "fast", "usage"),
        (opens(&opening, &store.commitment().unwrap()).unwrap_err(), "slot 3", "refused"),
        (Schema::from_toml("columns").map_err(Error::from).unwrap_err(), "TOML", "usage"),
        (Store::create(dir.path(), &table()).unwrap_err(), "already", "store"),
    ];
    for (error, named, class) in cases {
        assert!(error.to_string().contains(named), "{error}");
        assert_eq!(error.class().to_string(), class, "{error}");
    }
    assert_eq!(commitment(&before.to_string()).unwrap(), before);
    assert_eq!([ErrorClass::Proving, ErrorClass::Io].map(|c| c.to_string()), ["proving", "io"]);
}

#[test]
fn secrets_are_not_shown() {
    let mut config = Config::default();
    config.environment.redis_password = Some("hunter2".into());
    config.environment.serve_token = Some("hunter2".into());
    config.environment.variables.push(("AWS_SECRET_ACCESS_KEY".into(), "hunter2".into()));
    assert!(!format!("{config:?} {:?}", config.environment).contains("hunter2"));
}

#[test]
fn proofs_of_any_bytes_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create_with(dir.path(), &table(), &native()).unwrap();
    store.prove("b", &[0, 5]).unwrap();
    let (proof, commitment, rows) = (store.proof("b").unwrap(), store.commitment().unwrap(), store.rows("b").unwrap());
    let verifier = Verifier::default().allow_backend(Backend::Native);
    verifier.verify(&proof, &commitment, &rows).unwrap();
    for end in [0, 1, 40, proof.as_bytes().len() - 1] {
        let cut = Proof::from_bytes(proof.as_bytes()[..end].to_vec());
        assert!(matches!(verifier.verify(&cut, &commitment, &rows), Err(Error::Verify(_))), "{end} bytes");
    }
    for at in 0..proof.as_bytes().len() {
        let mut bytes = proof.as_bytes().to_vec();
        bytes[at] ^= 1;
        assert!(verifier.verify(&Proof::from_bytes(bytes), &commitment, &rows).is_err(), "byte {at}");
    }
    let fewer = Rows::from_csv(
        {
            let path = dir.path().join("fewer.csv");
            std::fs::write(&path, "index,name,price,stock\n0,item 0,0.00,0\n").unwrap();
            path
        },
        store.schema(),
    );
    assert!(matches!(verifier.verify(&proof, &commitment, &fewer.unwrap()), Err(Error::Verify(_))));
}
