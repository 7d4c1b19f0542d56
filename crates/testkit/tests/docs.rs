//! README, ARCHITECTURE, CONTRIBUTING and the book only name existing things: paths, links, crates, make targets,
//! commands.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use evergrove_verifier::keys::pinned_grove;
use evergrove_verifier::{HeightClass, Profile};

/// First components of the code spans that are checked as paths of the repository.
const ROOTS: [&str; 7] = ["crates", "docs", "examples", "scripts", "vectors", ".ci", ".cargo"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository exists")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every Markdown file outside the build folders.
fn documents() -> Vec<PathBuf> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        for entry in
            fs::read_dir(dir).expect("the folder can be listed").map(|e| e.expect("the entry can be read").path())
        {
            let name = entry.file_name().expect("an entry has a name").to_string_lossy().into_owned();
            if entry.is_dir() && !matches!(name.as_str(), "target" | "book" | ".git" | "node_modules") {
                walk(&entry, out);
            } else if name.ends_with(".md") {
                out.push(entry);
            }
        }
    }
    let mut out = Vec::new();
    walk(&root(), &mut out);
    out.sort();
    assert!(out.len() >= 10, "only {} documents were found", out.len());
    out
}

/// The text outside fenced blocks, and the lines of the blocks, each with the language of its block.
fn split_fences(text: &str) -> (String, Vec<(String, String)>) {
    let (mut prose, mut code, mut fence) = (String::new(), Vec::new(), None);
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), &fence) {
            (Some(language), None) => fence = Some(language.trim().to_owned()),
            (Some(_), Some(_)) => fence = None,
            (None, Some(language)) => code.push((language.clone(), line.to_owned())),
            (None, None) => {
                prose.push_str(line);
                prose.push('\n');
            }
        }
    }
    assert!(fence.is_none(), "a fenced block is not closed");
    (prose, code)
}

/// The text between single backticks, line by line.
fn code_spans(prose: &str) -> Vec<String> {
    prose.lines().flat_map(|l| l.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Targets of `[text](target)`.
fn links(prose: &str) -> Vec<String> {
    prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

/// Lines of shell blocks, with continued lines joined, and without comments and prompts.
fn shell_lines(text: &str) -> Vec<String> {
    let (_, code) = split_fences(text);
    let mut out: Vec<String> = Vec::new();
    let mut open = false;
    for (_, line) in code.iter().filter(|(language, _)| language == "sh") {
        let part = line.trim().trim_start_matches("$ ");
        let (part, goes_on) = part.strip_suffix('\\').map_or((part, false), |p| (p, true));
        match (open, out.last_mut()) {
            (true, Some(last)) => last.push_str(&format!(" {}", part.trim())),
            _ => out.push(part.trim().to_owned()),
        }
        open = goes_on;
    }
    out.into_iter().filter(|l| !l.is_empty() && !l.starts_with('#')).collect()
}

/// The rows of the Markdown table whose heading starts with `heading`, as trimmed cells.
fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let cells = |l: &str| l.trim().trim_matches('|').split('|').map(|c| c.trim().to_owned()).collect::<Vec<_>>();
    let mut lines = text.lines().skip_while(|l| !l.starts_with(heading)).skip(2).peekable();
    assert!(lines.peek().is_some(), "no table starts with {heading:?}");
    lines.take_while(|l| l.starts_with('|')).map(cells).collect()
}

fn unquote(cell: &str) -> String {
    cell.trim_matches('`').to_owned()
}

/// Package name -> (folder below crates/, names of our crates in `[dependencies]`).
fn packages() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut out = BTreeMap::new();
    for dir in fs::read_dir(root().join("crates")).expect("crates/ can be listed").map(|e| e.expect("readable").path())
    {
        let manifest = dir.join("Cargo.toml");
        if !manifest.exists() {
            continue;
        }
        let text = read(&manifest);
        let name = text
            .lines()
            .find_map(|l| l.strip_prefix("name = ").map(|v| v.trim_matches('"').to_owned()))
            .expect("a manifest names its package");
        let ours = text
            .lines()
            .skip_while(|l| l.trim() != "[dependencies]")
            .skip(1)
            .take_while(|l| !l.starts_with('['))
            .filter_map(|l| l.split(['.', ' ', '=']).next())
            .filter(|d| *d == "evergrove" || d.starts_with("evergrove-"))
            .map(str::to_owned)
            .collect();
        let folder = dir.file_name().expect("a folder has a name").to_string_lossy().into_owned();
        out.insert(name, (folder, ours));
    }
    assert!(out.contains_key("evergrove-store"), "the store's manifest was not found");
    out
}

#[test]
fn links_lead_somewhere() {
    for doc in documents() {
        let (prose, _) = split_fences(&read(&doc));
        for link in links(&prose) {
            let target = link.split(['#', ' ']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let path = doc.parent().expect("a document lies in a folder").join(target);
            assert!(path.exists(), "{}: the link {link:?} leads nowhere", doc.display());
        }
    }
}

#[test]
fn anchors_exist() {
    let anchor = |heading: &str| -> String {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        text.chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    for doc in documents() {
        let (prose, _) = split_fences(&read(&doc));
        for link in links(&prose) {
            let Some((file, wanted)) = link.split_once('#') else { continue };
            if file.contains("://") {
                continue;
            }
            let target = if file.is_empty() { doc.clone() } else { doc.parent().expect("has a folder").join(file) };
            let (text, _) = split_fences(&read(&target));
            let found = text.lines().filter(|l| l.starts_with('#')).any(|l| anchor(l) == wanted);
            assert!(found, "{}: no heading of {} has the anchor {wanted:?}", doc.display(), target.display());
        }
    }
}

#[test]
fn paths_exist() {
    let root = root();
    for doc in documents() {
        let (prose, _) = split_fences(&read(&doc));
        for span in code_spans(&prose) {
            let path = Path::new(&span);
            let first = match path.components().next() {
                Some(Component::Normal(c)) => c.to_string_lossy().into_owned(),
                _ => continue,
            };
            let placeholder = ["NNNN", "NAME", "PROFILE"].iter().any(|p| span.contains(p));
            let plain = !span.contains([' ', '*', '<', '{']) && !placeholder;
            if plain && span.contains('/') && ROOTS.contains(&first.as_str()) && span != "docs/book" {
                assert!(root.join(path).exists(), "{}: there is no {span}", doc.display());
            }
        }
    }
}

#[test]
fn crate_tables_match_the_workspace() {
    let packages = packages();
    let all: BTreeSet<String> = packages.keys().cloned().collect();

    let readme: BTreeSet<String> =
        table(&read(&root().join("README.md")), "| crate | holds |").iter().map(|r| unquote(&r[0])).collect();
    assert_eq!(readme, all, "the crate table of README.md");

    let rows = table(&read(&root().join("ARCHITECTURE.md")), "| crate | folder | uses |");
    let names: BTreeSet<String> = rows.iter().map(|r| unquote(&r[0])).collect();
    assert_eq!(names, all, "the crate table of ARCHITECTURE.md");
    for row in rows {
        let name = unquote(&row[0]);
        let (folder, uses) = &packages[&name];
        assert_eq!(unquote(&row[1]), format!("crates/{folder}"), "the folder of {name} in ARCHITECTURE.md");
        let said: BTreeSet<String> = row[2]
            .split(',')
            .map(|c| unquote(c.trim()))
            .filter(|c| c != "none")
            .map(|c| if c == "evergrove" { c } else { format!("evergrove-{c}") })
            .collect();
        assert_eq!(&said, uses, "what {name} uses, by ARCHITECTURE.md and by its manifest");
    }
}

#[test]
fn bans_name_every_crate_that_others_use() {
    let deny = read(&root().join("deny.toml"));
    for (name, (_, uses)) in packages() {
        for used in uses.iter().filter(|u| *u != "evergrove-testkit") {
            let line = deny
                .lines()
                .find(|l| l.contains(&format!("crate = \"{used}\"")))
                .unwrap_or_else(|| panic!("deny.toml has no arrows for {used}"));
            assert!(line.contains(&format!("\"{name}\"")), "deny.toml does not let {name} use {used}");
        }
    }
}

#[test]
fn make_targets_exist() {
    let makefile = read(&root().join("Makefile"));
    let targets: BTreeSet<&str> = makefile
        .lines()
        .filter_map(|l| l.split_once(':'))
        .map(|(t, _)| t)
        .filter(|t| !t.contains([' ', '\t', '.']))
        .collect();
    let mut seen = 0;
    for doc in documents() {
        let text = read(&doc);
        let (prose, _) = split_fences(&text);
        for line in shell_lines(&text).into_iter().chain(code_spans(&prose)) {
            if let Some(rest) = line.strip_prefix("make ") {
                let target = rest.split_whitespace().next().unwrap_or_default();
                assert!(targets.contains(target), "{}: the Makefile has no target {target:?}", doc.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 5, "only {seen} mentions of make were found");
}

/// Every command in a shell block of the documents exists, and so do its flags. A flag exists if its field name occurs
/// in the sources of the command line: `allow_profile` for `--allow-profile`.
#[test]
fn commands_exist() {
    let dir = root().join("crates/cli/src");
    let mut sources = String::new();
    let mut stack = vec![dir];
    while let Some(dir) = stack.pop() {
        for path in fs::read_dir(&dir).expect("the sources can be listed").map(|e| e.expect("readable").path()) {
            if path.is_dir() {
                stack.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                sources.push_str(&read(&path));
            }
        }
    }
    let words: BTreeSet<&str> = sources.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let mut seen = 0;
    for doc in documents() {
        for line in shell_lines(&read(&doc)) {
            let Some(rest) = line.strip_prefix("evergrove ") else { continue };
            let mut parts =
                rest.split_whitespace().take_while(|p| !matches!(*p, "|" | ">" | "<" | "&&" | "||" | ";" | "#"));
            let command = parts.next().unwrap_or_default();
            assert!(words.contains(command), "{}: the command line has no command {command:?}", doc.display());
            for flag in parts.filter_map(|p| p.strip_prefix("--")).filter(|f| !f.is_empty()) {
                let name = flag.split('=').next().unwrap_or_default();
                let known = words.contains(name.replace('-', "_").as_str()) || matches!(name, "help" | "version");
                assert!(known, "{}: `evergrove {command}` has no flag --{name}", doc.display());
            }
            seen += 1;
        }
    }
    assert!(seen >= 5, "only {seen} commands were found");
}

#[test]
fn the_summary_lists_every_page() {
    let docs = root().join("docs");
    let listed: BTreeSet<String> = links(&read(&docs.join("SUMMARY.md"))).into_iter().collect();
    let decisions: BTreeSet<String> = links(&read(&docs.join("decisions/README.md"))).into_iter().collect();
    for doc in documents() {
        let Ok(page) = doc.strip_prefix(&docs) else { continue };
        let page = page.to_string_lossy().into_owned();
        if page != "SUMMARY.md" {
            assert!(listed.contains(&page), "docs/SUMMARY.md does not list {page}");
        }
        if let Some(decision) = page.strip_prefix("decisions/").filter(|d| *d != "README.md") {
            assert!(decisions.contains(decision), "docs/decisions/README.md does not list {decision}");
        }
    }
}

/// README and concepts describe the bits of the default profile in the same words. No document says that these bits
/// rest on no conjecture without the words "about codes".
#[test]
fn bits_are_claimed_with_what_they_rest_on() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let claim = "100 bits for each layer and query, by unique decoding: no conjecture about codes";
    for path in ["README.md", "docs/concepts.md"] {
        let text = words(&read(&root().join(path)));
        let line = format!("`grove-100`{}{claim}", if path == "README.md" { " has " } else { " (default) | " });
        assert!(text.contains(&line), "{path} should say {line:?}");
    }
    for doc in documents() {
        let text = words(&read(&doc));
        for rest in ["rests on no conjecture", "rest on no conjecture"] {
            let bare = text.split(rest).skip(1).find(|after| !after.starts_with(" about codes"));
            assert!(bare.is_none(), "{}: {rest:?} without \"about codes\"", doc.display());
        }
    }
}

/// The code of every invariant in docs/review.md is at its line. `EVERGROVE_BLESS=1 cargo test` writes the current
/// lines.
#[test]
fn invariants_stand_at_their_lines() {
    let path = root().join("docs/review.md");
    let (mut text, mut moved) = (read(&path), Vec::new());
    let rows = table(&text, "| invariant | file | line | code |");
    assert!(rows.len() >= 40, "only {} invariants were found", rows.len());
    for row in rows {
        let [_, file, line, code] = &row[..] else { panic!("docs/review.md: {row:?} has not four cells") };
        let source = read(&root().join(unquote(file)));
        let is_there = |l: &str| l.contains(&unquote(code));
        let lines: Vec<usize> = (1..).zip(source.lines()).filter(|(_, l)| is_there(l)).map(|(n, _)| n).collect();
        let [found] = lines[..] else { panic!("{file} has {code} in the lines {lines:?}, expected one") };
        if found.to_string() != *line {
            let cells = |line: &str| format!("| {file} | {line} | {code} |");
            text = text.replace(&cells(line), &cells(&found.to_string()));
            moved.push(format!("{file}: {code} from line {line} to {found}"));
        }
    }
    if std::env::var_os("EVERGROVE_BLESS").is_some() {
        fs::write(&path, text).expect("docs/review.md can be written");
    } else {
        assert!(moved.is_empty(), "docs/review.md: run this test with EVERGROVE_BLESS=1:\n{}", moved.join("\n"));
    }
}

/// The digests in docs/formats.md are those that verifiers pin.
#[test]
fn pinned_digests_are_those_of_the_formats() {
    let stated = table(&read(&root().join("docs/formats.md")), "| profile, class | digest |");
    let mut pinned = Vec::new();
    for profile in Profile::GROVE {
        for class in [HeightClass::H27, HeightClass::H40] {
            let digest = pinned_grove(profile, class).expect("a profile of grove has a key");
            pinned.push(vec![format!("`{profile}`, {}", class.height_max()), format!("`{digest}`")]);
        }
    }
    assert_eq!(stated, pinned, "the digests of docs/formats.md and those that are pinned");
}

/// The program in README is the first doctest of the facade, without its hidden lines.
#[test]
fn the_program_of_readme_is_tested() {
    let (_, code) = split_fences(&read(&root().join("README.md")));
    let shown: Vec<String> =
        code.into_iter().filter(|(language, _)| language == "rust").map(|(_, line)| line).collect();
    let facade = read(&root().join("crates/evergrove/src/lib.rs"));
    let doc = facade.lines().map(|l| l.strip_prefix("//!").map_or(l, |l| l.strip_prefix(' ').unwrap_or(l)));
    let tested: Vec<&str> = doc
        .skip_while(|l| !l.starts_with("use evergrove::prelude"))
        .take_while(|l| !l.starts_with("```"))
        .filter(|l| !l.starts_with('#'))
        .collect();
    assert!(shown.len() > 10, "README has no program");
    assert_eq!(shown, tested, "the program of README.md and the first doctest of crates/evergrove");
}

/// The counts of demands in docs/security.md are those of the lists that tests of `evergrove-grove` keep.
#[test]
fn demands_of_circuits_are_counted() {
    // The tables of the page, with the lists in the order of their columns.
    let first = [
        "mpt/demands/snapshots/evergrove_grove__mpt__demands__demands",
        "mpt/demands/snapshots/evergrove_grove__mpt__demands__header__header",
        "mpt/demands/snapshots/evergrove_grove__mpt__demands__joins__joins",
        "demands/batches/snapshots/evergrove_grove__demands__batches__bucket",
        "demands/batches/snapshots/evergrove_grove__demands__batches__merge",
        "demands/batches/snapshots/evergrove_grove__demands__batches__block",
        "demands/batches/snapshots/evergrove_grove__demands__batches__complete_merge",
    ];
    let second = [
        "demands/translation/snapshots/evergrove_grove__demands__translation__bucket",
        "demands/translation/snapshots/evergrove_grove__demands__translation__merge",
        "demands/translation/snapshots/evergrove_grove__demands__translation__openzeppelin_bucket",
        "demands/translation/snapshots/evergrove_grove__demands__translation__openzeppelin_merge",
        "demands/reshape/snapshots/evergrove_grove__demands__reshape__reshape",
    ];
    let page = read(&root().join("docs/security.md"));
    for (table, lists) in [&first[..], &second].into_iter().enumerate() {
        let lists: Vec<String> =
            lists.iter().map(|name| read(&root().join(format!("crates/grove/src/{name}.snap")))).collect();
        for (status, what) in [
            ("Needed", "alone refuses a lie that states something else"),
            ("Count", "a bit by which a row of tuples counts"),
            ("Side", "one side of a set"),
            ("Argued", "without it, nothing else can be stated"),
            ("Alone", "alone refuses a lie, but only one that states the same, or something true"),
            ("Open", "no lie is known that it alone refuses"),
        ] {
            let count = |list: &String| {
                list.lines().find_map(|line| line.strip_prefix(&format!("{status}: "))).expect("a count").to_owned()
            };
            let counts = lists.iter().map(count).collect::<Vec<_>>().join(" | ");
            let row = page.lines().filter(|line| line.starts_with("| ") && line.contains(what)).nth(table);
            let row = row.unwrap_or_else(|| panic!("table {table} of docs/security.md has no row with `{what}`"));
            assert!(row.ends_with(&format!("| {counts} |")), "docs/security.md: expected {counts} in `{row}`");
        }
    }
}

/// The same for the circuits of applications, whose lists tests of `evergrove-apps` keep.
#[test]
fn demands_of_applications_are_counted() {
    let lists = ["queries", "keys", "tally"]
        .map(|name| read(&root().join(format!("crates/apps/tests/apps/demands/snapshots/apps__demands__{name}.snap"))));
    let rows = table(&read(&root().join("docs/security.md")), "| a demand | queries | BLS keys | tally |");
    let statuses = ["Needed", "Count", "Side", "Argued", "Alone", "Open"];
    assert_eq!(rows.len(), statuses.len(), "rows of the table of applications in docs/security.md");
    for (row, status) in rows.iter().zip(statuses) {
        let count = |list: &String| {
            list.lines().find_map(|line| line.strip_prefix(&format!("{status}: "))).expect("a count").to_owned()
        };
        assert_eq!(row[1..], lists.each_ref().map(count), "docs/security.md: {}", row[0]);
    }
}
