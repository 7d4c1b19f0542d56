//! Arithmetic modulo the base field of BLS12-381 in circuits over Goldilocks.
//!
//! **What.** An element is 14 limbs of 28 bits ([`limbs`](evergrove_apps::bls::limbs)). [`Congruence`] shows that the
//! sum of a product of two elements and a linear part is 0 modulo p; [`limb_check`] shows that limbs are in range;
//! [`assert_canonical`] shows that an element is below p.
//!
//! **How.** A congruence is an identity of integers with a quotient that the prover supplies.
//! [`ProductGate`](crate::gates::ProductGate) checks it coefficient by coefficient in base 2^28 with carries. It costs
//! two rows, and ranges for 14 limbs of the quotient and 26 carries: 7.3 rows in all. docs/bls-keys.md has the bounds
//! that make the identity one of integers.
//!
//! **When.** In circuits of curve points ([`crate::apps::bls`]).

mod field;

pub(crate) use field::{ComplementGenerator, QuotientGenerator};
pub use field::{Congruence, Element, Linear, add, assert_canonical, limb_check, sub, witness};
