//! Literals: exact numbers and texts.

use evergrove_commit::schema::ColumnType;
use num_bigint::BigInt;
use sqlparser::ast::{DataType, Expr, UnaryOperator, Value};

use super::arithmetic;
use crate::aggregate::exact::Rational;

/// The most digits of a number.
const MAX_DIGITS: usize = 64;

/// A constant that a column is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Null,
    Number(Decimal),
    Text(String),
    Boolean(bool),
    /// A text with a type: `DATE '2024-01-31'`, `UUID '..'`.
    Typed(ColumnType, String),
}

/// An exact decimal number: `units` * 10^-`places`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    units: BigInt,
    places: u32,
}

/// A number in units of a column, rounded down to a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Floor {
    /// Whole units; clamped to 2^100 in absolute value.
    pub(super) floor: i128,
    /// True if the number is a whole number of units.
    pub(super) exact: bool,
}

impl Floor {
    /// A whole number.
    pub(super) const fn whole(floor: i128) -> Self {
        Self { floor, exact: true }
    }

    /// The number in units that are `size` times as large.
    pub(super) const fn per(self, size: i128) -> Self {
        Self { floor: self.floor.div_euclid(size), exact: self.exact && self.floor.rem_euclid(size) == 0 }
    }

    /// The number rounded up to a whole number of units.
    pub(super) fn ceiling(self) -> i128 {
        self.floor + !self.exact as i128
    }
}

impl Literal {
    /// The literal of an expression; `None` if the expression is not a literal.
    pub(super) fn of(e: &Expr) -> Option<Self> {
        match e {
            Expr::Nested(inner) => Self::of(inner),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
                Expr::Value(v) => number(&v.value).map(|d| Self::Number(Decimal { units: -d.units, ..d })),
                _ => arithmetic::constant(e).map(|value| Self::Number(Decimal::of(&value))),
            },
            Expr::Value(v) => match &v.value {
                Value::Null => Some(Self::Null),
                Value::SingleQuotedString(s) => Some(Self::Text(s.clone())),
                Value::Boolean(truth) => Some(Self::Boolean(*truth)),
                other => number(other).map(Self::Number),
            },
            Expr::TypedString(typed) => typed_text(&typed.data_type, &typed.value.value),
            Expr::Cast { expr, data_type, format: None, .. } => match &**expr {
                Expr::Value(v) => typed_text(data_type, &v.value),
                _ => None,
            },
            Expr::BinaryOp { .. } | Expr::UnaryOp { .. } => {
                arithmetic::constant(e).map(|value| Self::Number(Decimal::of(&value)))
            }
            _ => None,
        }
    }
}

/// A text with a type that columns can have.
fn typed_text(data_type: &DataType, value: &Value) -> Option<Literal> {
    let Value::SingleQuotedString(text) = value else { return None };
    let kind = match data_type {
        DataType::Date => ColumnType::Date,
        // With a number of digits, SQL would round the time.
        DataType::Timestamp(None, _) | DataType::TimestampNtz(None) | DataType::Datetime(None) => ColumnType::Timestamp,
        DataType::Uuid => ColumnType::Uuid,
        _ => return None,
    };
    Some(Literal::Typed(kind, text.clone()))
}

/// A number of plain digits with at most one point.
fn number(v: &Value) -> Option<Decimal> {
    let Value::Number(text, false) = v else { return None };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = [whole, fraction].concat();
    let plain = (1..=MAX_DIGITS).contains(&digits.len()) && digits.bytes().all(|c| c.is_ascii_digit());
    let units = if plain { BigInt::parse_bytes(digits.as_bytes(), 10)? } else { return None };
    Some(Decimal { units, places: fraction.len() as u32 })
}

impl Decimal {
    /// The number in units of 10^-`scale`, if it is a whole number of them.
    pub(super) fn whole(&self, scale: u8) -> Option<BigInt> {
        let scaled = &self.units * BigInt::from(10).pow(scale.into());
        let one = BigInt::from(10).pow(self.places);
        let quotient = &scaled / &one;
        (&quotient * &one == scaled).then_some(quotient)
    }

    /// The number. If it has too many decimal places, a number that compares in the same way with all numbers of a
    /// column.
    pub(super) fn of(value: &Rational) -> Self {
        if let Some(places) = value.places() {
            return Self { units: value.floor(places).0, places };
        }
        let places = MAX_DIGITS as u32;
        match value.floor(places) {
            (units, true) => Self { units, places },
            (units, false) => Self { units: units * 10 + 5, places: places + 1 },
        }
    }

    /// The number as a rational number.
    pub(super) fn rational(&self) -> Rational {
        Rational::of_units(self.units.clone(), self.places)
    }

    /// The number in units of 10^-`scale`.
    pub(super) fn at_scale(&self, scale: u8) -> Floor {
        let scaled = &self.units * BigInt::from(10).pow(scale.into());
        let one = BigInt::from(10).pow(self.places);
        let quotient = &scaled / &one;
        let exact = &quotient * &one == scaled;
        let negative = scaled < BigInt::ZERO;
        let limit = 1i128 << 100;
        let towards_zero = i128::try_from(&quotient).unwrap_or(if negative { -limit } else { limit });
        Floor { floor: towards_zero.clamp(-limit, limit) - (negative && !exact) as i128, exact }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_scale(text: &str, negative: bool, scale: u8) -> (i128, bool) {
        let d = number(&Value::Number(text.into(), false)).unwrap();
        let d = if negative { Decimal { units: -d.units, ..d } } else { d };
        let floor = d.at_scale(scale);
        (floor.floor, floor.exact)
    }

    #[test]
    fn numbers_are_exact_and_round_down() {
        assert_eq!(at_scale("1.505", false, 2), (150, false));
        assert_eq!(at_scale("1.505", true, 2), (-151, false));
        assert_eq!(at_scale("1.50", false, 1), (15, true));
        assert_eq!(at_scale("1.50", true, 1), (-15, true));
        assert_eq!(at_scale("0", true, 3), (0, true));
        assert_eq!(at_scale(".5", false, 0), (0, false));
        assert_eq!(at_scale(".5", true, 0), (-1, false));
        assert_eq!(at_scale("5.", false, 0), (5, true));
        assert_eq!(at_scale(&"9".repeat(64), false, 18), (1 << 100, true));
        assert_eq!(at_scale(&"9".repeat(64), true, 18), (-(1 << 100), true));
    }

    #[test]
    fn other_forms_are_no_numbers() {
        for text in ["1e3", "", ".", "1.2.3", "0x1", &"1".repeat(65)] {
            assert_eq!(number(&Value::Number(text.into(), false)), None, "{text:?}");
        }
        assert_eq!(number(&Value::Number("1".into(), true)), None);
    }
}
