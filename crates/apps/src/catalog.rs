//! The applications that this program knows by name.

use std::sync::Arc;

use evergrove_proof::AppSpec;

use crate::MapReduce;
use crate::aggregate::Aggregate;
use crate::bls::BlsKeys;
use crate::samples::{Sequence, Tally};

/// No application comes of a name and parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// There is no such kind.
    #[error("no application {0:?} in this program: use the version of evergrove that defined the batch")]
    Unknown(String),
    /// The parameters are not of the kind.
    #[error("the parameters of application {name:?} are not its own: {reason}")]
    Parameters {
        /// The kind.
        name: String,
        /// What is wrong.
        reason: String,
    },
}

/// The application of a kind and canonical parameters: what [`MapReduce::name`] and [`MapReduce::parameters`] gave.
///
/// # Errors
/// [`CatalogError`]; also when the parameters are readable but not the canonical ones.
pub fn make(spec: &AppSpec) -> Result<Arc<dyn MapReduce>, CatalogError> {
    let parameters = |reason: String| CatalogError::Parameters { name: spec.name.clone(), reason };
    let app: Arc<dyn MapReduce> = match spec.name.as_str() {
        "tally" => Arc::new(Tally::from_parameters(&spec.parameters).map_err(parameters)?),
        "sequence" => Arc::new(Sequence),
        "aggregate" => Arc::new(Aggregate::from_parameters(&spec.parameters).map_err(|e| parameters(e.to_string()))?),
        "bls-keys" => Arc::new(BlsKeys::from_parameters(&spec.parameters).map_err(|e| parameters(e.to_string()))?),
        _ => return Err(CatalogError::Unknown(spec.name.clone())),
    };
    if (app.name(), app.parameters()) != (spec.name.as_str(), spec.parameters.clone()) {
        return Err(parameters("they are not in their canonical form".into()));
    }
    Ok(app)
}
