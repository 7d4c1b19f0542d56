//! Answers to queries: proven, refreshed, verified and refused. The proofs are real, of `grove-100` and with the
//! parameters of `paper`.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::world::{Run, World};

const SQL: &str = "SELECT COUNT(*), SUM(age), MAX(amount) FROM t WHERE age >= 20";

fn answer(object: &serde_json::Value) -> Vec<String> {
    let values = object["answer"].as_array().unwrap();
    values
        .iter()
        .map(|v| format!("{}={}", v["name"].as_str().unwrap(), v["value"].as_str().unwrap_or("NULL")))
        .collect()
}

#[test]
fn an_answer_is_proven_refreshed_and_verified() {
    refreshed(&[], &[]);
}

/// With the circuits of Plonky2, as in version 0.1.
#[test]
fn an_answer_with_the_parameters_of_paper_is_proven_refreshed_and_verified() {
    refreshed(&["--profile", "paper"], &["--allow-profile", "paper"]);
}

/// One key file serves different queries, and the program pins its digest.
#[test]
fn an_answer_by_circuits_with_pinned_keys_needs_no_digest() {
    let world = World::with_table();
    let sql = "SELECT AVG(age), MIN(amount) FROM t WHERE age BETWEEN 20 AND 60 OR amount IS NULL";
    let proven =
        world.json(&["app", "aggregate", "--store", "s", "--sql", sql, "--name", "a", "--pinned", "--out", "a.proof"]);
    let own = world.json(&["app", "aggregate", "--store", "s", "--sql", sql, "--name", "b", "--out", "b.proof"]);
    assert_eq!(answer(&proven), answer(&own));
    let root = proven["commitment"].as_str().unwrap();
    let export = [
        "keys",
        "export",
        "aggregate",
        "--pinned",
        "--schema",
        "schema.toml",
        "--all",
        "--root",
        root,
        "--out",
        "a.key",
    ];
    let key = world.json(&[&export[..], &["--parameters", SQL]].concat());
    assert_eq!(key["pinned"].as_bool(), Some(true));
    let pinned = world.run(&["keys", "pinned"]).out;
    assert!(pinned.contains(key["circuits_digest"].as_str().unwrap()) && pinned.lines().count() == 40, "{pinned}");

    let verify = |proof: &str, sql: &str, more: &[&str]| {
        let args =
            ["app", "verify-aggregate", "--proof", proof, "--schema", "schema.toml", "--root", root, "--sql", sql];
        world.run(&[&args[..], more, &["--format", "json"]].concat())
    };
    let mut unpacked = Vec::new();
    GzDecoder::new(world.read("a.key").as_slice()).read_to_end(&mut unpacked).unwrap();
    assert!(10 * key["bytes"].as_u64().unwrap() < unpacked.len() as u64, "{} of {}", key["bytes"], unpacked.len());
    world.write("unpacked.key", unpacked);
    for more in [&[][..], &["--key-file", "a.key"], &["--key-file", "unpacked.key"]] {
        let accepted = verify("a.proof", sql, more);
        assert_eq!(accepted.code, 0, "{}", accepted.err);
        let accepted: serde_json::Value = serde_json::from_str(&accepted.out).unwrap();
        assert_eq!((answer(&accepted), accepted["pinned"].as_bool()), (answer(&proven), Some(true)));
    }
    let other = verify("a.proof", &sql.replace("60", "61"), &["--key-file", "a.key"]);
    assert_eq!(other.code, 1, "{}", other.err);
    let unpinned = verify("b.proof", sql, &["--key-file", "a.key"]);
    assert_eq!(unpinned.code, 2, "{}", unpinned.err);
    assert!(unpinned.err.contains("--key-file: the key of these circuits is not pinned"), "{}", unpinned.err);
    let products = world.run(&["app", "aggregate", "--store", "s", "--sql", "SELECT VAR_POP(age) FROM t", "--pinned"]);
    assert_eq!(products.code, 2);
    assert!(products.err.contains("--pinned: circuits with pinned keys know COUNT"), "{}", products.err);

    world.json(&["update", "--store", "s", "--set", "0=age=99"]);
    let again = world.json(&["app", "aggregate", "--store", "s", "--sql", sql, "--name", "a", "--pinned"]);
    assert_eq!(again["proofs_made"].as_u64(), Some(0));
}

/// The prover finds the groups, and the verifier checks them: it notices a missing group.
#[test]
fn an_answer_by_groups_has_all_of_them() {
    let world = World::with_table();
    let sql = "SELECT age, COUNT(*), SUM(amount) AS total FROM t WHERE age BETWEEN 20 AND 24 GROUP BY age";
    let prove =
        ["app", "aggregate", "--store", "s", "--sql", sql, "--name", "a", "--out", "a.proof", "--groups-out", "groups"];
    let proven = world.json(&prove);
    let root = proven["commitment"].as_str().unwrap();
    let groups = proven["groups"].as_array().unwrap();
    assert!(groups.len() > 1 && proven["answer"].as_array().unwrap().is_empty());
    let verify = |file: &[&str]| {
        let args =
            ["app", "verify-aggregate", "--proof", "a.proof", "--schema", "schema.toml", "--root", root, "--sql", sql];
        world.run(&[&args[..], file, &["--format", "json"]].concat())
    };
    let accepted = verify(&["--groups", "groups"]);
    assert_eq!(accepted.code, 0, "{}", accepted.err);
    let accepted: serde_json::Value = serde_json::from_str(&accepted.out).unwrap();
    assert_eq!(accepted["groups"], proven["groups"]);
    assert_eq!(verify(&[]).code, 2);

    // With another list of groups the proof is refused. A list that lacks a group is refused before proving.
    let text = std::fs::read_to_string(world.path("groups")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let has = |line: &&&str| groups.iter().any(|g| line.contains(&format!(":{}", g["key"]["age"])));
    let counted = *lines.iter().find(has).unwrap();
    let fewer: Vec<&str> = lines.iter().copied().filter(|line| *line != counted).collect();
    std::fs::write(world.path("fewer"), fewer.join("\n")).unwrap();
    assert_eq!(verify(&["--groups", "fewer"]).code, 1);
    let refused = world.run(&["app", "aggregate", "--store", "s", "--sql", sql, "--name", "b", "--groups", "fewer"]);
    assert!(refused.code != 0 && refused.err.contains("--groups: the group age "), "{}", refused.err);
    std::fs::write(world.path("twice"), format!("{text}\n{counted}")).unwrap();
    assert_eq!(verify(&["--groups", "twice"]).code, 2);
}

/// Column types are inferred from a csv file, a column that stays bytes gets the reason, and groups of dates are proven
/// and verified.
#[test]
fn dates_and_truth_values_are_found_and_queried() {
    let world = World::new();
    let csv = "id,paid,day,key,note\n\
               1,true,2024-02-29,00112233-4455-6677-8899-aabbccddeeff,5\n\
               2,false,2023-12-31,00112233-4455-6677-8899-aabbccddeeff,6\n\
               3,,2024-03-01,,n/a\n";
    std::fs::write(world.path("t.csv"), csv).unwrap();
    let committed = world.json(&["commit", "--store", "s", "--input", "t.csv"]);
    let kinds = committed["schema"]["column"].as_array().unwrap().iter().map(|c| c["type"].as_str().unwrap());
    assert_eq!(kinds.collect::<Vec<_>>(), ["unsigned", "boolean", "date", "uuid", "bytes"]);
    assert_eq!(committed["untyped"], serde_json::json!([{ "column": "note", "line": 4, "cell": "n/a" }]));
    let root = committed["commitment"].as_str().unwrap();
    let opened = world.json(&["open", "--store", "s", "0"]);
    assert_eq!(opened["row"]["paid"], true);
    assert_eq!(opened["row"]["day"], "2024-02-29");
    world.json(&["export", "--store", "s", "--schema", "schema.toml", "--table", "again.csv"]);
    let again = std::fs::read_to_string(world.path("again.csv")).unwrap();
    assert!(again.contains("\n0,1,true,2024-02-29,00112233-4455-6677-8899-aabbccddeeff,5\n"), "{again}");

    let sql = "SELECT EXTRACT(YEAR FROM day), COUNT(*) FILTER (WHERE NOT paid), MAX(day) FROM t GROUP BY EXTRACT(YEAR FROM day)";
    let prove =
        ["app", "aggregate", "--store", "s", "--sql", sql, "--name", "a", "--out", "a.proof", "--groups-out", "groups"];
    let proven = world.json(&prove);
    let groups = std::fs::read_to_string(world.path("groups")).unwrap();
    assert_eq!(groups, "{\"EXTRACT(YEAR FROM day)\":\"2024\"}\n{\"EXTRACT(YEAR FROM day)\":\"2023\"}\n");
    let verify =
        ["app", "verify-aggregate", "--proof", "a.proof", "--schema", "schema.toml", "--root", root, "--sql", sql];
    let accepted = world.json(&[&verify[..], &["--groups", "groups"]].concat());
    assert_eq!(accepted["groups"], proven["groups"]);
    assert_eq!(accepted["groups"][0]["key"]["EXTRACT(YEAR FROM day)"], "2023");
    assert_eq!(accepted["groups"][0]["answer"][1]["value"], "2023-12-31");
    let wrong = world.run(&["update", "--store", "s", "--set", "1=day=2023-02-29"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("\"2023-02-29\" is not of type date: the month has no such day"), "{}", wrong.err);
    assert_eq!(world.run(&["update", "--store", "s", "--set", "1=day=2023-02-28,paid=true"]).code, 0);
}

/// The file of groups also has the values that `DISTINCT` counts. The verifier notices a missing value.
#[test]
fn different_values_are_counted_by_a_verifier_with_groups() {
    let world = World::with_table();
    let sql =
        "SELECT COUNT(DISTINCT age), ROUND(100.0 * SUM(amount) / COUNT(*), 1) FROM t WHERE age * 2 BETWEEN 40 AND 48";
    let proven = world.json(&[
        "app",
        "aggregate",
        "--store",
        "s",
        "--sql",
        sql,
        "--name",
        "a",
        "--out",
        "a.proof",
        "--groups-out",
        "groups",
    ]);
    let root = proven["commitment"].as_str().unwrap();
    let verify = |sql: &str, more: &[&str]| {
        let args =
            ["app", "verify-aggregate", "--proof", "a.proof", "--schema", "schema.toml", "--root", root, "--sql", sql];
        world.run(&[&args[..], more, &["--format", "json"]].concat())
    };
    let accepted = verify(sql, &["--groups", "groups"]);
    assert_eq!(accepted.code, 0, "{}", accepted.err);
    let accepted: serde_json::Value = serde_json::from_str(&accepted.out).unwrap();
    assert_eq!(answer(&accepted), answer(&proven));
    let missing = verify(sql, &[]);
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("the query has GROUP BY, DISTINCT or LIKE"), "{}", missing.err);
    let text = std::fs::read_to_string(world.path("groups")).unwrap();
    std::fs::write(world.path("fewer"), text.split_once('\n').unwrap().1).unwrap();
    assert_eq!(verify(sql, &["--groups", "fewer"]).code, 1);
    let unneeded = verify("SELECT COUNT(*) FROM t", &["--groups", "groups"]);
    assert!(unneeded.code == 2 && unneeded.err.contains("--groups: the query has no GROUP BY"), "{}", unneeded.err);
    let refused = world.run(&["app", "aggregate", "--store", "s", "--sql", sql, "--name", "b", "--groups", "fewer"]);
    assert!(refused.code != 0 && refused.err.contains("--groups: the group age "), "{}", refused.err);
}

fn refreshed(paper: &[&str], allow: &[&str]) {
    let world = World::with_table();
    let dry = world.json(&[&["app", "aggregate", "--store", "s", "--sql", SQL, "--dry-run"], paper].concat());
    assert!(dry["proofs_to_make"].as_u64().unwrap() >= 1 && dry["seconds"].as_f64().unwrap() > 0.0);

    let prove = ["app", "aggregate", "--store", "s", "--sql", SQL, "--name", "a", "--out", "a.proof"];
    let proven = world.json(&[&prove[..], paper].concat());
    let before = answer(&proven);
    let root = proven["commitment"].as_str().unwrap().to_owned();
    let verify = |root: &str, sql: &str, more: &[&str]| {
        let args =
            ["app", "verify-aggregate", "--proof", "a.proof", "--schema", "schema.toml", "--root", root, "--sql", sql];
        world.run(&[&args[..], more, &["--format", "json"]].concat())
    };
    let accepted = verify(&root, SQL, allow);
    assert_eq!(accepted.code, 0, "{}", accepted.err);
    let accepted: serde_json::Value = serde_json::from_str(&accepted.out).unwrap();
    assert_eq!((answer(&accepted), accepted["over"].as_str()), (before.clone(), Some("all rows of the table")));

    if paper.is_empty() {
        let export =
            ["keys", "export", "aggregate", "--schema", "schema.toml", "--all", "--root", &root, "--out", "a.key"];
        let key = world.json(&[&export[..], &["--parameters", &SQL.replace("20", "30")]].concat());
        without_the_program(&world, &root, &world.json(&[&export[..], &["--parameters", SQL]].concat()), &before);
        let digest = key["key_digest"].as_str().unwrap();
        let by_key = ["--key-file", "a.key", "--key-digest", digest];
        assert_eq!(verify(&root, SQL, &by_key).code, 0);
        let zeros = "0".repeat(64);
        let refused = verify(&root, SQL, &["--key-file", "a.key", "--key-digest", &zeros]);
        assert_eq!(refused.code, 1, "{}", refused.err);
        assert!(refused.err.contains(digest) && refused.err.contains(&zeros), "{}", refused.err);
    }

    // Another query, another commitment, other rows, and a profile that is not allowed: all are refused.
    let other = SQL.replace("20", "21");
    let digest = "0".repeat(64);
    let (head, last) = root.split_at(root.len() - 1);
    let other_root = format!("{head}{}", if last == "0" { 1 } else { 0 });
    let with_digest = [allow, &["--digest", &digest]].concat();
    let mut cases = vec![
        (root.as_str(), other.as_str(), allow),
        (other_root.as_str(), SQL, allow),
        (root.as_str(), SQL, &with_digest[..]),
    ];
    if !allow.is_empty() {
        cases.push((root.as_str(), SQL, &[]));
    }
    for (root, sql, more) in cases {
        let refused = verify(root, sql, more);
        assert_eq!(refused.code, 1, "{sql} {more:?}: {}", refused.err);
    }
    let plain = world.run(&[&["verify", "--proof", "a.proof", "--root", &root][..], allow].concat());
    assert_eq!(plain.code, 1, "a plain verification takes no answer for a batch: {}", plain.err);

    let updated = world.json(&["update", "--store", "s", "--set", "0=age=99"]);
    assert_eq!(updated["stale"], serde_json::json!([]));
    let again = world.json(&[&prove[..], paper].concat());
    assert_eq!(again["proofs_made"].as_u64(), Some(0));
    assert_ne!(answer(&again), before);
    let root = again["commitment"].as_str().unwrap();
    assert_eq!(verify(root, SQL, allow).code, 0);

    let mut bytes = world.read("a.proof");
    let at = bytes.len() - 100;
    bytes[at] ^= 1;
    world.write("a.proof", &bytes);
    assert_eq!(verify(root, SQL, allow).code, 1);
}

/// With the values that `keys export` prints, the C library gives the same verdicts on an answer as the command, and
/// also on a batch.
fn without_the_program(world: &World, root: &str, key: &serde_json::Value, answer: &[String]) {
    use evergrove_verify::request::{Next, Request};

    let text = |name: &str| key[name].as_str().unwrap_or_else(|| panic!("{name} in {key}")).to_owned();
    let digest = |text: &str| <[u8; 32]>::try_from(hex::decode(text).expect("hexadecimal")).expect("a digest");
    let verdict = |request: Request, key: &str| -> serde_json::Value {
        let mut request = request;
        if request.check() == Next::Key {
            for piece in world.read(key).chunks(1 << 16) {
                request.key(piece);
            }
        }
        serde_json::from_str(request.finish().json()).expect("an object")
    };
    let application = text("application");
    let (name, parameters) = application.split_once(':').expect("name and digest");
    let inputs: Vec<u64> =
        key["inputs"].as_array().unwrap().iter().map(|x| x.as_str().unwrap().parse().unwrap()).collect();
    let output_len = key["output_len"].as_u64().unwrap() as usize;
    let request = |inputs: &[u64]| {
        let mut request = Request::new(world.read("a.proof"), root.as_bytes());
        request.application(name.as_bytes(), &digest(parameters), Some(inputs), output_len);
        request.key_digest(&digest(&text("circuits_digest")));
        request
    };
    let accepted = verdict(request(&inputs), "a.key");
    assert_eq!(
        (accepted["code"].as_str(), accepted["output"].as_array().map(Vec::len)),
        (Some("accepted"), Some(output_len)),
        "{accepted}, {answer:?}"
    );
    let mut others = inputs.clone();
    others[0] += 1;
    assert_eq!(verdict(request(&others), "a.key")["code"], "refused", "another constant");
    assert_eq!(verdict(Request::new(world.read("a.proof"), root.as_bytes()), "a.key")["code"], "scheme");

    world.json(&["prove", "--store", "s", "--indices", "3,6", "--batch", "rows", "--out", "rows.proof"]);
    world.json(&["export", "--store", "s", "--batch", "rows", "--leaves", "rows.csv"]);
    let exported = world.json(&["keys", "export", "--root", root, "--out", "rows.key"]);
    assert_eq!(exported["bytes"].as_u64(), Some(world.read("rows.key").len() as u64));
    let mut batch = Request::new(world.read("rows.proof"), root.as_bytes());
    batch.rows(evergrove_verify::Format::Csv, &world.read("rows.csv"), Some(&world.read("schema.toml")));
    let accepted = verdict(batch, "rows.key");
    assert_eq!((accepted["code"].as_str(), accepted["rows"].as_u64()), (Some("accepted"), Some(2)), "{accepted}");
    assert_eq!(accepted["key_digest"], exported["key_digest"]);
    assert_eq!(verdict(Request::new(world.read("rows.proof"), root.as_bytes()), "a.key")["code"], "wrong-key");
}

#[test]
fn an_answer_over_chosen_rows_is_verified_with_the_rows() {
    let world = World::with_table();
    let sql = "SELECT COUNT(*), SUM(age) FROM t";
    let mut prove = vec!["app", "aggregate", "--store", "s", "--sql", sql, "--indices", "3,6,12", "--name", "some"];
    prove.extend(["--out", "a.proof", "--profile", "paper"]);
    let proven = world.json(&prove);
    let root = proven["commitment"].as_str().unwrap().to_owned();
    let rows: Vec<String> = world.text("table.csv").lines().map(str::to_owned).collect();
    let write = |name: &str, indices: &[usize]| {
        let chosen: Vec<&str> = indices.iter().map(|i| rows[1 + i / 3].as_str()).collect();
        world.write(name, format!("{}\n{}\n", rows[0], chosen.join("\n")));
    };
    write("right.csv", &[12, 3, 6]);
    write("less.csv", &[3, 6]);
    write("other.csv", &[3, 6, 15]);
    let verify = |more: &[&str]| {
        let mut args =
            vec!["app", "verify-aggregate", "--proof", "a.proof", "--schema", "schema.toml", "--root", &root];
        args.extend(["--sql", sql, "--allow-profile", "paper", "--format", "json"]);
        world.run(&[&args[..], more].concat())
    };
    let accepted = verify(&["--leaves", "right.csv", "--index-column", "id"]);
    assert_eq!(accepted.code, 0, "{}", accepted.err);
    let accepted: serde_json::Value = serde_json::from_str(&accepted.out).unwrap();
    assert_eq!((answer(&accepted), &accepted["leaves"]), (answer(&proven), &serde_json::json!(3)));
    assert_eq!(accepted["canonical_digest"], proven["canonical_digest"]);
    for file in ["less.csv", "other.csv"] {
        let refused = verify(&["--leaves", file, "--index-column", "id"]);
        assert_eq!(refused.code, 1, "{file}: {}", refused.err);
    }
    assert_eq!(verify(&[]).code, 1, "an answer over some rows for one over all");
}

#[test]
fn a_keccak_digest_is_proven_refreshed_and_verified() {
    a_keccak_digest(&[], &[]);
}

#[test]
#[ignore = "apps: a minute, by the circuits of Plonky2"]
fn a_keccak_digest_with_the_parameters_of_paper_is_proven_refreshed_and_verified() {
    a_keccak_digest(&["--profile", "paper"], &["--allow-profile", "paper"]);
}

/// OpenZeppelin's tree in both modes, from the library's rows to its root: proven, verified without a store, updated,
/// and refused if the tree is another one.
#[test]
fn openzeppelin_roots() {
    let all: serde_json::Value =
        serde_json::from_str(include_str!("../../../../vectors/openzeppelin.json")).expect("vectors");
    let case =
        all["cases"].as_array().unwrap().iter().find(|case| case["name"] == "airdrop-address-uint256-7").unwrap();
    let root = case["root"].as_str().unwrap().trim_start_matches("0x");
    let mut csv = String::from("account,amount\n");
    for row in case["values"].as_array().unwrap() {
        csv += &format!("{},{}\n", row[0].as_str().unwrap(), row[1].as_str().unwrap());
    }
    let world = World::new();
    world.write("t.csv", &csv);
    let column = |name, kind| format!("[[column]]\nname = \"{name}\"\ntype = \"{kind}\"\n");
    world.write("abi.toml", &(column("account", "address") + &column("amount", "uint256")));
    world.json(&["commit", "--store", "s", "--input", "t.csv", "--schema", "abi.toml", "--order", "openzeppelin-js"]);
    let prove = |tree: &str, more: &[&str]| {
        let args = ["app", "digest-translation", "--store", "s", "--tree", tree, "--out", "k.proof"];
        world.run(&[&args[..], more, &["--format", "json"]].concat())
    };
    let json = |ran: &Run| -> serde_json::Value {
        assert_eq!(ran.code, 0, "{}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    };
    let proven = json(&prove("openzeppelin-js", &[]));
    assert_eq!((&proven["keccak_digest"], &proven["order"]), (&root.into(), &"openzeppelin-js".into()));
    let types = "openzeppelin-js(address,uint256)";
    assert_eq!(proven["keccak_tree"], types);
    let verify = |tree: &str, keccak: &str| {
        let commitment = world.commitment();
        let args = ["app", "verify-digest-translation", "--proof", "k.proof", "--root", &commitment, "--tree", tree];
        world.run(&[&args[..], &["--keccak", keccak, "--format", "json"]].concat())
    };
    let accepted = json(&verify(types, root));
    assert_eq!((&accepted["keccak_digest"], &accepted["keccak_tree"]), (&root.into(), &types.into()));
    assert!(accepted["bits_unique_decoding"].as_f64().unwrap() >= 100.0, "{accepted}");
    // Another digest, another tree, other types.
    for (tree, keccak) in [
        (types, "00".repeat(32)),
        ("keccak-256", root.into()),
        ("openzeppelin(address,uint256)", root.into()),
        ("openzeppelin-js(address,uint128)", root.into()),
    ] {
        let refused = verify(tree, &keccak);
        assert_eq!(refused.code, 1, "{tree} {}", refused.err);
    }
    assert_eq!(verify("openzeppelin(string)", root).code, 2);
    // Plonky2 has no such circuits.
    let refused = prove("openzeppelin-js", &["--profile", "paper"]);
    assert!(refused.code == 2 && refused.err.contains("has no circuits for profile paper"), "{}", refused.err);

    // After a change of a row, the root is that of the native tree, to which a contract's proof leads, and the leaves
    // are no longer sorted.
    let row = "0=0x00000000000000000000000000000000000000aa,77";
    let updated = world.json(&["update", "--store", "s", "--set", row]);
    assert_eq!(updated["stale"], serde_json::json!([]));
    assert_eq!(verify(types, root).code, 1, "the old proof for the new table");
    let again = json(&prove("openzeppelin-js", &[]));
    assert_eq!((&again["proofs_made"], &again["order"]), (&0.into(), &"openzeppelin-js-unsorted".into()));
    let contract = world.json(&["app", "openzeppelin-proof", "--store", "s", "--row", "0"]);
    let changed = again["keccak_digest"].as_str().unwrap();
    assert_eq!(contract["root"].as_str().unwrap().trim_start_matches("0x"), changed);
    assert_eq!(verify(types, changed).code, 0);
    // If a row is deleted, the library's layout has the other rows at other places. The other mode has fixed slots.
    world.json(&["update", "--store", "s", "--delete", "2"]);
    let refused = prove("openzeppelin-js", &[]);
    assert!(refused.code == 2 && refused.err.contains("--tree openzeppelin"), "{}", refused.err);
    let fixed = json(&prove("openzeppelin", &[]));
    let contract = world.json(&["app", "openzeppelin-proof", "--store", "s", "--row", "0"]);
    assert_eq!(contract["root"].as_str().unwrap().trim_start_matches("0x"), fixed["keccak_digest"]);
    assert_eq!(verify("openzeppelin(address,uint256)", fixed["keccak_digest"].as_str().unwrap()).code, 0);
    // Equal rows.
    world.json(&["update", "--store", "s", "--set", &row.replacen('0', "1", 1)]);
    let refused = prove("openzeppelin", &[]);
    assert!(refused.code == 2 && refused.err.contains("rows 0 and 1 are equal"), "{}", refused.err);
    json(&prove("openzeppelin", &["--allow-duplicates"]));
}

fn a_keccak_digest(profile: &[&str], allow: &[&str]) {
    let world = World::new();
    world.write("t.csv", "e0,e1,e2,e3\n1,2,3,4\n5,6,7,8\n18446744069414584320,0,0,4294967295\n");
    world.write("raw.toml", "raw = true\n");
    world.json(&["commit", "--store", "s", "--input", "t.csv", "--schema", "raw.toml"]);
    let prove = [&["app", "digest-translation", "--store", "s", "--out", "k.proof"], profile].concat();
    let dry = world.json(&[&prove[..], &["--dry-run"]].concat());
    // The profile of Plonky2 has a wrap.
    let proofs = if profile.is_empty() { 1 } else { 2 };
    assert_eq!((dry["proofs_to_make"].as_u64(), dry["buckets"].as_u64()), (Some(proofs), Some(1)), "{dry}");
    let proven = world.json(&prove);
    assert_eq!((&proven["scheme"], &proven["members"]), (&"evergrove1-tree".into(), &3.into()));
    // The tree by definition: a table that is lower than a bucket is extended to the bucket's 2^7 slots.
    let slots = [[1, 2, 3, 4], [5, 6, 7, 8], [18_446_744_069_414_584_320, 0, 0, 4_294_967_295]];
    let digest = |rows: &[[u64; 4]]| {
        let mut slots: Vec<_> = rows.iter().map(|r| Some(r.map(evergrove::primitives::Goldilocks::new))).collect();
        slots.resize(1 << 7, None);
        hex::encode(evergrove::apps::digest_translation::tree::levels(0, &slots).pop().unwrap()[0])
    };
    assert_eq!((proven["keccak_digest"].as_str(), proven["keccak_height"].as_u64()), (Some(&*digest(&slots)), Some(7)));

    let verify = |root: &str, more: &[&str]| {
        let args = ["app", "verify-digest-translation", "--proof", "k.proof", "--root", root];
        world.run(&[&args[..], more, &["--format", "json"]].concat())
    };
    let root = world.commitment();
    let accepted = verify(&root, &[allow, &["--keccak", &digest(&slots)]].concat());
    assert_eq!(accepted.code, 0, "{}", accepted.err);
    let accepted: serde_json::Value = serde_json::from_str(&accepted.out).unwrap();
    assert_eq!(accepted["keccak_digest"], proven["keccak_digest"]);
    assert!(accepted["bits_unique_decoding"].as_f64().unwrap() > 30.0);
    let other = "0".repeat(64);
    assert_eq!(verify(&root, &[allow, &["--keccak", &other]].concat()).code, 1);
    if !allow.is_empty() {
        assert_eq!(verify(&root, &[]).code, 1);
    }
    assert_eq!(verify(&root, &[allow, &["--keccak", "12"]].concat()).code, 2);

    let updated = world.json(&["update", "--store", "s", "--set", "0=9,9,9,9"]);
    assert_eq!(updated["stale"], serde_json::json!([]));
    assert_eq!(verify(&world.commitment(), allow).code, 1, "the old proof for the new table");
    let again = world.json(&prove);
    assert_eq!(again["proofs_made"].as_u64(), Some(0));
    let changed = [[9; 4], slots[1], slots[2]];
    assert_eq!(again["keccak_digest"].as_str(), Some(&*digest(&changed)));
    assert_eq!(verify(&world.commitment(), allow).code, 0);
}
