//! What a multi-scalar multiplication will do, as data.

use core::ops::Range;

/// Additions of a batch, around one inversion.
pub(super) const BATCH: usize = 1024;
/// Buckets that a pass works on, unless one window has more.
const BUCKETS: usize = 1 << 15;
/// Bits of the widest window.
const WIDEST: u32 = 20;
/// Points of the smallest part that a thread gets.
const PART: usize = 1 << 12;

/// A window: the digits of all scalars at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The lowest bit.
    pub offset: u32,
    /// Bits: the digits have magnitudes up to 2^(bits - 1).
    pub bits: u32,
}

impl Window {
    /// Buckets: one for each magnitude but 0.
    pub fn buckets(self) -> usize {
        1 << (self.bits - 1)
    }
}

/// Windows whose buckets are filled together, by one reading of the points.
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

/// What is expected of a plan, for digits that are spread evenly over their buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Additions of points to buckets.
    pub additions: f64,
    /// Additions of buckets with their weights.
    pub aggregation: f64,
    /// Additions for which a bucket was busy in the batch, so that points met each other first.
    pub conflicts: f64,
    /// Inversions, one for each batch.
    pub inversions: f64,
    /// Doublings between windows.
    pub doublings: f64,
    /// Bytes of points and scalars that are read, for the bytes of a point as given.
    pub bytes: f64,
}

/// The windows and passes of a multi-scalar multiplication, chosen by the lengths of its scalars.
///
/// Points are read once for each pass. With more threads than passes, points are cut into parts, whose buckets are added
/// up apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Scalars that have more than b bits, for each b up to the longest.
    longer: Vec<usize>,
    windows: Vec<Window>,
    passes: Vec<Pass>,
    parts: usize,
}

impl Plan {
    /// For scalars whose magnitudes, at most half the order, have so many bits: `lengths[b]` of them have b.
    ///
    /// The cheapest split for so many threads by the model of `docs/msm.md`: all windows of almost equal width, which may
    /// differ by a bit.
    ///
    /// # Panics
    /// If a length is above 254.
    pub fn of_lengths(lengths: &[usize], threads: usize) -> Self {
        let longest = lengths.iter().rposition(|&n| n > 0).unwrap_or(0);
        assert!(longest < 255, "magnitudes have at most 254 bits: {longest}");
        let mut longer: Vec<usize> = lengths[..lengths.len().min(longest + 1)].to_vec();
        let mut sum = 0;
        for count in longer.iter_mut().rev() {
            (*count, sum) = (sum, sum + *count);
        }
        longer.truncate(longest);
        if longest == 0 {
            return Self { longer, windows: Vec::new(), passes: Vec::new(), parts: 1 };
        }
        // A bit more than the magnitude, for the sign of digits.
        let bits = longest as u32 + 1;
        let plan = |count| Self::of_windows(longer.clone(), even(bits, count), threads);
        (bits.div_ceil(WIDEST)..=bits.div_ceil(2))
            .map(plan)
            .min_by(|a, b| a.seconds(threads).total_cmp(&b.seconds(threads)))
            .expect("a number of windows")
    }

    /// For `points` random scalars of `bits` bits, in windows of the given widths from the lowest: `[12; 6]` and `[13; 14]` one
    /// after the other, for instance.
    ///
    /// # Panics
    /// If a width is 0 or above 30, or the widths don't add up to one more than `bits`.
    pub fn of_widths(points: usize, bits: u32, widths: &[u32], threads: usize) -> Self {
        let mut offset = 0;
        let windows = widths.iter().map(|&bits| {
            assert!((1..=30).contains(&bits), "a window of {bits} bits: from 1 to 30 are possible");
            let window = Window { offset, bits };
            offset += bits;
            window
        });
        let windows = windows.collect();
        assert_eq!(offset, bits + 1, "windows need a bit more than magnitudes have");
        Self::of_windows(vec![points; bits as usize], windows, threads)
    }

    fn of_windows(longer: Vec<usize>, windows: Vec<Window>, threads: usize) -> Self {
        let mut passes = vec![Pass { first: 0, windows: 1 }];
        let mut buckets = windows[0].buckets();
        for (at, window) in windows.iter().enumerate().skip(1) {
            let pass = passes.last_mut().expect("the first");
            buckets += window.buckets();
            if buckets > BUCKETS || longer[0] >= threads * PART && threads > 1 {
                passes.push(Pass { first: at, windows: 1 });
                buckets = window.buckets();
            } else {
                pass.windows += 1;
            }
        }
        // As many tasks as threads can share evenly, of not too few points.
        let most = (longer[0] / PART).max(1);
        let parts =
            (1..=threads.min(most)).find(|p| (p * passes.len()).is_multiple_of(threads)).unwrap_or(most.min(threads));
        Self { longer, windows, passes, parts }
    }

    /// The windows, from the lowest.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// The passes over the points.
    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// Into how many parts the points are cut.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Additions of a batch.
    pub fn batch(&self) -> usize {
        BATCH
    }

    /// Scalars that have a digit in the window, of one part.
    fn digits(&self, window: Window) -> f64 {
        self.longer.get(window.offset as usize).map_or(0.0, |&n| n as f64) / self.parts as f64
    }

    /// What it costs, where a point takes `point` bytes.
    pub fn expected(&self, point: usize) -> Expected {
        let parts = self.parts as f64;
        let mut sum = Expected {
            additions: 0.0,
            aggregation: 0.0,
            conflicts: 0.0,
            inversions: 0.0,
            doublings: self.windows.last().map_or(0.0, |w| w.offset as f64),
            bytes: self.passes.len() as f64 * self.longer.first().map_or(0.0, |&n| n as f64) * (point + 32) as f64,
        };
        for &window in &self.windows {
            let (digits, buckets) = (self.digits(window), window.buckets() as f64);
            // Digits 0 have no bucket, and a bucket takes its first point without an addition.
            let points = digits * (1.0 - 0.5 / buckets);
            let filled = buckets * (1.0 - (-points / buckets).exp());
            sum.additions += parts * (points - filled);
            sum.aggregation += parts * (2.0 * filled).max(0.0);
            sum.conflicts += parts * points * (BATCH as f64 / (2.0 * buckets)).min(0.5);
        }
        sum.inversions = (sum.additions + sum.aggregation) / BATCH as f64;
        sum
    }

    /// The model's time on `threads`, in additions.
    fn seconds(&self, threads: usize) -> f64 {
        let pass = |pass: &Pass| {
            let buckets: usize = self.windows[pass.range()].iter().map(|w| w.buckets()).sum();
            // Sums that don't fit the second-level cache come slower.
            let slow = 1.0 + 0.04 * (buckets as f64 / 16384.0).log2().max(0.0);
            let windows = self.windows[pass.range()].iter().map(|&window| {
                let (digits, buckets) = (self.digits(window), window.buckets() as f64);
                digits * slow + 2.1 * buckets.min(digits) + 0.02 * buckets + 20.0
            });
            // Batches that are not full when buckets are done.
            windows.sum::<f64>() + 2000.0
        };
        let total: f64 = self.passes.iter().map(pass).sum();
        let tasks = self.passes.len() * self.parts;
        total / self.passes.len() as f64 * tasks.div_ceil(threads) as f64
    }
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
