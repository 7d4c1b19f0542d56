//! The kinds of this crate.

use std::sync::Arc;

use evergrove_commit::schema::Schema;

use super::{Kind, KindError};
use crate::MapReduce;
use crate::aggregate::{self, Aggregate, Query};
use crate::bls::{BlsKeys, table};
use crate::samples::{Sequence, Tally};

type Made = Result<Arc<dyn MapReduce>, KindError>;

/// A kind of this crate: see [`Kind`].
struct Standard {
    name: &'static str,
    help: &'static str,
    make: fn(&[u8]) -> Made,
    parse: fn(&str, &Schema) -> Made,
}

impl Kind for Standard {
    fn name(&self) -> &str {
        self.name
    }

    fn help(&self) -> &str {
        self.help
    }

    fn make(&self, parameters: &[u8]) -> Made {
        (self.make)(parameters)
    }

    fn parse(&self, text: &str, schema: &Schema) -> Made {
        (self.parse)(text, schema)
    }
}

/// All kinds.
pub(super) fn kinds() -> Vec<Arc<dyn Kind>> {
    let aggregates = Standard {
        name: aggregate::NAME,
        help: "what a query's answer is made of; parameters: the query, like SELECT COUNT(*) FROM t",
        make: |parameters| Ok(Arc::new(Aggregate::from_parameters(parameters)?)),
        parse: |text, schema| {
            let query = Query::parse(schema, text).map_err(|e| format!("{e}: {}", e.remedy()))?;
            Ok(Arc::new(Aggregate::new(query.plan().clone())))
        },
    };
    let keys = Standard {
        name: "bls-keys",
        help: "sum and number of BLS keys, in a table of app bls-table; no parameters",
        make: |parameters| Ok(Arc::new(BlsKeys::from_parameters(parameters)?)),
        parse: |text, schema| {
            if *schema != table::schema() {
                return Err("the schema is not that of a table of BLS keys".into());
            }
            no_parameters(text, BlsKeys)
        },
    };
    let sequences = Standard {
        name: "sequence",
        help: "sample: a fingerprint of all rows in their order; no parameters",
        make: |parameters| if parameters.is_empty() { Ok(Arc::new(Sequence)) } else { Err("expected none".into()) },
        parse: |text, _| no_parameters(text, Sequence),
    };
    let tallies = Standard {
        name: "tally",
        help: "sample: number of rows, and sum of the first elements of their values; parameters: bits of an element, 1 to 23",
        make: |parameters| Ok(Arc::new(Tally::from_parameters(parameters)?)),
        parse: |text, _| {
            let bits: u8 = text.parse().map_err(|_| "not a number of bits from 1 to 23")?;
            Ok(Arc::new(Tally::from_parameters(&[bits])?))
        },
    };
    [aggregates, keys, sequences, tallies].map(|kind| Arc::new(kind) as Arc<dyn Kind>).into()
}

fn no_parameters(text: &str, app: impl MapReduce + 'static) -> Made {
    if text.is_empty() { Ok(Arc::new(app)) } else { Err("the application has no parameters: leave them out".into()) }
}
