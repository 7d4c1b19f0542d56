//! The help texts of the program.

use crate::world::World;

#[test]
fn the_help_of_every_command() {
    let world = World::new();
    let help = |args: &[&str]| {
        let run = world.run(args);
        assert_eq!((run.code, run.err.as_str()), (0, ""));
        run.out
    };
    insta::assert_snapshot!("evergrove", help(&["--help"]));
    for command in [
        "commit",
        "prove",
        "update",
        "open",
        "verify",
        "status",
        "batches",
        "export",
        "inspect",
        "prune",
        "query",
        "migrate",
        "doctor",
        "backup",
        "restore",
        "serve",
        "jobs",
        "app",
        "keys",
        "eth",
        "worker",
        "lab",
        "completions",
        "man",
    ] {
        insta::assert_snapshot!(format!("evergrove_{command}"), help(&[command, "--help"]));
    }
}

#[test]
fn completions_and_manual_pages() {
    let world = World::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = world.run(&["completions", shell]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(run.out.contains("allow-profile"), "{shell}");
    }
    world.json(&["man", "--out", "man/pages"]);
    let page = |name: &str| world.text(&format!("man/pages/{name}"));
    assert!(page("evergrove.1").contains(".TH evergrove 1"));
    assert!(page("evergrove-verify.1").contains("allow"));
}

#[test]
fn the_book_names_every_command_and_flag() {
    let book = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md")).unwrap();
    let world = World::new();
    let listed = world.run(&["--help"]).out;
    let commands = listed.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
    let mut count = 0;
    for command in commands
        .filter_map(|l| l.strip_prefix("  ")?.split_once(' ').map(|(c, _)| c))
        .filter(|c| !c.is_empty())
        .filter(|c| *c != "help")
    {
        assert!(book.contains(&format!("evergrove {command}")), "{command} is not in docs/cli.md");
        let help = world.run(&[command, "--help"]).out;
        let flags =
            help.split_whitespace().filter_map(|w| w.trim_end_matches([',', ']', '.', ';', ':']).strip_prefix("--"));
        for flag in flags.filter(|f| !f.is_empty() && !matches!(*f, "help" | "version")) {
            assert!(book.contains(&format!("--{flag}")), "--{flag} of {command} is not in docs/cli.md");
            count += 1;
        }
    }
    assert!(count > 40);
}

#[test]
fn progress_goes_to_stderr_and_can_be_turned_off() {
    let world = World::with_table();
    let prove = ["prove", "--store", "s", "--batch", "b", "--indices", "0,3", "--backend", "native"];
    let run = world.run(&[&prove[..], &["--format", "json"]].concat());
    assert_eq!(run.err, "batch b: 1 proof to make, 1 in all\n");
    let update = ["update", "--store", "s", "--set", "3=age=1", "--format", "json", "--quiet"];
    assert_eq!(world.run(&update).err, "");
}

#[test]
fn a_watched_tree_is_told_proof_by_proof() {
    let world = World::with_batch();
    world.json(&["update", "--store", "s", "--set", "3=age=77", "--no-prove"]);
    let prove = ["prove", "--store", "s", "--batch", "b", "--format", "json"];
    let run = world.run(&[&prove[..], &["--watch"]].concat());
    let made: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    // On a slow machine there are also lines about the progress.
    let is_told = |line: &&str| line.starts_with("batch b: ") || line.ends_with(": proven");
    let lines: Vec<&str> = run.err.lines().filter(is_told).collect();
    assert_eq!(lines.len() as u64, 1 + made["proofs_made"].as_u64().unwrap(), "{}", run.err);
    assert!(lines[0].starts_with("batch b: ") && lines[0].ends_with(" proofs to make, 6 in all"), "{}", run.err);
    assert!(lines[1].starts_with("bucket of positions 0 to ") && lines[1].ends_with(": proven"), "{}", run.err);
    assert!(lines.last().unwrap().starts_with("wrap of positions 0 to "), "{}", run.err);
    assert_eq!(world.run(&[&prove[..], &["--watch", "--quiet"]].concat()).err, "");
    let usage = world.fails(2, &[&prove[..5], &["--watch", "--dry-run"]].concat());
    assert!(usage.contains("--watch") && usage.contains("--dry-run"), "{usage}");
}
