//! Logarithms, roots and powers of `f64`, which `core` lacks, for soundness figures.

/// Functions of the standard library that need more than `core`. With `std`, its own functions are called: an inherent
/// method takes precedence over a trait's.
pub trait Float: Sized {
    /// The base-2 logarithm, with an error below 2^-48; for zero or less it is that of the standard library.
    fn log2(self) -> Self;
    /// The square root of zero or a normal number, exact to the last bit but one; NaN for a number below zero.
    fn sqrt(self) -> Self;
    /// The power.
    fn powi(self, exponent: i32) -> Self;
    /// The least integer that is not less than the number, which is below 2^63.
    fn ceil(self) -> Self;
}

impl Float for f64 {
    fn log2(self) -> f64 {
        if self.is_nan() || self < 0.0 {
            return f64::NAN;
        }
        if self == 0.0 {
            return f64::NEG_INFINITY;
        }
        if self.is_infinite() {
            return self;
        }
        // Numbers with a leading zero bit have the least exponent.
        let (x, shift) = if self < f64::MIN_POSITIVE { (self * power(2.0, 54), -54.0) } else { (self, 0.0) };
        let bits = x.to_bits();
        let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
        let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
        if m > core::f64::consts::SQRT_2 {
            (m, exponent) = (m / 2.0, exponent + 1);
        }
        // ln m = 2 atanh((m - 1) / (m + 1)), of an argument below 0.172: 22 terms.
        let t = (m - 1.0) / (m + 1.0);
        let sum = (0..22).rev().fold(0.0, |sum, i| sum * t * t + 1.0 / f64::from(2 * i + 1));
        2.0 * t * sum * core::f64::consts::LOG2_E + exponent as f64 + shift
    }
    fn sqrt(self) -> f64 {
        if self == 0.0 || self.is_nan() || self == f64::INFINITY {
            return self;
        }
        if self < 0.0 {
            return f64::NAN;
        }
        // Half of the exponent, then Newton's steps, each of which doubles the digits.
        let mut root = f64::from_bits((self.to_bits() >> 1) + (1023 << 51));
        for _ in 0..6 {
            root = 0.5 * (root + self / root);
        }
        root
    }
    fn powi(self, exponent: i32) -> f64 {
        power(self, exponent)
    }
    fn ceil(self) -> f64 {
        let truncated = self as i64 as f64;
        if truncated < self { truncated + 1.0 } else { truncated }
    }
}

/// x^exponent by squaring.
fn power(x: f64, exponent: i32) -> f64 {
    let (mut base, mut power) = (x, 1.0);
    let mut left = exponent.unsigned_abs();
    while left > 0 {
        if left & 1 == 1 {
            power *= base;
        }
        base *= base;
        left >>= 1;
    }
    if exponent < 0 { 1.0 / power } else { power }
}

#[cfg(test)]
mod tests {
    use super::Float;

    #[test]
    fn they_are_those_of_the_standard_library() {
        for i in 1..200_000u32 {
            let x = f64::from(i) * 1.7e-3;
            for x in [x, 1.0 / x, x * 1e200, x * 1e-200] {
                assert!((Float::log2(x) - f64::log2(x)).abs() < 1e-12, "log2 {x}");
                assert!((Float::sqrt(x) / f64::sqrt(x) - 1.0).abs() < 1e-15, "sqrt {x}");
            }
            assert_eq!(Float::ceil(x), f64::ceil(x));
            assert_eq!(Float::ceil(-x), f64::ceil(-x));
        }
        for e in -70..200 {
            assert_eq!(Float::powi(2.0, e), f64::powi(2.0, e));
            assert_eq!(Float::log2(f64::powi(2.0, e)), f64::from(e));
        }
        for x in [0.0, f64::INFINITY, f64::MIN_POSITIVE, f64::MAX] {
            assert!(Float::log2(x) == f64::log2(x) || (Float::log2(x) - f64::log2(x)).abs() < 1e-12, "{x}");
            assert!(Float::sqrt(x) == f64::sqrt(x) || (Float::sqrt(x) / f64::sqrt(x) - 1.0).abs() < 1e-15, "{x}");
        }
        assert_eq!(Float::log2(5e-324), -1074.0);
        assert!(Float::log2(-1.0).is_nan() && Float::sqrt(-1.0).is_nan());
    }
}
