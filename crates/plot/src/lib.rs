//! Figures: series of points on logarithmic or linear axes, written as SVG, PNG and CSV.
//!
//! The marker of a point shows its origin, so a figure cannot present a computed or published value as measured.

use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::element::{Drawable, PointCollection};
use plotters::prelude::*;
use plotters::style::register_font;
use plotters_backend::{DrawingBackend, DrawingErrorKind};

/// Width and height of the SVG in pixels.
const SIZE: (u32, u32) = (1120, 630);
/// Pixels of the PNG per pixel of the SVG, for a resolution above full HD.
const PNG_SCALE: u32 = 2;
/// Pixels to the right of the plot, for the legend.
const LEGEND: u32 = 330;
/// Radius of a marker in pixels.
const RADIUS: i32 = 6;
/// Colours of the series in order: the palette of Okabe and Ito, which colour-blind readers can tell apart.
const PALETTE: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(90, 90, 90),
];

/// The reason why a figure was not drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// The figure has no point.
    #[error("figure {title:?} has no point")]
    Empty {
        /// The title of the figure.
        title: String,
    },
    /// A value is not finite, or not positive on a logarithmic axis.
    #[error("figure {title:?}: {value} does not fit the axis {axis:?}")]
    Axis {
        /// The title of the figure.
        title: String,
        /// The label of the axis.
        axis: String,
        /// The value.
        value: f64,
    },
    /// The embedded font cannot be read.
    #[error("the embedded font cannot be read")]
    Font,
    /// A file cannot be drawn or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl PlotError {
    fn file(path: &Path, e: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::File { path: path.to_owned(), source: e.into() }
    }
}

/// An error of a drawing backend.
type Drawing<B> = DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>;

/// The origin of a point, and its marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Measured by this program: a filled circle.
    Measured,
    /// Computed by a run of a model: a filled circle.
    Modelled,
    /// Computed from measurements: a hatched circle.
    Extrapolated,
    /// Published by others: a cross.
    Published,
    /// Derived by arithmetic from published values: an upright cross.
    Derived,
}

impl Origin {
    /// Whether others published the value, or the values that it follows from.
    fn is_foreign(self) -> bool {
        matches!(self, Self::Published | Self::Derived)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Measured => "measured",
            Self::Modelled => "modelled",
            Self::Extrapolated => "extrapolated",
            Self::Published => "published",
            Self::Derived => "derived",
        })
    }
}

/// A point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Position on the horizontal axis.
    pub x: f64,
    /// Position on the vertical axis.
    pub y: f64,
    /// Its origin.
    pub origin: Origin,
}

/// Points with one name and colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// The points, in the order of the line through them.
    pub points: Vec<Point>,
}

/// The spacing of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Ticks at multiples of 1, 2 or 5 times a power of ten. The axis begins at 0 if no value is negative.
    Linear,
    /// Ticks at powers of two.
    Log2,
    /// Ticks at powers of ten; on a short axis also at 2 and 5 times these.
    Log10,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The label beside the axis, with the unit.
    pub label: String,
    /// The name of the CSV column.
    pub column: &'static str,
    /// The spacing.
    pub scale: Scale,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The title above the plot.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series. At most seven have a colour of their own.
    pub series: Vec<Series>,
}

impl Figure {
    /// Writes `name.svg`, `name.png` and `name.csv` into `dir`, which is created if it does not exist. Returns the
    /// three paths.
    ///
    /// # Errors
    /// If there is no point, if a value is not finite or is not positive on a logarithmic axis, or if a file cannot be
    /// written.
    pub fn write(&self, dir: &Path, name: &str) -> Result<[PathBuf; 3], PlotError> {
        let [svg, png, csv] = ["svg", "png", "csv"].map(|ending| dir.join(format!("{name}.{ending}")));
        let axes = [self.coordinate(&self.x, |p| p.x)?, self.coordinate(&self.y, |p| p.y)?];
        fs::create_dir_all(dir).map_err(|e| PlotError::file(dir, e))?;
        register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular()).map_err(|_| PlotError::Font)?;
        self.draw(SVGBackend::new(&svg, SIZE).into_drawing_area(), 1, &axes).map_err(|e| PlotError::file(&svg, e))?;
        let size = (PNG_SCALE * SIZE.0, PNG_SCALE * SIZE.1);
        let bitmap = BitMapBackend::new(&png, size).into_drawing_area();
        self.draw(bitmap, PNG_SCALE, &axes).map_err(|e| PlotError::file(&png, e))?;
        fs::write(&csv, self.csv()).map_err(|e| PlotError::file(&csv, e))?;
        Ok([svg, png, csv])
    }

    /// A line of column names, then one line per point.
    fn csv(&self) -> String {
        let mut out = format!("series,{},{},origin\n", self.x.column, self.y.column);
        for series in &self.series {
            for Point { x, y, origin } in &series.points {
                out.push_str(&format!("{},{x},{y},{origin}\n", quote(&series.name)));
            }
        }
        out
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|s| &s.points)
    }

    fn coordinate(&self, axis: &Axis, of: impl Fn(&Point) -> f64) -> Result<Coordinate, PlotError> {
        let values: Vec<f64> = self.points().map(of).collect();
        if values.is_empty() {
            return Err(PlotError::Empty { title: self.title.clone() });
        }
        for value in &values {
            let fits = value.is_finite() && (axis.scale == Scale::Linear || *value > 0.0);
            if !fits {
                let (title, axis) = (self.title.clone(), axis.label.clone());
                return Err(PlotError::Axis { title, axis, value: *value });
            }
        }
        Ok(Coordinate::around(axis.scale, &values))
    }

    /// Draws the figure `scale` times as large.
    fn draw<B: DrawingBackend>(
        &self,
        root: DrawingArea<B, Shift>,
        scale: u32,
        axes: &[Coordinate; 2],
    ) -> Result<(), Drawing<B>>
    where
        B::ErrorType: 'static,
    {
        root.fill(&WHITE)?;
        let (plot, legend) = root.split_horizontally(scale * (SIZE.0 - LEGEND));
        let grid = BLACK.mix(0.15).stroke_width(scale);
        let mut chart = ChartBuilder::on(&plot)
            .caption(&self.title, ("sans-serif", 21 * scale))
            .margin(14 * scale)
            .x_label_area_size(52 * scale)
            .y_label_area_size(76 * scale)
            .build_cartesian_2d(axes[0].clone(), axes[1].clone())?;
        chart
            .configure_mesh()
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .axis_desc_style(("sans-serif", 18 * scale))
            .label_style(("sans-serif", 15 * scale))
            .axis_style(BLACK.stroke_width(scale))
            .bold_line_style(grid)
            .light_line_style(TRANSPARENT)
            .set_all_tick_mark_size(5 * scale)
            .draw()?;
        for (k, series) in self.series.iter().enumerate() {
            let color = PALETTE[k % PALETTE.len()];
            // A line through published points would claim values between them.
            let line = series.points.iter().filter(|p| !p.origin.is_foreign()).map(|p| (p.x, p.y));
            chart.draw_series(LineSeries::new(line, color.mix(0.7).stroke_width(2 * scale)))?;
        }
        for (k, series) in self.series.iter().enumerate() {
            let color = PALETTE[k % PALETTE.len()];
            for p in &series.points {
                chart.draw_series([Marker { at: (p.x, p.y), origin: p.origin, color, scale }])?;
            }
        }
        self.draw_legend(&legend, scale)?;
        root.present()?;
        Ok(())
    }

    fn draw_legend<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, scale: u32) -> Result<(), Drawing<B>>
    where
        B::ErrorType: 'static,
    {
        let named = self.series.iter().enumerate().map(|(k, s)| {
            let origin = s.points.first().map_or(Origin::Measured, |p| p.origin);
            let origin = if origin.is_foreign() { origin } else { Origin::Measured };
            (s.name.clone(), origin, PALETTE[k % PALETTE.len()])
        });
        let mut origins: Vec<Origin> = self.points().map(|p| p.origin).collect();
        origins.sort_unstable();
        origins.dedup();
        let kinds = origins.into_iter().map(|o| (o.to_string(), o, BLACK));
        let unit = scale as i32;
        let mut y = 60 * unit;
        for (text, origin, color) in named.chain(kinds) {
            area.draw(&Marker { at: (14 * unit, y), origin, color, scale })?;
            area.draw(&Text::new(text, (30 * unit, y - 5 * unit), ("sans-serif", 15 * scale)))?;
            y += 26 * unit;
        }
        Ok(())
    }
}

/// The marker of a point. Its size does not depend on the axes.
struct Marker<C> {
    at: C,
    origin: Origin,
    color: RGBColor,
    scale: u32,
}

impl<'a, C> PointCollection<'a, C> for &'a Marker<C> {
    type Point = &'a C;
    type IntoIter = core::iter::Once<&'a C>;

    fn point_iter(self) -> Self::IntoIter {
        core::iter::once(&self.at)
    }
}

impl<C, B: DrawingBackend> Drawable<B> for Marker<C> {
    fn draw<I: Iterator<Item = (i32, i32)>>(
        &self,
        at: I,
        backend: &mut B,
        _: (u32, u32),
    ) -> Result<(), DrawingErrorKind<B::ErrorType>> {
        let width = if self.origin.is_foreign() { 3 } else { 1 };
        let style = ShapeStyle { color: self.color.to_rgba(), filled: true, stroke_width: width * self.scale };
        let (unit, radius) = (self.scale as i32, RADIUS * self.scale as i32);
        for (x, y) in at {
            // Draws a line between two offsets from the centre.
            let mut line = |from: (i32, i32), to: (i32, i32)| {
                backend.draw_line((x + from.0, y + from.1), (x + to.0, y + to.1), &style)
            };
            match self.origin {
                Origin::Measured | Origin::Modelled => backend.draw_circle((x, y), radius as u32, &style, true)?,
                Origin::Extrapolated => {
                    line((-4 * unit, 4 * unit), (4 * unit, -4 * unit))?;
                    line((-5 * unit, 0), (0, -5 * unit))?;
                    line((0, 5 * unit), (5 * unit, 0))?;
                    backend.draw_circle((x, y), radius as u32, &style, false)?;
                }
                Origin::Published => {
                    line((-radius, -radius), (radius, radius))?;
                    line((-radius, radius), (radius, -radius))?;
                }
                Origin::Derived => {
                    line((-radius, 0), (radius, 0))?;
                    line((0, -radius), (0, radius))?;
                }
            }
        }
        Ok(())
    }
}

/// log2 of the greatest end of an axis with plain numbers. A longer axis shows powers of two.
const PLAIN: f64 = 11.0;

/// An axis that maps values to pixels.
#[derive(Clone, Debug)]
struct Coordinate {
    scale: Scale,
    /// The range of the scaled values.
    range: Range<f64>,
}

impl Coordinate {
    /// The axis that shows all `values`, with a margin.
    fn around(scale: Scale, values: &[f64]) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = match scale {
            Scale::Linear => (low.min(0.0), if high == low { low + 1.0 } else { high }),
            Scale::Log2 | Scale::Log10 => (forth(scale, low), forth(scale, high)),
        };
        let room = ((high - low) * 0.06).max(if scale == Scale::Linear { 0.0 } else { 0.1 });
        let below = if scale == Scale::Linear && low == 0.0 { 0.0 } else { room };
        Self { scale, range: low - below..high + room }
    }
}

/// The position of a value on an axis.
fn forth(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Linear => value,
        Scale::Log2 => value.log2(),
        Scale::Log10 => value.log10(),
    }
}

/// The value at a position on an axis.
fn back(scale: Scale, place: f64) -> f64 {
    match scale {
        Scale::Linear => place,
        Scale::Log2 => place.exp2(),
        Scale::Log10 => 10_f64.powf(place),
    }
}

/// The least of 1, 2 and 5 times a power of ten that is at least `step`.
fn round_up(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|m| m * power).find(|s| *s >= step).unwrap_or(10.0 * power)
}

impl Ranged for Coordinate {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let Range { start, end } = self.range;
        let part = (forth(self.scale, *value) - start) / (end - start);
        limit.0 + (part * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let Range { start, end } = self.range;
        let most = hint.max_num_points().clamp(2, 12) as f64;
        if self.scale == Scale::Log10 && end - start < 1.8 {
            // An axis of less than about two decades also has ticks at 2 and 5 times the powers.
            let decades = start.floor() as i32..=end.ceil() as i32;
            let ticks = decades.flat_map(|k| [1.0, 2.0, 5.0].map(|m| m * 10_f64.powi(k)));
            return ticks.filter(|v| (start..=end).contains(&v.log10())).collect();
        }
        let step = match self.scale {
            Scale::Linear => round_up((end - start) / most),
            // Whole powers only.
            Scale::Log2 | Scale::Log10 => ((end - start) / most).ceil().max(1.0),
        };
        let first = (start / step).ceil() as i64;
        let places = (first..).map(|k| k as f64 * step).take_while(|p| *p <= end);
        places.map(|p| back(self.scale, p)).collect()
    }

    fn range(&self) -> Range<f64> {
        back(self.scale, self.range.start)..back(self.scale, self.range.end)
    }
}

impl ValueFormatter<f64> for Coordinate {
    fn format_ext(&self, value: &f64) -> String {
        match self.scale {
            Scale::Linear => format!("{:.10}", value).trim_end_matches('0').trim_end_matches('.').to_owned(),
            Scale::Log2 if self.range.end < PLAIN => format!("{}", value.round()),
            Scale::Log2 => format!("2^{}", value.log2().round()),
            Scale::Log10 if (0.001..100_000.0).contains(value) => {
                format!("{value:.4}").trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            Scale::Log10 => format!("1e{}", value.log10().round()),
        }
    }
}

/// A cell of a CSV file, in quotes if necessary.
pub fn quote(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(points: &[(f64, f64, Origin)]) -> Figure {
        let points = points.iter().map(|(x, y, origin)| Point { x: *x, y: *y, origin: *origin }).collect();
        let axis = |column: &'static str, scale| Axis { label: column.to_owned(), column, scale };
        Figure {
            title: "times".to_owned(),
            x: axis("batch", Scale::Log2),
            y: axis("seconds", Scale::Log10),
            series: vec![Series { name: "ours, \"wrapped\"".to_owned(), points }],
        }
    }

    #[test]
    fn every_point_is_in_the_three_files() {
        let dir = std::env::temp_dir().join(format!("evergrove-plot-{}", std::process::id()));
        let points =
            [(4.0, 0.5, Origin::Measured), (64.0, 30.0, Origin::Extrapolated), (4096.0, 16.61, Origin::Published)];
        let [svg, png, csv] = figure(&points).write(&dir, "test").unwrap();
        let text = fs::read_to_string(svg).unwrap();
        // One filled and one open circle for the points, the same in the legend of origins, and a filled one for the
        // name.
        assert_eq!(text.matches("<circle").count(), 5, "{text}");
        for label in ["times", "batch", "seconds", "2^12", "measured", "extrapolated", "published"] {
            assert!(text.contains(label), "{label} is missing");
        }
        let png = fs::read(png).unwrap();
        assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
        assert_eq!(
            fs::read_to_string(csv).unwrap(),
            "series,batch,seconds,origin\n\"ours, \"\"wrapped\"\"\",4,0.5,measured\n\"ours, \"\"wrapped\"\"\",64,30,extrapolated\n\"ours, \"\"wrapped\"\"\",4096,16.61,published\n"
        );
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_figure_that_can_not_be_drawn_is_refused_before_a_file_is_made() {
        let dir = std::env::temp_dir().join(format!("evergrove-plot-none-{}", std::process::id()));
        for points in [
            &[][..],
            &[(1.0, 0.0, Origin::Measured)],
            &[(-1.0, 1.0, Origin::Measured)],
            &[(1.0, f64::NAN, Origin::Measured)],
            &[(f64::INFINITY, 1.0, Origin::Measured)],
        ] {
            assert!(figure(points).write(&dir, "test").is_err(), "{points:?}");
        }
        assert!(!dir.exists());
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let ticks = |scale, values: &[f64], most: usize| Coordinate::around(scale, values).key_points(most);
        assert_eq!(
            ticks(Scale::Log2, &[4.0, 4096.0], 20),
            [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0]
        );
        assert_eq!(ticks(Scale::Log10, &[0.5, 2000.0], 20), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(ticks(Scale::Linear, &[1.0, 9.0], 5), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(ticks(Scale::Log10, &[0.3, 4.0], 20), [0.5, 1.0, 2.0, 5.0]);
        // A single value has an axis with one tick.
        assert_eq!(ticks(Scale::Log2, &[8.0], 5), [8.0]);
        assert_eq!(ticks(Scale::Linear, &[0.0], 4), [0.0, 0.5, 1.0]);
    }
}
