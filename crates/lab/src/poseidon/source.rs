//! The source of the matrix: a link, or a board that extends a trace.
//!
//! ```text
//!  host --link--> leaf hasher
//!  host --link--> [ low-degree extension ] --network--> leaf hasher
//! ```
//!
//! The unit is the chunk of `rate` words, the width of the buses. Without an extension, chunks are words of the
//! extended matrix. With an extension, the link brings the columns of the trace, and [`super::transform`] extends them.
//! The words of an extension leave in order of rows, after those of the column before.
//!
//! Chunks in flight or waiting take places in front of the leaf hasher; the link or the network waits for a place. The
//! link also waits while the transform is full, that is, its delay lines, its stages, one column that leaves and one
//! that waits.

use std::collections::VecDeque;

use super::params::Params;
use crate::engine::TokenBucket;

/// The stream of chunks into the leaf hasher.
pub(super) struct Source {
    /// Bytes of a chunk: words of one column, or of one row.
    chunk: u64,
    link: TokenBucket,
    /// Chunks sent over the link, and their total number.
    sent: u64,
    all_sent: u64,
    extension: Option<Extension>,
    /// Chunks that the leaf hasher takes per cycle.
    width: u64,
    /// Chunks that have arrived, and their total number.
    pub(super) arrived: u64,
    all: u64,
    /// Chunks that may be in flight to the leaf hasher or wait there.
    places: u64,
}

/// A board between the link and the leaf hasher.
struct Extension {
    chunk: u64,
    unit: TokenBucket,
    network: TokenBucket,
    /// Chunks of a column of the trace, and of its extension.
    column: [u64; 2],
    /// Cycles from the last chunk of a column to its first extended word, and from there to the leaf hasher.
    latency: u64,
    hop: u64,
    /// Columns that may be between the link and the network.
    columns: usize,
    /// The cycles in which the extensions of the received columns can begin to leave.
    begins: VecDeque<u64>,
    emitted: u64,
    /// Arrival cycles of chunks in flight, with the number of chunks.
    flying: VecDeque<(u64, u64)>,
}

impl Extension {
    fn new(p: &Params, frequency: u64) -> Self {
        let bits = |gigabits: f64| (gigabits * 1e9 / 8.0).round() as u64;
        let (chunk, rate) = (p.group_bytes(), u64::from(p.rate));
        let burst = 4 * u64::from(p.lhe_cores) * chunk;
        Self {
            chunk,
            unit: TokenBucket::new(u64::from(p.lde_words) * 8 * frequency, 1.0, frequency, burst),
            network: TokenBucket::new(bits(p.network_gbit_s), 1.0, frequency, burst),
            column: [(p.rows() >> p.log_blowup) / rate, p.rows() / rate],
            latency: p.transform_latency(),
            hop: p.network_latency,
            columns: 2 + (p.transform_latency() * u64::from(p.lde_words)).div_ceil(p.rows()) as usize,
            begins: VecDeque::new(),
            emitted: 0,
            flying: VecDeque::new(),
        }
    }
    /// The first cycle in which the oldest received column may leave.
    fn begin(&self) -> Option<u64> {
        self.begins.front().copied()
    }
    /// Emits at most `most` chunks. Returns the number of chunks that arrive.
    fn step(&mut self, cycle: u64, most: u64) -> u64 {
        let mut chunks = 0;
        while chunks < most
            && self.begin().is_some_and(|begin| begin <= cycle)
            && self.unit.available(cycle) >= self.chunk
            && self.network.take(cycle, self.chunk)
        {
            self.unit.take(cycle, self.chunk);
            chunks += 1;
            self.emitted += 1;
            if self.emitted.is_multiple_of(self.column[1]) {
                self.begins.pop_front();
            }
        }
        if chunks > 0 {
            self.flying.push_back((cycle + self.hop, chunks));
        }
        let mut landed = 0;
        while let Some((_, chunks)) = self.flying.front().filter(|(when, _)| *when <= cycle) {
            landed += chunks;
            self.flying.pop_front();
        }
        landed
    }
    fn next_event(&self, cycle: u64, room: u64) -> Option<u64> {
        let leave = self.begin().filter(|_| room > 0).and_then(|begin| {
            let ready = self.unit.ready_at(cycle, self.chunk)?.max(self.network.ready_at(cycle, self.chunk)?);
            Some(ready.max(begin))
        });
        let land = self.flying.front().map(|(when, _)| (*when).max(cycle + 1));
        [leave, land].into_iter().flatten().min()
    }
}

impl Source {
    pub(super) fn new(p: &Params) -> Self {
        let frequency = p.frequency_mhz * 1_000_000;
        let all = p.rows() * p.passes() * p.trees;
        let (width, chunk) = (u64::from(p.lhe_cores), p.group_bytes());
        Self {
            chunk,
            link: TokenBucket::new((p.link_gbit_s * 1e9 / 8.0).round() as u64, 1.0, frequency, 4 * width * chunk),
            sent: 0,
            all_sent: all >> p.log_blowup,
            extension: (p.log_blowup > 0).then(|| Extension::new(p, frequency)),
            width,
            arrived: 0,
            all,
            places: p.input_places(),
        }
    }
    /// Free places, if the leaf hasher has taken `started` chunks.
    #[inline(always)]
    fn room(&self, started: u64) -> u64 {
        let sent = self.extension.as_ref().map_or(self.sent, |extension| extension.emitted);
        started + self.places - sent
    }
    /// Whether the link may bring a chunk.
    #[inline(always)]
    fn takes(&self, room: u64) -> bool {
        self.sent < self.all_sent
            && self.extension.as_ref().map_or(room > 0, |extension| extension.begins.len() < extension.columns)
    }
    /// Runs one cycle, after the leaf hasher has taken `started` chunks.
    #[inline(always)]
    pub(super) fn step(&mut self, cycle: u64, started: u64) {
        let (mut chunks, room) = (0, self.room(started));
        while chunks < self.width && self.takes(room - chunks.min(room)) && self.link.take(cycle, self.chunk) {
            (chunks, self.sent) = (chunks + 1, self.sent + 1);
            if let Some(extension) = &mut self.extension
                && self.sent.is_multiple_of(extension.column[0])
            {
                extension.begins.push_back(cycle + 1 + extension.latency);
            }
        }
        self.arrived += match &mut self.extension {
            Some(extension) => extension.step(cycle, self.width.min(room)),
            None => chunks,
        };
    }
    /// The first cycle after `cycle` in which something happens if the leaf hasher takes no more than `started` chunks.
    pub(super) fn next_event(&self, cycle: u64, started: u64) -> Option<u64> {
        if self.arrived == self.all {
            return None;
        }
        let room = self.room(started);
        let link = if self.takes(room) { self.link.ready_at(cycle, self.chunk) } else { None };
        let extension = self.extension.as_ref().and_then(|extension| extension.next_event(cycle, room));
        [link, extension].into_iter().flatten().min()
    }
    /// Bytes sent over the link.
    pub(super) fn link_bytes(&self) -> u64 {
        self.link.taken()
    }
}
