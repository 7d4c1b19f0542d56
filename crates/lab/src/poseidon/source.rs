//! Where the matrix comes from: a link, or a board that extends it.
//!
//! ```text
//!  host --link--> leaf hasher
//!  host --link--> [ low-degree extension ] --network--> leaf hasher
//! ```
//!
//! Everything is counted in chunks of `rate` words, the width of the buses: eight. By the link alone they are words of the extended
//! matrix. Else the link brings the columns of the trace; [`super::transform`] makes their extension, whose words leave in order
//! of rows, and a column's wait for those of the column before.
//!
//! Chunks that are under way or wait have places before the leaf hasher; the link or the network waits for a place. The link also
//! waits while the transform is full: its lines and stages, a column that leaves and one that waits.

use std::collections::VecDeque;

use super::params::Params;
use crate::engine::TokenBucket;

/// The stream of chunks into the leaf hasher.
pub(super) struct Source {
    /// Bytes of a chunk: words of a column, or of a row.
    chunk: u64,
    link: TokenBucket,
    /// Chunks by the link, and how many there are.
    sent: u64,
    all_sent: u64,
    extension: Option<Extension>,
    /// Chunks that the leaf hasher takes in a cycle.
    width: u64,
    /// Chunks that have arrived, and how many there are.
    pub(super) arrived: u64,
    all: u64,
    /// Chunks that may be on their way to the leaf hasher or wait there.
    places: u64,
}

/// A board between the link and the leaf hasher.
struct Extension {
    chunk: u64,
    unit: TokenBucket,
    network: TokenBucket,
    /// Chunks of a column, before and after.
    column: [u64; 2],
    /// From a column's last chunk to its first word; from there to the leaf hasher.
    latency: u64,
    hop: u64,
    /// Columns between the link and the network.
    columns: usize,
    /// When the columns that have come can begin to leave.
    begins: VecDeque<u64>,
    emitted: u64,
    /// When chunks arrive, and how many together.
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
    /// When the next chunk may leave, by what has come by the link.
    fn begin(&self) -> Option<u64> {
        self.begins.front().copied()
    }
    /// Emits at most so many chunks. Returns those that arrive.
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
    /// Places that are free when so many chunks have left them.
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
    /// One cycle, after the leaf hasher has taken so many chunks.
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
    /// The first cycle after `cycle` in which something happens here, while the leaf hasher has taken so many chunks.
    pub(super) fn next_event(&self, cycle: u64, started: u64) -> Option<u64> {
        if self.arrived == self.all {
            return None;
        }
        let room = self.room(started);
        let link = if self.takes(room) { self.link.ready_at(cycle, self.chunk) } else { None };
        let extension = self.extension.as_ref().and_then(|extension| extension.next_event(cycle, room));
        [link, extension].into_iter().flatten().min()
    }
    /// Bytes by the link.
    pub(super) fn link_bytes(&self) -> u64 {
        self.link.taken()
    }
}
