//! A memory with channels, banks, open rows and refresh.
//!
//! The address of a burst determines its channel and bank. If its row is open, the burst takes the data bus for
//! `burst_ps`. Otherwise the bank first closes the open row (tRP) and opens the other one (tRCD), at least tRC after it
//! last opened a row. Each channel stops for tRFC every tREFI. The controller reorders: while a burst waits for its
//! row, other bursts use the bus. Commands and turning the bus between reads and writes take no time, so the model is
//! an upper bound. Parameters are those of JEDEC's speed bins, in picoseconds.
//!
//! [`Timing::stream_bandwidth`] and [`Timing::random_bandwidth`] are closed forms; tests compare them with the model.

use serde::{Deserialize, Serialize};

/// Organisation and timing of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Number of channels, a power of two.
    pub channels: u32,
    /// Banks per channel, a power of two.
    pub banks: u32,
    /// Bytes per row of a bank, a power of two.
    pub row_bytes: u32,
    /// Bytes per burst, a power of two.
    pub burst_bytes: u32,
    /// Time of a burst on the data bus, in picoseconds, like all times below.
    pub burst_ps: u64,
    /// tRCD, row to column delay: the time to open a row.
    pub t_rcd_ps: u64,
    /// tRP, precharge: the time to close a row.
    pub t_rp_ps: u64,
    /// tRC, row cycle: the least time between two openings in a bank.
    pub t_rc_ps: u64,
    /// tCL: from the column command to the data.
    pub t_cl_ps: u64,
    /// tREFI: the interval of refreshes.
    pub t_refi_ps: u64,
    /// tRFC: the time of a refresh.
    pub t_rfc_ps: u64,
}

impl Timing {
    /// One channel of DDR4-3200AA, 8 Gbit x8 (JESD79-4): 25.6 GB/s.
    pub const DDR4_3200: Self = Self {
        channels: 1,
        banks: 16,
        row_bytes: 8192,
        burst_bytes: 64,
        burst_ps: 2_500,
        t_rcd_ps: 13_750,
        t_rp_ps: 13_750,
        t_rc_ps: 45_750,
        t_cl_ps: 13_750,
        t_refi_ps: 7_800_000,
        t_rfc_ps: 350_000,
    };
    /// Two 32-bit channels of DDR5-4800B, 16 Gbit (JESD79-5): 38.4 GB/s.
    pub const DDR5_4800: Self = Self {
        channels: 2,
        banks: 32,
        row_bytes: 8192,
        burst_bytes: 64,
        burst_ps: 3_333,
        t_rcd_ps: 16_000,
        t_rp_ps: 16_000,
        t_rc_ps: 48_000,
        t_cl_ps: 16_666,
        t_refi_ps: 3_900_000,
        t_rfc_ps: 295_000,
    };
    /// A stack of HBM2 at 2 Gbit/s a pin with 16 pseudo-channels (JESD235B): 256 GB/s.
    pub const HBM2: Self = Self {
        channels: 16,
        banks: 16,
        row_bytes: 1024,
        burst_bytes: 32,
        burst_ps: 2_000,
        t_rcd_ps: 14_000,
        t_rp_ps: 14_000,
        t_rc_ps: 47_000,
        t_cl_ps: 14_000,
        t_refi_ps: 3_900_000,
        t_rfc_ps: 260_000,
    };

    /// Bytes a second of all data buses, without refresh and row changes.
    pub fn peak_bandwidth(&self) -> f64 {
        f64::from(self.channels) * f64::from(self.burst_bytes) * 1e12 / self.burst_ps as f64
    }
    fn refresh(&self) -> f64 {
        1.0 - self.t_rfc_ps as f64 / self.t_refi_ps as f64
    }
    /// Bytes a second of a stream of ascending addresses. Only refresh costs bandwidth, since rows open in other banks
    /// meanwhile.
    pub fn stream_bandwidth(&self) -> f64 {
        self.peak_bandwidth() * self.refresh()
    }
    /// Bytes a second of bursts in random rows with `outstanding` requests: the least of the bandwidths of the buses,
    /// of the row cycles of all banks, and of requests that wait for their rows.
    pub fn random_bandwidth(&self, outstanding: u32) -> f64 {
        let banks = f64::from(self.channels * self.banks);
        let burst = f64::from(self.burst_bytes);
        let rows = banks * burst * 1e12 / self.t_rc_ps as f64;
        let wait = (self.t_rp_ps + self.t_rcd_ps + self.t_cl_ps + self.burst_ps) as f64;
        let requests = f64::from(outstanding) * burst * 1e12 / wait;
        self.peak_bandwidth().min(rows).min(requests) * self.refresh()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    row: Option<u64>,
    opened: u64,
    /// When the data of the last burst has left, in picoseconds.
    free: u64,
}

/// The state of a memory.
#[derive(Clone, Debug)]
pub struct Dram {
    timing: Timing,
    banks: Vec<Bank>,
    bus: Vec<u64>,
    hits: u64,
    misses: u64,
}

impl Dram {
    /// A memory with all rows closed.
    pub fn new(timing: Timing) -> Self {
        let banks = (timing.channels * timing.banks) as usize;
        Self { timing, banks: vec![Bank::default(); banks], bus: vec![0; timing.channels as usize], hits: 0, misses: 0 }
    }
    /// Bursts that found their row open, and bursts that did not.
    pub fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits, self.misses)
    }
    /// Serves the burst at `address`, requested at `now`. Returns the time at which its data arrives, in picoseconds.
    /// Each bank serves its requests in the order of the calls.
    ///
    /// Neighbouring bursts are in neighbouring channels; neighbouring rows are in neighbouring banks.
    pub fn access(&mut self, now: u64, address: u64) -> u64 {
        let t = self.timing;
        let burst = address / u64::from(t.burst_bytes);
        let (channel, burst) = (burst % u64::from(t.channels), burst / u64::from(t.channels));
        let row = burst / u64::from(t.row_bytes / t.burst_bytes);
        let (bank, row) = (row % u64::from(t.banks), row / u64::from(t.banks));
        let state = &mut self.banks[(channel * u64::from(t.banks) + bank) as usize];
        let column = if state.row == Some(row) {
            self.hits += 1;
            now.max(state.opened + t.t_rcd_ps)
        } else {
            self.misses += 1;
            let close = if state.row.is_some() { t.t_rp_ps } else { 0 };
            let after = if state.row.is_some() { state.opened + t.t_rc_ps } else { 0 };
            let open = (now.max(state.free) + close).max(after);
            (state.row, state.opened) = (Some(row), open);
            open + t.t_rcd_ps
        };
        // The bus is assigned by the time of the request, so a burst that waits for its row lets others pass. Each
        // interval ends with its refresh.
        let after_refresh = |start: u64| {
            let phase = start % t.t_refi_ps;
            if phase + t.burst_ps > t.t_refi_ps - t.t_rfc_ps { start + t.t_refi_ps - phase } else { start }
        };
        let turn = after_refresh(self.bus[channel as usize].max(now));
        self.bus[channel as usize] = turn + t.burst_ps;
        let start = after_refresh((column + t.t_cl_ps).max(turn));
        state.free = start + t.burst_ps;
        start + t.burst_ps
    }
    /// Bytes a second of a sequence of addresses with at most `outstanding` requests at a time.
    pub fn measure(&mut self, addresses: impl Iterator<Item = u64>, outstanding: usize) -> f64 {
        let mut times = std::collections::VecDeque::with_capacity(outstanding);
        let (mut last, mut count) = (0, 0_u64);
        for address in addresses {
            let now = if times.len() == outstanding { times.pop_front().unwrap_or(0) } else { 0 };
            let done = self.access(now, address);
            last = last.max(done);
            times.push_back(done);
            count += 1;
        }
        count as f64 * f64::from(self.timing.burst_bytes) * 1e12 / last.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(i: u64) -> u64 {
        let mut x = i.wrapping_add(0x9E37_79B9_7F4A_7C15);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    #[test]
    fn presets_have_their_bandwidth() {
        for (timing, gigabytes) in [(Timing::DDR4_3200, 25.6), (Timing::DDR5_4800, 38.4), (Timing::HBM2, 256.0)] {
            assert!((timing.peak_bandwidth() / 1e9 - gigabytes).abs() < 0.01, "{}", timing.peak_bandwidth());
        }
    }

    #[test]
    fn streams_lose_the_refresh_alone() {
        for timing in [Timing::DDR4_3200, Timing::DDR5_4800, Timing::HBM2] {
            let step = u64::from(timing.burst_bytes);
            let mut dram = Dram::new(timing);
            let found = dram.measure((0..200_000).map(|i| i * step), 1024);
            let formula = timing.stream_bandwidth();
            assert!((found / formula - 1.0).abs() < 0.01, "{found} against {formula}");
            let rows = 200_000 * step / u64::from(timing.row_bytes);
            assert!(dram.hits_and_misses().1.abs_diff(rows) <= u64::from(timing.channels * timing.banks));
        }
    }

    #[test]
    fn few_requests_in_random_rows_wait_for_rows() {
        for timing in [Timing::DDR4_3200, Timing::DDR5_4800, Timing::HBM2] {
            let random = |i| mix(i) % (1 << 34);
            let found = Dram::new(timing).measure((0..100_000).map(random), 1);
            let formula = timing.random_bandwidth(1);
            // A few bursts find their row open, and the first burst of a bank closes no row.
            assert!((found / formula - 1.0).abs() < 0.03, "{found} against {formula}");
            // Many requests come near the bound of buses and banks, but never exceed it.
            let many = Dram::new(timing).measure((0..100_000).map(random), 512);
            let bound = timing.random_bandwidth(512);
            assert!(many <= bound * 1.01 && many > bound * 0.4, "{many} against {bound}");
        }
    }
}
