//! Parameters of a multiplier, and its workload.

use evergrove_curves::Plan;
use serde::{Deserialize, Serialize};

use super::formula;
use crate::LabError;
use crate::engine::MemoryKind;
use crate::error::{field, power_of_two, within};

/// What happens to a point whose bucket is in the adder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hazards {
    /// It is added like any other point: the paper's count. A machine would lose an addition, so this is for timing
    /// only.
    Ignored,
    /// All PEs that share the point wait.
    Stall,
    /// The point waits in a queue of `conflict_queue` points, while others pass.
    Queue,
}

/// How the buckets of a window are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregation {
    /// In no time: the paper's count, for timing only.
    Free,
    /// By one running sum: two additions per bucket, each waiting for the one before.
    Serial,
    /// By `segments` running sums side by side, then a running sum over the segments.
    Segmented,
    /// Like segmented, but in the adder's free cycles while the next pass is classified into a second bucket memory:
    /// the paper's claim.
    Overlapped,
}

/// A multiplier and its workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// log2 of the number of points.
    pub log_points: u32,
    /// Bits of a scalar.
    pub scalar_bits: u32,
    /// Bits of each window, the lowest first. Their sum is more than `scalar_bits`.
    pub windows: Vec<u32>,
    /// Windows that are classified at a time (horizontal unrolling).
    pub parallel_windows: u32,
    /// Points that are classified at a time (vertical unrolling).
    pub parallel_points: u32,
    /// Chiplets that share the PEs.
    pub chiplets: u32,
    /// Whether each PE computes a product of its own: Gypsophila's use of 16 PEs.
    pub independent: bool,
    /// Stages of the point adder. 82 fits the paper's Table III; [`super::padd_cycles`] are those of `rtl/`.
    pub padd_latency: u64,
    /// Whether one operand of the adder is a point with Z = 1, which needs seven multipliers instead of nine. A sum of
    /// two sums then passes the adder twice.
    pub mixed_padd: bool,
    /// Clock in MHz.
    pub frequency_mhz: u64,
    /// The memory: bandwidth only, or banks and channels. Each group of points that is classified side by side has its
    /// own channels. Of G groups, group g has points g, g + G, g + 2 G, .. in them, staggered as in section III-B of
    /// the paper.
    pub memory: MemoryKind,
    /// Modules side by side, a power of two, for a memory with banks.
    pub memory_modules: u32,
    /// GB/s of a memory described by bandwidth only; 0 means no limit.
    pub bandwidth_gb_s: u64,
    /// GB/s of a link that brings the scalars in order in each pass; 0 means that the scalars are in memory beside the
    /// points.
    pub scalar_link_gb_s: u64,
    /// Bytes of a point: 95 for (x, y) of 377 bits, 142 for (x, y, t).
    pub point_bytes: u64,
    /// Bytes of a scalar.
    pub scalar_bytes: u64,
    /// Cycles of a hop between chiplets.
    pub link_latency: u64,
    /// GB/s of the link between chiplets, which every point passes; 0 means no limit.
    pub link_gb_s: u64,
    /// What happens at conflicts of buckets.
    pub hazards: Hazards,
    /// Capacity of a PE's conflict queue, in points.
    pub conflict_queue: u32,
    /// Whether two points that wait for the same bucket are added to each other in a free cycle of the adder. Their sum
    /// keeps a place in the queue.
    pub merge_queue: bool,
    /// Whether a digit of the top window has several buckets, which points take in turn, if the last bits of the scalar
    /// name fewer buckets than the PE has. These buckets are added up before the aggregation.
    pub split_top: bool,
    /// How buckets are summed.
    pub aggregation: Aggregation,
    /// Running sums side by side, a power of two.
    pub segments: u32,
}

impl Default for Params {
    /// Two chiplets of ten PEs in the honest mode, with HBM.
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

/// Bits that the kernels' windows may cover: a magnitude of 254 bits and a carry.
const KERNEL_BITS: u32 = 255;

impl Params {
    /// The paper's count for `pes` PEs that take the windows of a point together.
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
    /// The first field that is out of range.
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
    /// The same windows as a plan of the kernels for one thread of a CPU. The kernels take 255 bits; windows beyond,
    /// which no scalar of a curve reaches, are cut off.
    ///
    /// # Panics
    /// If [`Params::check`] refuses a window.
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
    /// Number of points.
    pub fn points(&self) -> u64 {
        1 << self.log_points
    }
    /// Number of processing elements.
    pub fn pes(&self) -> u32 {
        self.parallel_windows * self.parallel_points
    }
    /// Windows that one pass classifies for one product.
    pub fn width(&self) -> usize {
        if self.independent { 1 } else { self.parallel_windows as usize }
    }
    /// Streams of points that share the memory.
    pub fn streams(&self) -> u64 {
        u64::from(if self.independent { self.parallel_windows } else { self.parallel_points })
    }
    /// Bytes per point in memory, including the scalar if it is in memory.
    pub fn load_bytes(&self) -> u64 {
        self.point_bytes + if self.scalar_link_gb_s == 0 { self.scalar_bytes } else { 0 }
    }
    /// Bytes a second of the link between chiplets; 0 means no limit.
    pub(super) fn hop_rate(&self) -> u64 {
        if self.chiplets > 1 { self.link_gb_s * 1_000_000_000 } else { 0 }
    }
    /// Cycles between two points of a stream, by the bandwidth of memory and links; below 1 if they are faster than the
    /// PEs.
    pub fn point_interval(&self) -> f64 {
        let cycle = self.frequency_mhz as f64 * 1e6;
        let interval =
            |bytes: u64, rate: f64| if rate > 0.0 { (bytes * self.streams()) as f64 * cycle / rate } else { 0.0 };
        let memory = match self.memory.timing(self.memory_modules) {
            // The remaining channels are not used.
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
    /// `count` windows of nearly equal width, the narrower ones first, for a scalar of `scalar_bits` bits and its
    /// carry. The paper has six of 12 and fourteen of 13 bits.
    ///
    /// # Panics
    /// If `count` is 0.
    pub fn even_windows(scalar_bits: u32, count: u32) -> Vec<u32> {
        let (width, wider) = ((scalar_bits + 1) / count, (scalar_bits + 1) % count);
        (0..count).map(|i| width + u32::from(i >= count - wider)).collect()
    }
    /// Number of passes over the points.
    pub fn passes(&self) -> u64 {
        self.schedule().len() as u64
    }
    /// The windows of each pass, the widest first, so a PE's bucket memory fits the widest of its windows. Among all
    /// divisions of that order, the one with the least time by the closed forms, and with the fewest passes among
    /// those.
    pub fn schedule(&self) -> Vec<Vec<usize>> {
        formula::schedule(self)
    }
    /// For each PE of a group of points, the width of its bucket memory: the widest window that it serves.
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
        // A PE that the schedule leaves idle has a bucket memory too.
        let least = widest.iter().copied().filter(|w| *w > 0).min().unwrap_or(1);
        widest.into_iter().map(|w| w.max(least)).collect()
    }
    /// Bits of the scalar that begin in a window, at most its width; 0 if only a carry reaches it; `None` if not even a
    /// carry does.
    pub(super) fn significant(&self, window: usize) -> Option<u32> {
        let offset: u32 = self.windows[..window].iter().sum();
        Some(self.scalar_bits.checked_sub(offset)?.min(self.windows[window]))
    }
    /// Buckets per digit of a window.
    pub(super) fn copies(&self, window: usize) -> u32 {
        let spare = self.windows[window] - 1;
        match self.significant(window) {
            Some(bits) if self.split_top && bits < spare => 1 << (spare - bits),
            _ => 1,
        }
    }
    /// Cycles that the last point takes from PE to PE and from chiplet to chiplet.
    pub(super) fn hops(&self) -> u64 {
        u64::from(self.parallel_windows) - 1 + u64::from(self.chiplets - 1) * self.link_latency
    }
    /// Seconds of `cycles` cycles.
    pub fn seconds(&self, cycles: u64) -> f64 {
        cycles as f64 / (self.frequency_mhz as f64 * 1e6)
    }
}
