//! The plan of a multi-scalar multiplication, as data.

use core::ops::Range;

/// Additions of a batch, around one inversion.
pub(super) const BATCH: usize = 1024;
/// Buckets that a pass works on, unless one window has more.
const BUCKETS: usize = 1 << 15;
/// Bits of the widest window.
const WIDEST: u32 = 20;
/// The smallest number of points that a thread gets.
const PART: usize = 1 << 12;

/// A window: the digits of all scalars at one position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The lowest bit.
    pub offset: u32,
    /// Bits: the digits have magnitudes up to 2^(bits - 1).
    pub bits: u32,
}

impl Window {
    /// Buckets: one for each magnitude except 0.
    pub fn buckets(self) -> usize {
        1 << (self.bits - 1)
    }
}

/// Windows whose buckets are filled together, in one pass over the points.
///
/// In a plan for multiples of points, a pass also covers the windows above: with window t also t + [`Plan::stride`],
/// and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The first window.
    pub first: usize,
    /// The number of windows.
    pub windows: usize,
}

impl Pass {
    pub(super) fn range(self) -> Range<usize> {
        self.first..self.first + self.windows
    }
}

/// The expected work of a plan, for digits that are spread evenly over their buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Additions of points to buckets.
    pub additions: f64,
    /// Additions of weighted buckets.
    pub aggregation: f64,
    /// Additions for which a bucket was busy in the batch, so that points were first added to each other.
    pub conflicts: f64,
    /// Inversions, one for each batch.
    pub inversions: f64,
    /// Doublings between windows.
    pub doublings: f64,
    /// Bytes of points and scalars that are read, for the given bytes of a point.
    pub bytes: f64,
}

/// The windows and passes of a multi-scalar multiplication, chosen by the lengths of its scalars.
///
/// Points are read once for each pass. With more threads than passes, points are cut into parts, whose buckets are
/// summed separately.
///
/// For points that come with multiples ([`FixedBase`](super::FixedBase)), the windows t, t + s, t + 2 s, .. share
/// buckets,
/// each with its own multiple.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The number of scalars with more than b bits, for each b up to the longest.
    longer: Vec<usize>,
    windows: Vec<Window>,
    /// s.
    stride: usize,
    passes: Vec<Pass>,
    parts: usize,
}

/// The number of scalars with more than b bits, for each b up to the longest, from the number with b bits.
fn longer(lengths: &[usize]) -> Vec<usize> {
    let longest = lengths.iter().rposition(|&n| n > 0).unwrap_or(0);
    assert!(longest < 255, "magnitudes have at most 254 bits: {longest}");
    let mut longer: Vec<usize> = lengths[..lengths.len().min(longest + 1)].to_vec();
    let mut sum = 0;
    for count in longer.iter_mut().rev() {
        (*count, sum) = (sum, sum + *count);
    }
    longer.truncate(longest);
    longer
}

impl Plan {
    /// For scalars whose magnitudes are at most half the order: `lengths[b]` of them have b bits.
    ///
    /// The cheapest split for this many threads by the model of `docs/msm.md`: the widths of all windows differ by at
    /// most one bit.
    ///
    /// # Panics
    /// If a length is above 254.
    pub fn of_lengths(lengths: &[usize], threads: usize) -> Self {
        let longer = longer(lengths);
        // One bit more than the magnitude, for the sign of digits.
        let bits = longer.len() as u32 + 1;
        if longer.is_empty() {
            return Self::of_windows(longer, Vec::new(), 0, threads);
        }
        let plan = |count| Self::of_windows(longer.clone(), even(bits, count), count as usize, threads);
        (bits.div_ceil(WIDEST)..=bits.div_ceil(2))
            .map(plan)
            .min_by(|a, b| a.time(threads).total_cmp(&b.time(threads)))
            .expect("a number of windows")
    }

    /// For `points` random scalars of `bits` bits, where each point may come with `copies` multiples of it, itself included.
    ///
    /// The cheapest by the same model.
    pub(super) fn of_copies(points: usize, bits: u32, copies: usize, threads: usize) -> Self {
        let plan = |width: u32| {
            let windows = equal(bits + 1, width);
            let stride = windows.len().div_ceil(copies);
            Self::of_windows(vec![points; bits as usize], windows, stride, threads)
        };
        (2..=WIDEST).map(plan).min_by(|a, b| a.time(threads).total_cmp(&b.time(threads))).expect("a width")
    }

    /// The same windows, as far as scalars of the given lengths reach.
    pub(super) fn shortened(&self, lengths: &[usize], threads: usize) -> Self {
        let longer = longer(lengths);
        let mut windows = self.windows.clone();
        windows.truncate(windows.iter().take_while(|w| (w.offset as usize) < longer.len() + 1).count());
        if longer.is_empty() {
            windows.clear();
        }
        let stride = self.stride.min(windows.len());
        Self::of_windows(longer, windows, stride, threads)
    }

    /// For `points` random scalars of `bits` bits, in windows of the given widths from the lowest: for example
    /// `[12; 6]` followed by `[13; 14]`.
    ///
    /// # Panics
    /// If `bits` is above 254, if a width is 0 or above 30, or if the sum of the widths is not `bits` + 1.
    pub fn of_widths(points: usize, bits: u32, widths: &[u32], threads: usize) -> Self {
        assert!(bits < 255, "magnitudes have at most 254 bits: {bits}");
        let mut offset = 0;
        let windows = widths.iter().map(|&bits| {
            assert!((1..=30).contains(&bits), "a window of {bits} bits: from 1 to 30 are possible");
            let window = Window { offset, bits };
            offset += bits;
            window
        });
        let windows: Vec<Window> = windows.collect();
        assert_eq!(offset, bits + 1, "windows need a bit more than magnitudes have");
        let stride = windows.len();
        Self::of_windows(vec![points; bits as usize], windows, stride, threads)
    }

    fn of_windows(longer: Vec<usize>, windows: Vec<Window>, stride: usize, threads: usize) -> Self {
        let points = longer.first().copied().unwrap_or(0);
        let mut passes: Vec<Pass> = Vec::new();
        let mut buckets = 0;
        for (at, window) in windows[..stride].iter().enumerate() {
            buckets += window.buckets();
            let alone = buckets > BUCKETS || points >= threads * PART && threads > 1;
            match passes.last_mut() {
                Some(pass) if !alone => pass.windows += 1,
                _ => {
                    passes.push(Pass { first: at, windows: 1 });
                    buckets = window.buckets();
                }
            }
        }
        // As many tasks as threads can share evenly, each with enough points.
        let most = (points / PART).max(1);
        let parts =
            (1..=threads.min(most)).find(|p| (p * passes.len()).is_multiple_of(threads)).unwrap_or(most.min(threads));
        Self { longer, windows, stride, passes, parts }
    }

    /// The windows, from the lowest.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// The number of windows with separate buckets: all windows, unless points come with multiples.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Bits of the longest magnitude that the windows cover.
    pub fn bits(&self) -> u32 {
        self.windows.last().map_or(0, |w| w.offset + w.bits - 1)
    }

    /// The passes over the points.
    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// The number of parts into which the points are cut.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Additions of a batch.
    pub fn batch(&self) -> usize {
        BATCH
    }

    /// The number of digits that go to the buckets of window `first`, for one part.
    fn digits(&self, first: usize) -> f64 {
        let windows = self.windows.iter().skip(first).step_by(self.stride);
        let digits = |w: &Window| self.longer.get(w.offset as usize).map_or(0.0, |&n| n as f64);
        windows.map(digits).sum::<f64>() / self.parts as f64
    }

    /// The expected work, where a point takes `point` bytes.
    pub fn expected(&self, point: usize) -> Expected {
        let parts = self.parts as f64;
        let mut sum = Expected {
            additions: 0.0,
            aggregation: 0.0,
            conflicts: 0.0,
            inversions: 0.0,
            doublings: self.doublings(),
            bytes: self.passes.len() as f64 * self.longer.first().map_or(0.0, |&n| n as f64) * (point + 32) as f64,
        };
        for (first, window) in self.windows[..self.stride].iter().enumerate() {
            let (digits, buckets) = (self.digits(first), window.buckets() as f64);
            // Digits 0 have no bucket, and the first point of a bucket takes no addition.
            let points = digits * (1.0 - 0.5 / buckets);
            let filled = buckets * (1.0 - (-points / buckets).exp());
            sum.additions += parts * (points - filled);
            sum.aggregation += parts * (2.0 * filled).max(0.0);
            sum.conflicts += parts * points * (BATCH as f64 / (2.0 * buckets)).min(0.5);
        }
        sum.inversions = (sum.additions + sum.aggregation) / BATCH as f64;
        sum
    }

    /// Doublings between the windows' sums.
    fn doublings(&self) -> f64 {
        self.windows[..self.stride].last().map_or(0.0, |w| w.offset as f64)
    }

    /// The model's time on `threads`, in additions of a full batch.
    pub(super) fn time(&self, threads: usize) -> f64 {
        let pass = |pass: &Pass| {
            let buckets: usize = self.windows[pass.range()].iter().map(|w| w.buckets()).sum();
            // Sums that do not fit the second-level cache are slower.
            let slow = 1.0 + 0.04 * (buckets as f64 / 16384.0).log2().max(0.0);
            let windows = pass.range().map(|first| {
                let (digits, buckets) = (self.digits(first), self.windows[first].buckets() as f64);
                digits * slow + 2.1 * buckets.min(digits) + 0.02 * buckets + 20.0
            });
            // Batches that are not full when buckets are done.
            windows.sum::<f64>() + 2000.0
        };
        let total: f64 = self.passes.iter().map(pass).sum();
        let tasks = self.passes.len() * self.parts;
        // A single addition takes as long as several in a batch.
        total / self.passes.len().max(1) as f64 * tasks.div_ceil(threads) as f64 + 4.0 * self.doublings()
    }
}

/// Windows of one width; the highest one is as narrow as possible.
fn equal(bits: u32, width: u32) -> Vec<Window> {
    let window = |offset| Window { offset, bits: width.min(bits - offset) };
    (0..bits).step_by(width as usize).map(window).collect()
}

/// `count` windows of almost equal widths, the wider ones below.
fn even(bits: u32, count: u32) -> Vec<Window> {
    let mut offset = 0;
    let window = |k| {
        let bits = bits / count + u32::from(k < bits % count);
        offset += bits;
        Window { offset: offset - bits, bits }
    };
    (0..count).map(window).collect()
}
