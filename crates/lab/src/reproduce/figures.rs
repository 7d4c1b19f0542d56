//! Short constructors for the figures of reproductions.

use evergrove_plot::{Axis, Figure, Origin, Point, Scale, Series};

/// An axis.
pub(super) fn axis(label: &str, column: &'static str, scale: Scale) -> Axis {
    Axis { label: label.to_owned(), column, scale }
}

/// A series whose points all have the same origin.
pub(super) fn series(name: impl Into<String>, origin: Origin, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
    let points = points.into_iter().map(|(x, y)| Point { x, y, origin }).collect();
    Series { name: name.into(), points }
}

/// A figure.
pub(super) fn figure(title: impl Into<String>, x: Axis, y: Axis, series: Vec<Series>) -> Figure {
    Figure { title: title.into(), x, y, series }
}
