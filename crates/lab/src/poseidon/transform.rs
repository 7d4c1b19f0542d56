//! The transform in front of the leaf hasher, word by word: two chains of butterflies with delay lines (single-path
//! delay feedback). The inverse chain turns the values of a column into coefficients; the forward chain turns these
//! into values on the larger coset.
//!
//! ```text
//!  column --> [n/2] -> .. -> [2] -> [1] --coefficients, bits reversed--> (x factors, zeros between) --> [1] -> [2] -> .. -> [N/2] --> rows
//! ```
//!
//! A stage with a delay line of d words stores the first d of 2 d words, then computes sums and differences with the
//! next d. The differences leave while the line fills again. The inverse chain takes values in order and emits
//! coefficients in bit-reversed order. The forward chain takes that order, with the zeros of the padding between
//! coefficients. In a chain of n words the first word leaves when the last one enters, n - 1 cycles after the first.

use evergrove_primitives::Goldilocks;

/// Butterflies with one delay line.
struct Stage {
    /// Powers of the root of unity whose order is twice the length of the line.
    twiddles: Vec<Goldilocks>,
    /// Whether the twiddle comes before the butterfly (from bit-reversed order) or after it.
    before: bool,
    line: Vec<Goldilocks>,
    /// Words that have entered.
    came: usize,
}

impl Stage {
    fn new(log_delay: u32, root: Goldilocks, before: bool) -> Self {
        let delay = 1 << log_delay;
        let twiddles = std::iter::successors(Some(Goldilocks::ONE), |power| Some(*power * root)).take(delay).collect();
        Self { twiddles, before, line: vec![Goldilocks::ZERO; delay], came: 0 }
    }
    /// Takes a word. Emits another one, except while the line fills for the first time.
    fn step(&mut self, word: Goldilocks) -> Option<Goldilocks> {
        let delay = self.line.len();
        let (slot, second) = (self.came % delay, self.came / delay % 2 == 1);
        let (kept, twiddle) = (self.line[slot], self.twiddles[slot]);
        let out = if second {
            let word = if self.before { word * twiddle } else { word };
            let difference = kept - word;
            self.line[slot] = if self.before { difference } else { difference * twiddle };
            kept + word
        } else {
            self.line[slot] = word;
            kept
        };
        self.came += 1;
        (self.came > delay).then_some(out)
    }
}

/// A chain of stages.
struct Chain(Vec<Stage>);

impl Chain {
    /// The transform of 2^`log` words: the inverse one takes them in order, the forward one in bit-reversed order.
    fn new(log: u32, inverse: bool) -> Self {
        let stage = |delay: u32| {
            let root = Goldilocks::root_of_unity(delay + 1).expect("at most 2^32 rows");
            let root = if inverse { root.inverse().expect("a root of unity") } else { root };
            Stage::new(delay, root, !inverse)
        };
        Self(if inverse { (0..log).rev().map(stage).collect() } else { (0..log).map(stage).collect() })
    }
    fn step(&mut self, word: Goldilocks) -> Option<Goldilocks> {
        self.0.iter_mut().try_fold(word, |word, stage| stage.step(word))
    }
}

/// The transform of one column.
struct Transform {
    inverse: Chain,
    forward: Chain,
    /// The factor of each coefficient, in the order in which they leave the inverse chain.
    factors: Vec<Goldilocks>,
    blowup: usize,
}

impl Transform {
    fn new(log_trace: u32, log_blowup: u32) -> Self {
        let n = 1_u64 << log_trace;
        let scale = Goldilocks::reduce(n).inverse().expect("a power of two");
        let powers: Vec<Goldilocks> =
            std::iter::successors(Some(scale), |power| Some(*power * Goldilocks::GENERATOR)).take(n as usize).collect();
        let reverse = |i: usize| if log_trace == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - log_trace) };
        Self {
            inverse: Chain::new(log_trace, true),
            forward: Chain::new(log_trace + log_blowup, false),
            factors: (0..powers.len()).map(|i| powers[reverse(i)]).collect(),
            blowup: 1 << log_blowup,
        }
    }
    /// Returns the extension of a column, and the number of words that the forward chain took before the first one
    /// left.
    fn column(mut self, values: &[Goldilocks]) -> (Vec<Goldilocks>, usize) {
        let (n, rows) = (values.len(), values.len() * self.blowup);
        // Zeros after the column push its last words out.
        let words = values.iter().copied().chain(std::iter::repeat(Goldilocks::ZERO));
        let coefficients: Vec<Goldilocks> = words.filter_map(|word| self.inverse.step(word)).take(n).collect();
        let padded = coefficients.iter().zip(&self.factors).flat_map(|(coefficient, factor)| {
            (0..self.blowup).map(move |i| if i == 0 { *coefficient * *factor } else { Goldilocks::ZERO })
        });
        let (mut out, mut before) = (Vec::with_capacity(rows), 0);
        for word in padded.chain(std::iter::repeat(Goldilocks::ZERO)) {
            match self.forward.step(word) {
                Some(value) => out.push(value),
                None => before += 1,
            }
            if out.len() == rows {
                break;
            }
        }
        (out, before)
    }
}

/// The extended matrix of a trace, row by row: the values of each column on the coset of `Goldilocks::GENERATOR` that
/// is 2^`log_blowup` times as large, in natural order. Each column has 2^k words.
///
/// # Panics
/// If the columns do not all have the same power of two of words, or the extension has more than 2^32 rows.
pub fn extend(trace: &[Vec<Goldilocks>], log_blowup: u32) -> Vec<Goldilocks> {
    let n = trace.first().map_or(1, Vec::len);
    assert!(n.is_power_of_two() && trace.iter().all(|column| column.len() == n), "columns of one power of two words");
    let columns: Vec<Vec<Goldilocks>> =
        trace.iter().map(|column| Transform::new(n.ilog2(), log_blowup).column(column).0).collect();
    (0..n << log_blowup).flat_map(|row| columns.iter().map(move |column| column[row])).collect()
}

#[cfg(test)]
mod tests {
    use evergrove_kernels::ntt::reference;

    use super::*;

    #[test]
    fn words_are_those_of_the_kernels_and_the_first_leaves_when_the_last_has_come() {
        for (log_trace, log_blowup) in [(0, 1), (1, 0), (3, 1), (5, 3), (8, 2)] {
            let mut word = Goldilocks::GENERATOR;
            let values: Vec<Goldilocks> = (0..1 << log_trace)
                .map(|_| {
                    word = word * word + Goldilocks::ONE;
                    word
                })
                .collect();
            let coefficients = reference::interpolate(&values, Goldilocks::ONE);
            let (found, before) = Transform::new(log_trace, log_blowup).column(&values);
            assert_eq!(found, reference::extend(&coefficients, log_blowup, Goldilocks::GENERATOR));
            assert_eq!(before, found.len() - 1);
        }
    }
}
