//! The group that the machine adds in: nothing for timing only, or the points of a curve.

/// An Abelian group.
pub trait Group {
    /// A point.
    type Point: Clone;
    /// The neutral element.
    fn identity(&self) -> Self::Point;
    /// The sum. It must be complete: right for equal, opposite and neutral operands.
    fn add(&self, a: &Self::Point, b: &Self::Point) -> Self::Point;
    /// The inverse.
    fn negate(&self, a: &Self::Point) -> Self::Point;
}

/// The group without data, for timing only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing;

impl Group for Timing {
    type Point = ();
    fn identity(&self) {}
    fn add(&self, (): &(), (): &()) {}
    fn negate(&self, (): &()) {}
}
