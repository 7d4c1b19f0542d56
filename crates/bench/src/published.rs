//! Values that other sources state, from `published/`. They are drawn as labelled points and never mixed with
//! measurements.

use serde::Deserialize;

use evergrove_plot::{Origin, Point, Series};

const RECKLE: &str = include_str!("../published/reckle.toml");

/// The kind of a published time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Quantity {
    Aggregate,
    Update,
    Verify,
}

/// A published time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Time {
    pub(crate) scheme: String,
    pub(crate) quantity: Quantity,
    pub(crate) batch_log: u8,
    pub(crate) seconds: f64,
    /// The machine, and other remarks.
    pub(crate) machine: String,
}

/// Published sizes, in the source's own words.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Size {
    pub(crate) scheme: String,
    pub(crate) proving_keys: String,
    pub(crate) verification_key: String,
    pub(crate) proof: String,
}

/// All published values on batches of a vector of 2^27 slots.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    #[serde(rename = "point")]
    pub(crate) times: Vec<Time>,
    #[serde(rename = "size")]
    pub(crate) sizes: Vec<Size>,
}

impl Published {
    /// The values of `published/reckle.toml`.
    pub(crate) fn reckle() -> anyhow::Result<Self> {
        Ok(toml::from_str(RECKLE)?)
    }

    /// The published times of a quantity, one series per point.
    pub(crate) fn series(&self, quantity: Quantity) -> Vec<Series> {
        let of_it = self.times.iter().filter(|t| t.quantity == quantity);
        of_it
            .map(|t| Series {
                name: t.scheme.clone(),
                points: vec![Point { x: f64::from(t.batch_log).exp2(), y: t.seconds, origin: Origin::Published }],
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values_are_those_of_the_paper() {
        let published = Published::reckle().unwrap();
        let time = |scheme: &str, quantity| {
            let found = published.times.iter().find(|t| t.scheme.starts_with(scheme) && t.quantity == quantity);
            found.map(|t| (t.batch_log, t.seconds))
        };
        // The minutes and milliseconds that section 5.2 states.
        let close =
            |a: Option<(u8, f64)>, seconds: f64| a.is_some_and(|(log, s)| log == 12 && (s - seconds).abs() < 1e-9);
        assert!(close(time("Merkle", Quantity::Aggregate), 4.44 * 60.0));
        assert!(close(time("Hyperproofs", Quantity::Aggregate), 3.15 * 60.0));
        assert!(close(time("Reckle", Quantity::Verify), (14.29 + 3.91) / 1000.0));
        assert!(close(time("Reckle", Quantity::Update), 16.61));
        // Schemes without updates aggregate again after a change.
        for scheme in ["Merkle", "Hyperproofs"] {
            assert_eq!(time(scheme, Quantity::Update), time(scheme, Quantity::Aggregate));
        }
        for quantity in [Quantity::Aggregate, Quantity::Update, Quantity::Verify] {
            let series = published.series(quantity);
            assert!(series.len() >= 3 && series.iter().all(|s| s.points[0].origin == Origin::Published));
        }
        assert!(published.sizes.iter().all(|s| published.times.iter().any(|t| t.scheme == s.scheme)));
    }
}
