//! A memory described by its bandwidth only.

/// A token bucket: every cycle adds bandwidth / frequency bytes, up to a burst; a transfer removes its bytes.
///
/// Exact: the token is the fraction of a byte that makes both the rate and a byte whole numbers, so no rounding error
/// accumulates. A call counts the tokens of all cycles since the call before, so skipped cycles count too.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    tokens: u64,
    /// Tokens that one cycle adds.
    rate: u64,
    /// Tokens of one byte.
    byte: u64,
    burst: u64,
    /// The first cycle whose tokens are not yet counted.
    next: u64,
    taken: u64,
}

impl TokenBucket {
    /// A memory of `bandwidth` bytes a second at `frequency` cycles a second; the share `efficiency` of the bandwidth
    /// is usable. The bucket saves at most `burst` bytes, but never less than one cycle adds.
    pub fn new(bandwidth: u64, efficiency: f64, frequency: u64, burst: u64) -> Self {
        let rate = (bandwidth as f64 * efficiency).round() as u64;
        let common = gcd(rate, frequency).max(1);
        let (rate, byte) = (rate / common, (frequency / common).max(1));
        Self { tokens: 0, rate, byte, burst: burst.saturating_mul(byte).max(rate), next: 0, taken: 0 }
    }
    fn tokens_at(&self, cycle: u64) -> u64 {
        let cycles = (cycle + 1).saturating_sub(self.next);
        self.tokens.saturating_add(cycles.saturating_mul(self.rate)).min(self.burst)
    }
    /// Bytes that can be transferred in `cycle`.
    #[inline]
    pub fn available(&self, cycle: u64) -> u64 {
        self.tokens_at(cycle) / self.byte
    }
    /// Transfers `bytes` if there are tokens for all of them, and returns whether it did.
    #[inline]
    pub fn take(&mut self, cycle: u64, bytes: u64) -> bool {
        let (tokens, cost) = (self.tokens_at(cycle), bytes.saturating_mul(self.byte));
        if tokens < cost {
            return false;
        }
        (self.tokens, self.next, self.taken) = (tokens - cost, cycle + 1, self.taken + bytes);
        true
    }
    /// The first cycle after `cycle` in which `bytes` can be transferred if no other transfer takes place; `None` if a
    /// burst holds fewer bytes.
    pub fn ready_at(&self, cycle: u64, bytes: u64) -> Option<u64> {
        let cost = bytes.saturating_mul(self.byte);
        if cost > self.burst || self.rate == 0 {
            return None;
        }
        let missing = cost.saturating_sub(self.tokens);
        Some((self.next + missing.div_ceil(self.rate)).saturating_sub(1).max(cycle + 1))
    }
    /// Bytes transferred so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_come_at_the_rate_whatever_its_fraction() {
        // 64 bytes at 10/3 bytes a cycle: every 19.2 cycles.
        let mut memory = TokenBucket::new(1_000_000_000, 1.0, 300_000_000, 128);
        let (mut cycle, mut times) = (0, Vec::new());
        for _ in 0..6 {
            let ready = memory.ready_at(cycle, 64).expect("a burst is enough");
            assert!(ready == cycle + 1 || !memory.take(ready - 1, 64), "one cycle earlier is too early");
            assert!(memory.take(ready, 64));
            times.push(ready + 1);
            cycle = ready;
        }
        assert_eq!(times, [20, 39, 58, 77, 96, 116]);
        assert_eq!(memory.taken(), 6 * 64);
    }

    #[test]
    fn a_burst_is_all_that_is_saved() {
        let mut memory = TokenBucket::new(8, 0.5, 1, 16);
        assert_eq!(memory.available(0), 4);
        assert_eq!(memory.available(1000), 16);
        assert!(memory.take(1000, 16) && !memory.take(1000, 1) && memory.take(1001, 4));
        assert_eq!(memory.ready_at(1001, 17), None);
    }
}
