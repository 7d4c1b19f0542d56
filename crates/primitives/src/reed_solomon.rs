//! Reed-Solomon codes in soundness figures: how many codewords lie near a word, and the errors of challenges and
//! queries about a word.
//!
//! A [`Code`] is a rate and a radius. Its methods give -log2 of the error of one step of a proof. The figures of every
//! profile are computed with these methods, and so are the published figures of other systems in `vectors/soundcalc`.
//!
//! Notation: rho the rate, N the points of a domain, |K| the order of the field of challenges, L the list size, 1 - delta the agreement.

use core::f64::consts::E;

#[cfg(not(feature = "std"))]
use crate::float::Float;

/// Codes of one rate, and a radius around their words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Code {
    /// log2 |K|.
    pub field_bits: f64,
    /// rho.
    pub rate: f64,
    /// L: the greatest number of codewords within the radius of one word.
    pub list_size: f64,
    /// 1 - delta: the greatest agreement of a word outside the radius with a codeword.
    pub agreement: f64,
    /// The multiplicity of the interpolation; `None` where the bound of lines is that of unique decoding.
    pub multiplicity: Option<f64>,
}

impl Code {
    /// Up to half the minimum distance. [`Code::fold`] and [`Code::curve`] use BCHKS25's corollary 1.4 (ePrint
    /// 2025/2055) at the end of the radius, as ethereum/soundcalc does, outside its stated range. The bound that is
    /// proven there for a line is N / |K| (ePrint 2020/654).
    pub fn unique_decoding(field_bits: f64, rate: f64) -> Self {
        Self { field_bits, rate, list_size: 1.0, agreement: (1.0 + rate) / 2.0, multiplicity: None }
    }
    /// The greatest radius below the Johnson bound for a multiplicity: BCHKS25, theorem 4.2; L is that of the interpolation.
    pub fn johnson(field_bits: f64, rate: f64, multiplicity: f64) -> Self {
        let root = rate.sqrt();
        let list_size = (multiplicity + 0.5) / root;
        let agreement = root * (1.0 + 0.5 / multiplicity);
        Self { field_bits, rate, list_size, agreement, multiplicity: Some(multiplicity) }
    }
    /// The radius 1 - sqrt(rho) - gap, with the least multiplicity that reaches it (3 at least), and the Johnson bound 1 / (2 gap sqrt(rho)) for L.
    /// No profile uses this radius; other systems state theirs in this way.
    pub fn below_johnson(field_bits: f64, rate: f64, gap: f64) -> Self {
        let root = rate.sqrt();
        let multiplicity = (root / (2.0 * gap)).ceil().max(3.0);
        let list_size = 1.0 / (2.0 * gap * root);
        Self { field_bits, rate, list_size, agreement: root + gap, multiplicity: Some(multiplicity) }
    }
    /// The radius at which random words begin to have close codewords: a conjecture (ePrint 2025/2010, section 1.5).
    pub fn random_words(field_bits: f64, rate: f64) -> Self {
        let agreement = rate + (E / rate).log2() * rate / field_bits;
        Self { agreement, ..Self::unique_decoding(field_bits, rate) }
    }

    /// The exceptional points of a line through two words on `points` points.
    fn line(&self, points: f64) -> f64 {
        let rho = self.rate;
        match self.multiplicity {
            None => (1.0 - rho) / 2.0 * points + 1.0,
            Some(multiplicity) => {
                let (x, root) = (multiplicity + 0.5, rho.sqrt());
                let delta = 1.0 - self.agreement;
                (2.0 * x.powi(5) + 3.0 * x * delta * rho) * points / (3.0 * rho * root) + x / root
            }
        }
    }
    /// `count` exceptional challenges for each codeword of the list: L count / |K|. For example, a polynomial identity
    /// of this degree.
    pub fn each(&self, count: f64) -> f64 {
        self.field_bits - (self.list_size * count).log2()
    }
    /// Words on `points` points, combined by a curve: as many lines as its degree.
    pub fn curve(&self, points: f64, degree: f64) -> f64 {
        self.field_bits - (degree * self.line(points)).log2()
    }
    /// A fold of two words on `points` points, together with a SumCheck round: `degree` challenges for each codeword
    /// (WHIR, ePrint 2024/1586, theorem 5.2).
    pub fn fold(&self, points: f64, degree: f64) -> f64 {
        self.field_bits - (self.line(points) + degree * self.list_size).log2()
    }
    /// Two codewords of 2^`variables` coefficients in the list agree at `count` points outside the domain (ePrint
    /// 2024/1586, lemma 4.25).
    pub fn samples(&self, variables: f64, count: f64) -> f64 {
        1.0 - 2.0 * self.list_size.log2() + count * (self.field_bits - variables)
    }
    /// All queries miss the errors of a word outside the radius, after a proof of work of `grinding` bits.
    pub fn queries(&self, count: f64, grinding: f64) -> f64 {
        grinding - count * self.agreement.log2()
    }
}
