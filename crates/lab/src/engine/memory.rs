//! A memory by name: bandwidth only, or banks and channels behind a prefetcher.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::TokenBucket;
use super::dram::{Dram, Timing};

/// The kind of memory of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryKind {
    /// Bandwidth only; other fields of the machine give the amount.
    #[default]
    Bandwidth,
    /// DDR4-3200: 25.6 GB/s per module.
    #[serde(rename = "ddr4-3200")]
    Ddr4,
    /// DDR5-4800: 38.4 GB/s per module.
    #[serde(rename = "ddr5-4800")]
    Ddr5,
    /// HBM2 at 2 Gbit/s per pin: 256 GB/s per stack.
    Hbm2,
}

impl MemoryKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Bandwidth, Self::Ddr4, Self::Ddr5, Self::Hbm2];
    /// Banks and channels of `modules` modules side by side; `None` for [`MemoryKind::Bandwidth`].
    pub fn timing(self, modules: u32) -> Option<Timing> {
        let one = match self {
            Self::Bandwidth => return None,
            Self::Ddr4 => Timing::DDR4_3200,
            Self::Ddr5 => Timing::DDR5_4800,
            Self::Hbm2 => Timing::HBM2,
        };
        Some(Timing { channels: one.channels * modules, ..one })
    }
}

/// A memory that streams ascending addresses.
#[derive(Clone, Debug)]
pub enum Memory {
    /// Bandwidth only.
    Bucket(TokenBucket),
    /// Banks and channels.
    Banks(Box<Stream>),
}

impl Memory {
    /// Bytes that can be transferred in `cycle`.
    #[inline]
    pub fn available(&self, cycle: u64) -> u64 {
        match self {
            Self::Bucket(bucket) => bucket.available(cycle),
            Self::Banks(stream) => stream.available(cycle),
        }
    }
    /// Transfers `bytes` if all of them can be transferred in `cycle`, and returns whether it did.
    #[inline]
    pub fn take(&mut self, cycle: u64, bytes: u64) -> bool {
        match self {
            Self::Bucket(bucket) => bucket.take(cycle, bytes),
            Self::Banks(stream) => stream.take(cycle, bytes),
        }
    }
    /// The first cycle after `cycle` in which `bytes` can be transferred if no other transfer takes place; `None` if
    /// they never can.
    #[inline]
    pub fn ready_at(&self, cycle: u64, bytes: u64) -> Option<u64> {
        match self {
            Self::Bucket(bucket) => bucket.ready_at(cycle, bytes),
            Self::Banks(stream) => stream.ready_at(cycle, bytes),
        }
    }
    /// Bytes transferred so far.
    pub fn taken(&self) -> u64 {
        match self {
            Self::Bucket(bucket) => bucket.taken(),
            Self::Banks(stream) => stream.taken,
        }
    }
}

/// Prefetched bursts per channel. They cover the time of an access, and most of a refresh.
const WINDOW: usize = 128;

/// A prefetcher in front of banks and channels. It keeps a window of bursts at ascending addresses in flight and
/// requests another one when one is consumed. Writes count as bursts of the same stream.
///
/// Several streams can run in lockstep, each in its own region, like elements that work on parts of the same size. A
/// burst arrives when it has arrived in all streams.
#[derive(Clone, Debug)]
pub struct Stream {
    dram: Dram,
    burst: u64,
    megahertz: u64,
    /// The next address of each stream.
    next: Vec<u64>,
    /// When the bursts arrive, in picoseconds, oldest first and ascending.
    done: VecDeque<u64>,
    /// Consumed bytes of the oldest burst.
    used: u64,
    taken: u64,
}

impl Stream {
    /// `streams` streams that begin `stride` bytes apart, for a clock of `megahertz`. Prefetches at least `ahead`
    /// bytes.
    pub fn new(timing: Timing, megahertz: u64, streams: u64, stride: u64, ahead: u64) -> Self {
        let burst = u64::from(timing.burst_bytes);
        let window = (WINDOW * timing.channels as usize).max(ahead.div_ceil(burst) as usize + 1);
        let mut out = Self {
            dram: Dram::new(timing),
            burst,
            megahertz,
            next: (0..streams).map(|s| s * stride).collect(),
            done: VecDeque::with_capacity(window),
            used: 0,
            taken: 0,
        };
        (0..window).for_each(|_| out.fetch(0));
        out
    }
    fn fetch(&mut self, now: u64) {
        let before = self.done.back().copied().unwrap_or(0);
        let there = self.next.iter_mut().fold(before, |latest, address| {
            let there = self.dram.access(now, *address);
            *address += self.burst;
            latest.max(there)
        });
        self.done.push_back(there);
    }
    /// The start of a cycle, in picoseconds.
    fn time(&self, cycle: u64) -> u64 {
        (u128::from(cycle) * 1_000_000 / u128::from(self.megahertz)) as u64
    }
    /// Bursts that `bytes` need, including a partly used one.
    fn bursts(&self, bytes: u64) -> usize {
        (self.used + bytes).div_ceil(self.burst) as usize
    }
    fn available(&self, cycle: u64) -> u64 {
        let now = self.time(cycle);
        (self.done.partition_point(|there| *there <= now) as u64 * self.burst).saturating_sub(self.used)
    }
    fn take(&mut self, cycle: u64, bytes: u64) -> bool {
        let (now, last) = (self.time(cycle), self.bursts(bytes));
        if last > 0 && self.done.get(last - 1).is_none_or(|there| *there > now) {
            return false;
        }
        let end = self.used + bytes;
        for _ in 0..end / self.burst {
            self.done.pop_front();
            self.fetch(now);
        }
        (self.used, self.taken) = (end % self.burst, self.taken + bytes);
        true
    }
    fn ready_at(&self, cycle: u64, bytes: u64) -> Option<u64> {
        let Some(last) = self.bursts(bytes).checked_sub(1) else { return Some(cycle + 1) };
        let there = u128::from(*self.done.get(last)?) * u128::from(self.megahertz);
        Some((there.div_ceil(1_000_000) as u64).max(cycle + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes a second of transfers of `bytes`, each as early as possible.
    fn rate(timing: Timing, streams: u64, stride: u64, bytes: u64) -> f64 {
        let megahertz = 1000;
        let mut memory = Memory::Banks(Box::new(Stream::new(timing, megahertz, streams, stride, bytes)));
        let (mut cycle, mut count) = (0, 0);
        while memory.taken() < 8 << 20 {
            let ready = memory.ready_at(cycle, bytes).expect("the window holds a transfer");
            assert!(ready == cycle + 1 || !memory.take(ready - 1, bytes), "a cycle earlier is too early");
            assert!(memory.available(ready) >= bytes && memory.take(ready, bytes));
            (cycle, count) = (ready, count + 1);
        }
        assert_eq!(memory.taken(), count * bytes);
        (count * bytes * streams) as f64 * megahertz as f64 * 1e6 / (cycle + 1) as f64
    }

    #[test]
    fn a_stream_has_all_but_the_refresh() {
        for kind in [MemoryKind::Ddr4, MemoryKind::Ddr5, MemoryKind::Hbm2] {
            for modules in [1, 2] {
                let timing = kind.timing(modules).expect("banks");
                // Transfers of a fraction of a burst, of one or several bursts, and of many.
                for bytes in [8, 64, 96, 2048] {
                    let expected = timing.stream_bandwidth().min(bytes as f64 * 1e9);
                    let found = rate(timing, 1, 0, bytes);
                    assert!((found / expected - 1.0).abs() < 0.02, "{kind:?} {bytes}: {found} against {expected}");
                }
            }
        }
    }

    #[test]
    fn streams_that_meet_in_a_bank_wait_for_its_rows() {
        let timing = Timing::DDR4_3200;
        let apart = u64::from(timing.row_bytes);
        // In neighbouring banks the streams take turns. In different rows of the same bank, each burst opens a row,
        // while prefetched bursts open rows in the next bank.
        let same = apart * u64::from(timing.banks);
        let (good, bad) = (rate(timing, 4, 5 * apart, 64), rate(timing, 4, 64 * same, 64));
        assert!(good > 0.9 * timing.stream_bandwidth(), "{good}");
        let rows = 64e12 / timing.t_rc_ps as f64;
        assert!(bad > 0.95 * rows && bad < 2.5 * rows, "{bad} against {rows}");
    }
}
