//! The kinds of this crate.

use std::sync::Arc;

use evergrove_commit::schema::Schema;

use super::{Kind, KindError};
use crate::MapReduce;
use crate::aggregate::{self, Aggregate, Query};
use crate::bls::{BlsKeys, table};
use crate::samples::{Sequence, Tally};

/// All kinds.
pub(super) fn kinds() -> Vec<Arc<dyn Kind>> {
    vec![Arc::new(Aggregates), Arc::new(Keys), Arc::new(Sequences), Arc::new(Tallies)]
}

/// Queries.
struct Aggregates;

impl Kind for Aggregates {
    fn name(&self) -> &str {
        aggregate::NAME
    }

    fn help(&self) -> &str {
        "what a query's answer is made of; parameters: the query, like SELECT COUNT(*) FROM t"
    }

    fn make(&self, parameters: &[u8]) -> Result<Arc<dyn MapReduce>, KindError> {
        Ok(Arc::new(Aggregate::from_parameters(parameters)?))
    }

    fn parse(&self, text: &str, schema: &Schema) -> Result<Arc<dyn MapReduce>, KindError> {
        let query = Query::parse(schema, text).map_err(|e| format!("{e}: {}", e.remedy()))?;
        Ok(Arc::new(Aggregate::new(query.plan().clone())))
    }
}

/// Sums of BLS keys.
struct Keys;

impl Kind for Keys {
    fn name(&self) -> &str {
        "bls-keys"
    }

    fn help(&self) -> &str {
        "sum and number of BLS keys, in a table of app bls-table; no parameters"
    }

    fn make(&self, parameters: &[u8]) -> Result<Arc<dyn MapReduce>, KindError> {
        Ok(Arc::new(BlsKeys::from_parameters(parameters)?))
    }

    fn parse(&self, text: &str, schema: &Schema) -> Result<Arc<dyn MapReduce>, KindError> {
        if *schema != table::schema() {
            return Err("the schema is not that of a table of BLS keys".into());
        }
        no_parameters(text)?;
        Ok(Arc::new(BlsKeys))
    }
}

/// Fingerprints of the leaves, in order.
struct Sequences;

impl Kind for Sequences {
    fn name(&self) -> &str {
        "sequence"
    }

    fn help(&self) -> &str {
        "sample: a fingerprint of all rows in their order; no parameters"
    }

    fn make(&self, parameters: &[u8]) -> Result<Arc<dyn MapReduce>, KindError> {
        if parameters.is_empty() { Ok(Arc::new(Sequence)) } else { Err("expected none".into()) }
    }

    fn parse(&self, text: &str, _: &Schema) -> Result<Arc<dyn MapReduce>, KindError> {
        no_parameters(text)?;
        Ok(Arc::new(Sequence))
    }
}

/// Counts and sums.
struct Tallies;

impl Kind for Tallies {
    fn name(&self) -> &str {
        "tally"
    }

    fn help(&self) -> &str {
        "sample: number of rows, and sum of the first elements of their values; parameters: bits of an element, 1 to 23"
    }

    fn make(&self, parameters: &[u8]) -> Result<Arc<dyn MapReduce>, KindError> {
        Ok(Arc::new(Tally::from_parameters(parameters)?))
    }

    fn parse(&self, text: &str, _: &Schema) -> Result<Arc<dyn MapReduce>, KindError> {
        let bits: u8 = text.parse().map_err(|_| "not a number of bits from 1 to 23")?;
        self.make(&[bits])
    }
}

fn no_parameters(text: &str) -> Result<(), KindError> {
    if text.is_empty() { Ok(()) } else { Err("the application has no parameters: leave them out".into()) }
}
