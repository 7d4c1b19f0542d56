//! The application as code.

use std::sync::Arc;

use evergrove::apps::catalog::{Kind, KindError};
use evergrove::apps::tables::{self, Circuits};
use evergrove::apps::{Leaf, MapReduce, MapReduceError};
use evergrove::commit::schema::{ColumnType, Schema};
use evergrove::primitives::Goldilocks;

/// Numbers in columns, and weights, are below 2^20.
pub(crate) const NUMBER_BITS: usize = 20;
/// Scores are below 2^23, so that the total over a table of 2^40 rows is below the order of the field.
pub(crate) const SCORE_BITS: usize = 23;
/// The maximum number of columns. A sum of so many products of numbers and weights is far below the order of the field.
const MAX_COLUMNS: usize = 8;

/// The application: number of rows, total of their scores, greatest score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Score {
    /// The schema of the rows.
    pub(crate) schema: Schema,
    /// Columns with their weights, in ascending order of the columns.
    weights: Vec<(u16, u32)>,
}

impl Score {
    /// The application for tables of this schema, with weights of some columns.
    ///
    /// # Errors
    /// A sentence about an invalid column or weight.
    pub fn new(schema: Schema, mut weights: Vec<(u16, u32)>) -> Result<Self, KindError> {
        weights.sort_unstable();
        if weights.is_empty() || weights.len() > MAX_COLUMNS {
            return Err(format!("{} columns, expected 1 to {MAX_COLUMNS}", weights.len()).into());
        }
        if let Some(pair) = weights.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(format!("duplicate column {}", pair[0].0).into());
        }
        for (column, weight) in &weights {
            let column = schema.columns().get(usize::from(*column)).ok_or_else(|| format!("no column {column}"))?;
            if column.kind != ColumnType::Unsigned || column.nullable {
                return Err(format!("column {:?} is not of type unsigned without nulls", column.name).into());
            }
            if *weight == 0 || weight >> NUMBER_BITS != 0 {
                let bound = format!("from 1 to 2^{NUMBER_BITS} - 1");
                return Err(format!("the weight {weight} of {:?} is not {bound}", column.name).into());
            }
        }
        Ok(Self { schema, weights })
    }

    /// Each column's first element in a row, with the column's weight.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (usize, u64)> {
        self.weights.iter().map(|(column, weight)| {
            let before = &self.schema.columns()[..usize::from(*column)];
            (before.iter().map(|c| c.kind.elements()).sum(), u64::from(*weight))
        })
    }
}

impl MapReduce for Score {
    fn name(&self) -> &str {
        "score"
    }

    /// The number of weights, the columns with their weights, and the schema.
    fn parameters(&self) -> Vec<u8> {
        let mut bytes = vec![self.weights.len() as u8];
        for (column, weight) in &self.weights {
            bytes.extend(column.to_le_bytes());
            bytes.extend(weight.to_le_bytes());
        }
        bytes.extend(self.schema.to_bytes());
        bytes
    }

    fn opening_len(&self) -> usize {
        tables::opening_len(&self.schema)
    }

    fn output_len(&self) -> usize {
        3
    }

    fn identity(&self) -> Vec<Goldilocks> {
        vec![Goldilocks::ZERO; 3]
    }

    fn map(&self, leaf: &Leaf<'_>) -> Result<Vec<Goldilocks>, MapReduceError> {
        let row = tables::row(leaf, &self.schema)?;
        let refused = |reason| MapReduceError::Leaf { index: leaf.index, reason };
        let mut score = 0;
        for (element, weight) in self.terms() {
            let x = row[element].as_u64();
            if x >> NUMBER_BITS != 0 {
                return Err(refused(format!("{x} is not below 2^{NUMBER_BITS}: leave the row or the column out")));
            }
            score += weight * x;
        }
        if score >> SCORE_BITS != 0 {
            return Err(refused(format!("the score {score} is not below 2^{SCORE_BITS}: choose smaller weights")));
        }
        let score = Goldilocks::new(score);
        Ok(vec![Goldilocks::ONE, score, score])
    }

    fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, MapReduceError> {
        match (left, right) {
            ([n, total, greatest], [m, more, other]) => {
                let greatest = greatest.as_u64().max(other.as_u64());
                Ok(vec![*n + *m, *total + *more, Goldilocks::new(greatest)])
            }
            _ => Err(MapReduceError::Operand("not 3 elements".into())),
        }
    }

    fn is_commutative(&self) -> bool {
        true
    }

    fn on_tables(&self) -> Option<&dyn Circuits> {
        Some(self)
    }

    fn describe(&self, output: &[Goldilocks]) -> Vec<(String, String)> {
        let names = ["rows", "total", "greatest"];
        names.iter().zip(output).map(|(name, x)| ((*name).into(), x.to_string())).collect()
    }
}

/// The kind of [`Score`].
pub struct Scores;

impl Kind for Scores {
    fn name(&self) -> &str {
        "score"
    }

    fn help(&self) -> &str {
        "rows, and total and greatest of a weighted sum of columns; parameters: COLUMN=WEIGHT, separated by commas"
    }

    fn make(&self, parameters: &[u8]) -> Result<Arc<dyn MapReduce>, KindError> {
        let too_short = || format!("{} bytes are too short", parameters.len());
        let (n, rest) = parameters.split_first().ok_or_else(too_short)?;
        let (weights, schema) = rest.split_at_checked(6 * usize::from(*n)).ok_or_else(too_short)?;
        let weight = |b: &[u8]| (u16::from_le_bytes([b[0], b[1]]), u32::from_le_bytes([b[2], b[3], b[4], b[5]]));
        let schema = Schema::from_bytes(schema)?;
        Ok(Arc::new(Score::new(schema, weights.chunks(6).map(weight).collect())?))
    }

    fn parse(&self, text: &str, schema: &Schema) -> Result<Arc<dyn MapReduce>, KindError> {
        let weight = |item: &str| {
            let (name, weight) = item.split_once('=').ok_or_else(|| format!("{item:?} is not COLUMN=WEIGHT"))?;
            let (column, _) = schema.column(name).ok_or_else(|| format!("the schema has no column {name:?}"))?;
            let weight = weight.parse().map_err(|_| format!("the weight {weight:?} is not a number"))?;
            Ok::<_, KindError>((column as u16, weight))
        };
        let weights = text.split(',').map(weight).collect::<Result<_, _>>()?;
        Ok(Arc::new(Score::new(schema.clone(), weights)?))
    }
}
