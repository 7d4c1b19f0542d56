//! Queries that list rows.

use std::sync::Arc;

use evergrove_apps::MapReduce;
use evergrove_apps::aggregate::{Aggregate, Listed, Listing};
use evergrove_apps::catalog::Application;
use evergrove_commit::schema::{Row, Schema};
use evergrove_store::View;
use evergrove_verifier::wire::Multiproof;
use evergrove_verifier::{Commitment, Scheme};

use crate::{Error, Proof, Rows, Store, Verifier};

/// The rows that a query lists, with the proof that each row is in the table, and that no row is missing.
#[derive(Clone, Debug)]
pub struct ListProof {
    /// The rows, whole.
    pub rows: Rows,
    /// The number of rows that pass the condition, and of rows before the last listed one: a proof over all rows.
    pub counts: Proof,
    /// The rows' Merkle paths.
    pub paths: Multiproof,
}

/// The rows of a table that a query lists, without a proof. Reads the table once.
///
/// # Errors
/// [`Error::Listing`] when there are too many rows, and the errors of a damaged store.
pub fn find(view: &View, listing: &Listing) -> Result<Listed, Error> {
    let mut finder = listing.finder()?;
    let mut found = Ok(());
    view.for_each_row(|index, row| {
        if found.is_ok() {
            found = finder.add(index, row);
        }
        Ok(())
    })?;
    found?;
    Ok(listing.listed(finder.rows())?)
}

/// The application whose output over all rows shows that no row is missing.
pub fn application(listed: &Listed) -> Application {
    let app: Arc<dyn MapReduce> = Arc::new(Aggregate::new(listed.plan().clone()));
    app.into()
}

impl Store {
    /// The rows that a query lists, like `SELECT name, total FROM t WHERE total > 100` or `SELECT * FROM t ORDER BY total DESC LIMIT 10`, in its order and
    /// without a proof.
    ///
    /// # Errors
    /// [`Error::Query`] when the text is not a query about this table; [`Error::Aggregates`]; the errors of [`find`].
    pub fn list(&self, sql: &str) -> Result<Vec<(u64, Row)>, Error> {
        Ok(find(&self.layer().view()?, &parse(self.schema(), sql)?)?.rows().to_vec())
    }

    /// Proves that the rows which a query lists are all of them. The statement about all rows becomes a batch of this
    /// name, which [`Store::update`] refreshes; after an update, call this again for the rows.
    ///
    /// # Errors
    /// The errors of [`Store::list`] and [`Store::prove_query`].
    pub fn prove_list(&mut self, batch: &str, sql: &str) -> Result<ListProof, Error> {
        let view = self.layer().view()?;
        let listed = find(&view, &parse(self.schema(), sql)?)?;
        let report = self.prove_app(batch, application(&listed), Scheme::Complete, &[])?;
        listed.accept(&report.output)?;
        let rows = Rows::new(self.schema().clone(), listed.rows().to_vec());
        let positions: Vec<u64> = rows.as_slice().iter().map(|(position, _)| *position).collect();
        Ok(ListProof { rows, counts: self.proof(batch)?, paths: view.multiproof(&positions)? })
    }
}

impl Verifier {
    /// Accepts these rows as the complete answer of a query to the table of this commitment, and returns them in its
    /// order. The schema gives the columns of the query their meaning: take it from a source that you trust.
    ///
    /// # Errors
    /// [`Error::Verify`], [`Error::Paths`] and [`Error::Listing`] with the reason why the rows are refused; an error
    /// when the text is not a query of this kind about this schema.
    pub fn verify_list(
        &self,
        proof: &ListProof,
        commitment: &Commitment,
        schema: &Schema,
        sql: &str,
    ) -> Result<Vec<(u64, Row)>, Error> {
        let ListProof { rows, counts, paths } = proof;
        // The cells come from an untrusted source; their meaning does not.
        let rows = Rows::new(schema.clone(), rows.as_slice().to_vec());
        let listed = parse(schema, sql)?.listed(rows.as_slice().to_vec())?;
        paths.verify(commitment, &rows.leaves()?)?;
        let output = self.output(counts, commitment, &application(&listed), Scheme::Complete, None)?;
        listed.accept(&output)?;
        Ok(listed.rows().to_vec())
    }
}

fn parse(schema: &Schema, sql: &str) -> Result<Listing, Error> {
    Listing::parse(schema, sql)?.ok_or(Error::Aggregates)
}
