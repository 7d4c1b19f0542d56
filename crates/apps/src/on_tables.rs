//! Map/Reduce applications on the multilinear engine.

use std::sync::Arc;

use evergrove_commit::{BackendError, LeafWitness};
use evergrove_grove::application::{Application, Circuits};
use evergrove_grove::{AppCircuitSet, CircuitSetError};
use evergrove_primitives::Goldilocks;
use evergrove_verifier::{HeightClass, Profile, Scheme};

use crate::{Leaf, MapReduce, MapReduceError};

/// An application with circuits on the engine's tables.
#[derive(Clone)]
pub struct OnTables(Arc<dyn MapReduce>);

impl OnTables {
    /// Wraps the application; `None` if it has no such circuits.
    pub fn new(app: Arc<dyn MapReduce>) -> Option<Self> {
        app.on_tables()?;
        Some(Self(app))
    }
}

impl Application for OnTables {
    fn circuits(&self) -> &dyn Circuits {
        self.0.on_tables().expect("`OnTables::new` has looked")
    }

    fn opening_len(&self) -> usize {
        self.0.opening_len()
    }

    fn output_len(&self) -> usize {
        self.0.output_len()
    }

    fn map(&self, leaves: &[LeafWitness]) -> Result<Vec<Goldilocks>, BackendError> {
        Ok(output(self.0.as_ref(), leaves)?)
    }

    fn reduce(&self, left: &[Goldilocks], right: &[Goldilocks]) -> Result<Vec<Goldilocks>, BackendError> {
        Ok(self.0.reduce(left, right)?)
    }
}

/// The circuits of an application on the engine's tables; `None` if it has none. Finding their size takes tenths of a
/// second.
///
/// # Errors
/// If it has no circuits in this scheme, or the profile belongs to another backend.
pub fn circuits_on_tables(
    app: &Arc<dyn MapReduce>,
    scheme: Scheme,
    profile: Profile,
    class: HeightClass,
) -> Option<Result<AppCircuitSet, CircuitSetError>> {
    let on_tables = OnTables::new(app.clone())?;
    // A prover is free to cut chosen leaves into buckets in any order.
    if scheme == Scheme::Selected && !app.is_commutative() {
        return Some(Err(CircuitSetError::Scheme(scheme)));
    }
    Some(AppCircuitSet::new(Arc::new(on_tables), scheme, profile, class))
}

/// The output of leaves in ascending order, computed by the application's code.
///
/// # Errors
/// The application's error, for the first leaf that it does not map or the first reduction that fails.
pub fn output(app: &dyn MapReduce, leaves: &[LeafWitness]) -> Result<Vec<Goldilocks>, MapReduceError> {
    let mut outputs = leaves.iter().map(|leaf| {
        let (expected, found) = (app.opening_len(), leaf.opening.len());
        if expected > 0 && found != expected {
            return Err(MapReduceError::OpeningLength { index: leaf.index, expected, found });
        }
        let opening = if expected == 0 { &[] } else { leaf.opening.as_slice() };
        app.map(&Leaf { index: leaf.index, value: leaf.value, opening })
    });
    let first = outputs.next().unwrap_or_else(|| Ok(app.identity()))?;
    outputs.try_fold(first, |before, next| app.reduce(&before, &next?))
}
