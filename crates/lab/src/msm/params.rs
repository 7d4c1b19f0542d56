//! What a multiplier is, and its work.

use evergrove_kernels::msm::Plan;
use serde::{Deserialize, Serialize};

use super::formula;
use crate::LabError;
use crate::engine::MemoryKind;
use crate::error::{field, power_of_two, within};

/// What happens to a point whose bucket is in the adder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hazards {
    /// Nothing: the paper's count. No machine can do that, so that it is for timing only.
    Ignored,
    /// All PEs that share the point wait.
    Stall,
    /// It waits in a queue of `conflict_queue` points, while others pass.
    Queue,
}

/// How a window's buckets are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregation {
    /// In no time: the paper's count. Timing only.
    Free,
    /// By one running sum: two additions a bucket, each waiting for the one before.
    Serial,
    /// By `segments` running sums side by side, then a running sum over the segments.
    Segmented,
    /// As segmented, a pass's buckets in the adder's free cycles while the next pass is classified into a second bucket memory:
    /// the paper's claim.
    Overlapped,
}

/// A multiplier with its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// log2 of the points.
    pub log_points: u32,
    /// Bits of a scalar.
    pub scalar_bits: u32,
    /// Bits of the windows, the lowest first. One bit more than the scalar in all.
    pub windows: Vec<u32>,
    /// Windows that are classified at a time: horizontal unrolling.
    pub parallel_windows: u32,
    /// Points that are classified at a time: vertical unrolling.
    pub parallel_points: u32,
    /// Chiplets that share the PEs.
    pub chiplets: u32,
    /// Each PE makes a product of its own: Gypsophila's use of 16 PEs.
    pub independent: bool,
    /// Stages of the point adder. 82 fits the paper's Table III.
    pub padd_latency: u64,
    /// Whether the adder takes a point with Z = 1 as one operand (seven multipliers instead of nine): a sum of two sums goes
    /// through it twice.
    pub mixed_padd: bool,
    /// Clock in MHz.
    pub frequency_mhz: u64,
    /// The memory: bandwidth alone, or banks and channels. Groups of points that are classified at a time have channels of
    /// their own: group g has points g, g + G, g + 2 G, .. in them, staggered as in section III-B of the paper.
    pub memory: MemoryKind,
    /// Modules side by side, a power of two, where the memory has banks.
    pub memory_modules: u32,
    /// GB/s of a memory that is bandwidth alone; 0: not limited.
    pub bandwidth_gb_s: u64,
    /// GB/s of a link that brings the scalars in their order, in each pass; 0: they are in the memory beside the points.
    pub scalar_link_gb_s: u64,
    /// Bytes of a point: 95 for (x, y) of 377 bits, 142 for (x, y, t).
    pub point_bytes: u64,
    /// Bytes of a scalar.
    pub scalar_bytes: u64,
    /// Cycles of a hop between chiplets.
    pub link_latency: u64,
    /// GB/s of a link between chiplets, which every point passes; 0: as fast as the elements.
    pub link_gb_s: u64,
    /// Conflicts of buckets.
    pub hazards: Hazards,
    /// Places of a PE's conflict queue.
    pub conflict_queue: u32,
    /// Whether two points that wait for the same bucket are added to each other, in a free cycle of the adder. Their sum
    /// keeps a place of the queue.
    pub merge_queue: bool,
    /// Whether the top window has several buckets for a digit, which points take in turn, where the scalar's last bits name
    /// fewer buckets than its PE has. They are added up before the aggregation.
    pub split_top: bool,
    /// Bucket aggregation.
    pub aggregation: Aggregation,
    /// Running sums side by side, a power of two.
    pub segments: u32,
}

impl Default for Params {
    /// Two chiplets of ten PEs, honest, with HBM.
    fn default() -> Self {
        Self {
            log_points: 16,
            scalar_bits: 253,
            windows: [vec![12; 6], vec![13; 14]].concat(),
            parallel_windows: 20,
            parallel_points: 1,
            chiplets: 2,
            independent: false,
            padd_latency: 82,
            mixed_padd: false,
            frequency_mhz: 1000,
            memory: MemoryKind::Bandwidth,
            memory_modules: 1,
            bandwidth_gb_s: 0,
            scalar_link_gb_s: 0,
            point_bytes: 95,
            scalar_bytes: 32,
            link_latency: 8,
            link_gb_s: 0,
            hazards: Hazards::Queue,
            conflict_queue: 16,
            merge_queue: false,
            split_top: false,
            aggregation: Aggregation::Segmented,
            segments: 32,
        }
    }
}

/// Bits that the kernels' windows may cover: a magnitude of 254 and a carry.
const KERNEL_BITS: u32 = 255;

impl Params {
    /// What the paper counts, for so many PEs that take the windows of a point together.
    pub fn faithful(log_points: u32, pes: u32) -> Self {
        Self {
            log_points,
            parallel_windows: pes,
            chiplets: pes.div_ceil(10),
            hazards: Hazards::Ignored,
            aggregation: Aggregation::Free,
            ..Self::default()
        }
    }
    /// Checks every field.
    ///
    /// # Errors
    /// The first field that is out of its range.
    pub fn check(&self) -> Result<(), LabError> {
        within("log_points", u64::from(self.log_points), 0..=28)?;
        within("scalar_bits", u64::from(self.scalar_bits), 1..=256)?;
        for w in &self.windows {
            within("windows", u64::from(*w), 1..=20)?;
        }
        let covered: u32 = self.windows.iter().sum();
        if covered <= self.scalar_bits {
            let range = format!(
                "windows of {} bits in all: the scalar's {} and a carry",
                self.scalar_bits + 1,
                self.scalar_bits
            );
            return Err(field("windows", format_args!("{covered} bits"), range));
        }
        within("parallel_windows", u64::from(self.parallel_windows), 1..=self.windows.len() as u64)?;
        within("parallel_points", u64::from(self.parallel_points), 1..=1 << self.log_points.min(8))?;
        if !self.parallel_points.is_power_of_two() {
            return Err(field("parallel_points", self.parallel_points, "a power of two"));
        }
        within("chiplets", u64::from(self.chiplets), 1..=u64::from(self.pes()))?;
        within("padd_latency", self.padd_latency, 1..=10_000)?;
        within("frequency_mhz", self.frequency_mhz, 1..=10_000)?;
        within("bandwidth_gb_s", self.bandwidth_gb_s, 0..=1_000_000)?;
        within("scalar_link_gb_s", self.scalar_link_gb_s, 0..=1_000_000)?;
        within("point_bytes", self.point_bytes, 1..=4096)?;
        within("scalar_bytes", self.scalar_bytes, 0..=4096)?;
        within("link_latency", self.link_latency, 0..=100_000)?;
        within("link_gb_s", self.link_gb_s, 0..=1_000_000)?;
        if self.hazards == Hazards::Queue {
            within("conflict_queue", u64::from(self.conflict_queue), 1..=1 << 20)?;
        }
        power_of_two("segments", u64::from(self.segments), 1..=4096)?;
        if self.independent && self.parallel_points > 1 {
            return Err(field("independent", true, "false with parallel_points above 1"));
        }
        power_of_two("memory_modules", u64::from(self.memory_modules), 1..=64)?;
        match self.memory.timing(self.memory_modules) {
            Some(timing) if u64::from(timing.channels) < self.streams() => {
                let range = format!(
                    "as many as have {} channels: {} have {}",
                    self.streams(),
                    self.memory_modules,
                    timing.channels
                );
                Err(field("memory_modules", self.memory_modules, range))
            }
            _ => Ok(()),
        }
    }
    /// The same windows as a plan of the kernels: what this CPU would do with them on one thread. Windows beyond the 255 bits that
    /// the kernels take, which no scalar of a curve reaches, are cut off.
    ///
    /// # Panics
    /// If there is a window that [`Params::check`] refuses.
    pub fn plan(&self) -> Plan {
        let (mut widths, mut bits) = (Vec::new(), 0);
        for width in &self.windows {
            let width = (*width).min(KERNEL_BITS - bits);
            if width > 0 {
                widths.push(width);
                bits += width;
            }
        }
        Plan::of_widths(self.points() as usize, bits.saturating_sub(1), &widths, 1)
    }
    /// Points.
    pub fn points(&self) -> u64 {
        1 << self.log_points
    }
    /// Processing elements.
    pub fn pes(&self) -> u32 {
        self.parallel_windows * self.parallel_points
    }
    /// Windows that one pass classifies for a product.
    pub fn width(&self) -> usize {
        if self.independent { 1 } else { self.parallel_windows as usize }
    }
    /// Streams of points that share the memory.
    pub fn streams(&self) -> u64 {
        u64::from(if self.independent { self.parallel_windows } else { self.parallel_points })
    }
    /// Bytes of a point in memory, with its scalar if that is there too.
    pub fn load_bytes(&self) -> u64 {
        self.point_bytes + if self.scalar_link_gb_s == 0 { self.scalar_bytes } else { 0 }
    }
    /// Bytes a second of what points pass between chiplets; 0: not limited.
    pub(super) fn hop_rate(&self) -> u64 {
        if self.chiplets > 1 { self.link_gb_s * 1_000_000_000 } else { 0 }
    }
    /// Cycles between two points of a stream, as memory and links bring them; below 1 if they are faster than the elements.
    pub fn point_interval(&self) -> f64 {
        let cycle = self.frequency_mhz as f64 * 1e6;
        let interval =
            |bytes: u64, rate: f64| if rate > 0.0 { (bytes * self.streams()) as f64 * cycle / rate } else { 0.0 };
        let memory = match self.memory.timing(self.memory_modules) {
            // What channels are left over is not used.
            Some(timing) => {
                let used = u64::from(timing.channels) / self.streams() * self.streams();
                timing.stream_bandwidth() * used as f64 / f64::from(timing.channels)
            }
            None => self.bandwidth_gb_s as f64 * 1e9,
        };
        interval(self.load_bytes(), memory)
            .max(interval(self.scalar_bytes, self.scalar_link_gb_s as f64 * 1e9))
            .max(interval(self.point_bytes, self.hop_rate() as f64))
    }
    /// Windows of nearly equal width, the narrower ones first, for a scalar of so many bits and its carry: as the paper's six
    /// of 12 and fourteen of 13 bits.
    ///
    /// # Panics
    /// If there is no window.
    pub fn even_windows(scalar_bits: u32, count: u32) -> Vec<u32> {
        let (width, wider) = ((scalar_bits + 1) / count, (scalar_bits + 1) % count);
        (0..count).map(|i| width + u32::from(i >= count - wider)).collect()
    }
    /// Passes over the points.
    pub fn passes(&self) -> u64 {
        self.schedule().len() as u64
    }
    /// The windows of each pass, the widest first, so that a PE has the bucket memory of the widest of its windows. Of all
    /// divisions of that order the one with the least time by the closed forms, with the fewest passes if several have it.
    pub fn schedule(&self) -> Vec<Vec<usize>> {
        formula::schedule(self)
    }
    /// The windows whose bucket memory each PE of a group of points has: the widest of those that it serves.
    pub fn bucket_windows(&self) -> Vec<u32> {
        let mut widest = vec![0; self.parallel_windows as usize];
        for pass in self.schedule() {
            for (pe, window) in pass.into_iter().enumerate() {
                widest[pe] = self.windows[window].max(widest[pe]);
            }
        }
        if self.independent {
            // Each PE serves all windows.
            let all = widest.iter().copied().max().unwrap_or(0);
            widest.fill(all);
        }
        // A PE that the schedule leaves idle is there all the same.
        let least = widest.iter().copied().filter(|w| *w > 0).min().unwrap_or(1);
        widest.into_iter().map(|w| w.max(least)).collect()
    }
    /// Bits of the scalar that begin in a window: at most its width; 0 if only a carry reaches it; `None` if nothing does.
    pub(super) fn significant(&self, window: usize) -> Option<u32> {
        let offset: u32 = self.windows[..window].iter().sum();
        Some(self.scalar_bits.checked_sub(offset)?.min(self.windows[window]))
    }
    /// Buckets that a digit of a window has.
    pub(super) fn copies(&self, window: usize) -> u32 {
        let spare = self.windows[window] - 1;
        match self.significant(window) {
            Some(bits) if self.split_top && bits < spare => 1 << (spare - bits),
            _ => 1,
        }
    }
    /// Cycles in which the last point passes from PE to PE and from chiplet to chiplet.
    pub(super) fn hops(&self) -> u64 {
        u64::from(self.parallel_windows) - 1 + u64::from(self.chiplets - 1) * self.link_latency
    }
    /// Seconds of so many cycles.
    pub fn seconds(&self, cycles: u64) -> f64 {
        cycles as f64 / (self.frequency_mhz as f64 * 1e6)
    }
}
