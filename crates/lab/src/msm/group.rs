//! What is added: nothing when only time counts, or points of a curve.

/// An Abelian group, as the point adder computes in it.
pub trait Group {
    /// A point.
    type Point: Clone;
    /// The neutral point.
    fn identity(&self) -> Self::Point;
    /// The sum; complete.
    fn add(&self, a: &Self::Point, b: &Self::Point) -> Self::Point;
    /// The inverse.
    fn negate(&self, a: &Self::Point) -> Self::Point;
}

/// A group of nothing: timing only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing;

impl Group for Timing {
    type Point = ();
    fn identity(&self) {}
    fn add(&self, (): &(), (): &()) {}
    fn negate(&self, (): &()) {}
}
