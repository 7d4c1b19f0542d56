//! `evergrove query --verify`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use evergrove::apps::aggregate::{Listing, MAX_LISTED, Query};
use evergrove::apps::catalog::Application;
use evergrove::commit::schema::{Row, Schema};
use evergrove::primitives::Digest;
use evergrove::proof::tree::Value;
use evergrove::proof::wire::{Bundle, Multiproof, RowsForm};
use evergrove::proof::{Commitment, Profile, Scheme};
use evergrove::store::input::{Format, IndexSource, InputError, Table};
use evergrove::{AppKey, Error, Groups};

use super::answer::Grid;
use crate::apps::{Accepted, VerifyArgs};
use crate::commands::Terminal;
use crate::commands::app::aggregate::application;
use crate::commands::verify::values;
use crate::exit::CliError;
use crate::files;
use crate::report::Report;

/// What a verifier has beside the answer.
#[derive(Debug, clap::Args)]
pub(super) struct Verifying {
    /// Verify the answer in this file, which --out has written, without a store. Its query is used if none is given
    #[arg(long, value_name = "FILE", requires = "root", help_heading = "Verifying")]
    pub(super) verify: Option<PathBuf>,
    /// Commitment of the table, like evergrove1:27:0123..
    #[arg(long, value_name = "COMMITMENT", requires = "verify", help_heading = "Verifying")]
    root: Option<Commitment>,
    /// Schema of the table (TOML)
    #[arg(long, value_name = "FILE", requires = "verify", help_heading = "Verifying")]
    schema: Option<PathBuf>,
    /// Use the schema in the file of the answer if it has this digest, which status shows
    #[arg(long, value_name = "HEX", requires = "verify", help_heading = "Verifying")]
    schema_digest: Option<Digest>,
    /// Accept an answer over the rows in the file, which the author of the file has chosen, instead of over all rows of the table
    #[arg(long, requires = "verify", help_heading = "Verifying")]
    over_batch: bool,
    /// Accept proofs of this profile too: johnson or paper. Repeat for both
    #[arg(long, value_name = "PROFILE", requires = "verify", help_heading = "Verifying")]
    allow_profile: Vec<Profile>,
    /// Take the key of the query's circuits from this file, which keys export writes, and build nothing
    #[arg(long, value_name = "FILE", requires = "verify", help_heading = "Verifying")]
    key_file: Option<PathBuf>,
    /// The digest that the key must have, from a source that is trusted. Not needed for keys that this program pins
    #[arg(long, value_name = "HEX", requires = "key_file", help_heading = "Verifying")]
    key_digest: Option<Digest>,
}

const ASK: &str = "ask for a new answer, made by query --out";

impl Verifying {
    pub(super) fn run(&self, path: &Path, sql: Option<&str>, keys: Option<&Path>, terminal: Terminal) -> Result<()> {
        let bytes = files::read(path, Bundle::MAX_BYTES as u64, "check the path: no answer is that long")?;
        let mistake = |e: String| CliError::usage(format!("{}: {e}", path.display()), ASK);
        let bundle = Bundle::decode(&bytes).map_err(|e| mistake(e.to_string()))?;
        let (Some(asked), Some(root)) = (bundle.query, self.root) else {
            return Err(mistake("holds no answer to a query".into()));
        };
        let asked = std::str::from_utf8(asked).map_err(|e| mistake(format!("query.sql: {e}")))?.trim();
        let sql = match sql {
            Some(sql) => sql,
            None if is_clear(asked) => asked,
            None => {
                let message = format!("{}: the query in the file has comments or ends of lines", path.display());
                return Err(CliError::usage(message, "give the query that you want to be answered"));
            }
        };
        let schema = self.schema(path, &bundle)?;
        let (proof, allow_profile) = (path.to_owned(), self.allow_profile.clone());
        let (key_file, key_digest) = (self.key_file.clone(), self.key_digest);
        let keys = keys.map(Path::to_owned);
        let judge = VerifyArgs { proof, root, allow_profile, keys, key_file, key_digest };
        let case = Case { path, bundle, judge, sql, schema, over_batch: self.over_batch };

        let mut report = Report::accepted(&root);
        report.add("query", sql);
        match super::listing(&case.schema, sql)? {
            Some(listing) => case.rows(&listing, &mut report)?,
            None => case.answer(&mut report)?,
        }
        report.print(terminal.format)
    }

    /// The schema that the verifier names, or the one in the file if it has the given digest.
    fn schema(&self, path: &Path, bundle: &Bundle<'_>) -> Result<Schema> {
        let name = path.join("schema.toml");
        let schema = match (&self.schema, bundle.schema) {
            (Some(path), _) => files::schema(path)?,
            (None, Some(text)) if self.schema_digest.is_some() => files::parse_schema(&name, text.to_vec())?,
            (None, _) => {
                let message = format!("{}: the schema comes from whoever made the answer", name.display());
                let remedy = "pass --schema-digest HEX from the source of the commitment, or --schema FILE";
                return Err(CliError::usage(message, remedy));
            }
        };
        let digest = schema.digest();
        if let Some(expected) = self.schema_digest.filter(|expected| *expected != digest) {
            let message = format!("the schema has the digest {digest}, --schema-digest is {expected}");
            return Err(CliError::refused(message, "get the schema that has this digest"));
        }
        Ok(schema)
    }
}

/// True if people can read a query of somebody else as it is: no comments, and no characters that a terminal shows as
/// something else.
fn is_clear(sql: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || c.is_ascii() && !c.is_ascii_control() && c != '\\';
    !sql.contains("--") && !sql.contains("/*") && sql.chars().all(plain)
}

/// An answer that is being verified.
struct Case<'a> {
    over_batch: bool,
    path: &'a Path,
    bundle: Bundle<'a>,
    judge: VerifyArgs,
    sql: &'a str,
    schema: Schema,
}

impl Case<'_> {
    /// Verifies listed rows: each is at its position, and no row is missing.
    fn rows(&self, listing: &Listing, report: &mut Report) -> Result<()> {
        let refused = |e: String| CliError::refused(e, ASK);
        let most = listing.limit().unwrap_or(MAX_LISTED);
        let listed = listing.listed(self.read(most)?).map_err(|e| refused(e.to_string()))?;
        let app = evergrove::listing::application(&listed);
        let accepted = self.accept(&[app], Scheme::Complete, None, "these rows")?;
        listed.accept(&accepted.output).map_err(|e| refused(e.to_string()))?;
        let paths = Multiproof::decode(self.bundle.paths.unwrap_or_default());
        let paths = paths.map_err(|e| refused(format!("{}/rows.paths: {e}", self.path.display())))?;
        paths.verify(&self.judge.root, &self.leaves(listed.rows())?).map_err(|e| refused(e.to_string()))?;
        Grid::of_rows(listing, listed.rows()).add_to(report);
        report.hidden("positions", listed.rows().iter().map(|(index, _)| *index).collect::<Vec<_>>());
        let shown = match listing.limit() {
            Some(limit) if listed.rows().len() == limit => {
                "these rows are in the table, and no other row that passes the condition comes before the last of them; nulls come last"
            }
            _ => "these rows are all that pass the condition, and each is in the table",
        };
        report.add("shown", shown);
        accepted.add_rows_to(report, "all rows of the table", None, &self.schema);
        Ok(())
    }

    /// Verifies aggregates over all rows of the table, or over those of a batch.
    fn answer(&self, report: &mut Report) -> Result<()> {
        let refused = |e: Error| match e {
            Error::Query(e) => CliError::usage(format!("query: {e}"), e.remedy()),
            e => CliError::usage(format!("{}/groups.jsonl: {e}", self.path.display()), ASK),
        };
        let text = String::from_utf8_lossy(self.bundle.groups.unwrap_or_default());
        let groups = Groups::parse(&self.schema, self.sql, &text).map_err(refused)?;
        let query = groups.query(&self.schema, self.sql).map_err(refused)?;
        let queries: Vec<Query> = query.pinned().into_iter().chain([query]).collect();
        let apps: Vec<Application> = queries.iter().map(application).collect();
        if self.bundle.rows.is_some() && !self.over_batch {
            let file = self.path.display();
            let message = format!("{file}: the answer is over the rows in the file, not over all of the table");
            let remedy = "ask for an answer over all rows, or accept this one with --over-batch";
            return Err(CliError::refused(message, remedy));
        }
        let rows = self.bundle.rows.is_some().then(|| self.read(usize::MAX)).transpose()?;
        let leaves = rows.as_deref().map(|rows| self.leaves(rows)).transpose()?;
        let (scheme, over) = match &leaves {
            Some(_) => (Scheme::Selected, "the rows in the file, each once, each at its position in the table"),
            None => (Scheme::Complete, "all rows of the table"),
        };
        let accepted = self.accept(&apps, scheme, leaves.as_deref(), "this query")?;
        let answer = queries[accepted.app].answer(&accepted.output);
        let answer = answer.map_err(|e| CliError::refused(e.to_string(), ASK))?;
        Grid::of_answer(&answer).add_to(report);
        let verified = &accepted.verified;
        let pinned = AppKey::pinned_digest(&apps[accepted.app], scheme, verified.profile, verified.class).is_some();
        report.add_as("pinned", pinned, if pinned { "yes: by circuits whose key this program pins" } else { "no" });
        report.hidden("complete", leaves.is_none());
        accepted.add_rows_to(report, over, leaves.as_ref().map(Vec::len), &self.schema);
        Ok(())
    }

    fn accept(
        &self,
        apps: &[Application],
        scheme: Scheme,
        leaves: Option<&[(u64, Value)]>,
        wanted: &str,
    ) -> Result<Accepted> {
        self.judge.verify_bytes(self.bundle.proof, apps, scheme, leaves, wanted)
    }

    /// The rows in the file with their positions: at most one more than `most`, which shows that there are too many.
    fn read(&self, most: usize) -> Result<Vec<(u64, Row)>> {
        let Some((form, text)) = self.bundle.rows else { return Ok(vec![]) };
        let (name, format) = match form {
            RowsForm::Csv => ("rows.csv", Format::Csv),
            RowsForm::Jsonl => ("rows.jsonl", Format::Jsonl),
        };
        let index = IndexSource::Column(self.schema.index_name());
        let table = Table::new(self.path.join(name), format, index, self.schema.clone()).with_text(text);
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(vec![]);
        }
        let refused = |e: InputError| CliError::refused(e.to_string(), ASK);
        let rows = table.rows().map_err(refused)?;
        rows.take(most.saturating_add(1)).map(|row| row.map_err(refused)).collect()
    }

    /// The values of rows, by position.
    fn leaves(&self, rows: &[(u64, Row)]) -> Result<Vec<(u64, Value)>> {
        values(rows.iter().map(|(index, row)| Ok((*index, row))), &self.schema)
    }
}
