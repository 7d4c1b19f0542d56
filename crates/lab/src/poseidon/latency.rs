//! The distribution of the latencies of rows.

use std::collections::BTreeMap;

use serde::Serialize;

/// Statistics of a number of cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// The least.
    pub min: u64,
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub max: u64,
    /// The median: exact below 4,096 cycles, above that to one part in 2,048.
    pub median: u64,
}

/// Leading bits of a sample that the table keeps.
const BITS: u32 = 12;

/// Counts of samples, in a table of bounded size.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    counts: BTreeMap<u64, u64>,
    sum: u128,
    all: u64,
    min: u64,
    max: u64,
}

impl Samples {
    pub(super) fn add(&mut self, cycles: u64) {
        let low = u64::BITS.saturating_sub(cycles.leading_zeros()).saturating_sub(BITS);
        *self.counts.entry(cycles >> low << low).or_default() += 1;
        self.min = if self.all == 0 { cycles } else { self.min.min(cycles) };
        (self.max, self.sum, self.all) = (self.max.max(cycles), self.sum + u128::from(cycles), self.all + 1);
    }
    /// The statistics of all samples; zeros if there are none.
    pub(super) fn latency(&self) -> Latency {
        let mut before = 0;
        let median = self.counts.iter().find(|(_, count)| {
            before += *count;
            2 * before >= self.all
        });
        Latency {
            min: self.min,
            mean: self.sum as f64 / self.all.max(1) as f64,
            max: self.max,
            median: median.map_or(0, |(cycles, _)| *cycles),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_of_few_and_of_large_samples() {
        let mut samples = Samples::default();
        assert_eq!(samples.latency(), Latency::default());
        [7, 9, 4095].into_iter().for_each(|x| samples.add(x));
        assert_eq!(samples.latency(), Latency { min: 7, mean: 1370.0 + 1.0 / 3.0, max: 4095, median: 9 });
        (0..100_000).for_each(|_| samples.add(1_000_003));
        let Latency { median, max, .. } = samples.latency();
        assert!(max == 1_000_003 && median <= max && max - median < max >> (BITS - 1), "{median}");
    }
}
