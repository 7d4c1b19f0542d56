//! A typed link between two components.

use std::collections::VecDeque;

/// A bounded queue between a producer and a consumer.
///
/// *Ready* ([`Link::ready`]) and *valid* ([`Link::front`]) describe the state at the last commit: an entry pushed in
/// one cycle can be popped in the next, and a place freed by a pop can be filled in the next.
#[derive(Clone, Debug)]
pub struct Link<T> {
    queue: VecDeque<T>,
    capacity: usize,
    /// Entries that the consumer can see.
    visible: usize,
    /// Entries at the last commit, which take places until the next one.
    held: usize,
    peak: usize,
}

impl<T> Link<T> {
    /// A link with room for `capacity` entries.
    pub fn new(capacity: usize) -> Self {
        Self { queue: VecDeque::new(), capacity, visible: 0, held: 0, peak: 0 }
    }
    /// Places that the producer can still fill in this cycle.
    pub fn ready(&self) -> usize {
        let staged = self.queue.len() - self.visible;
        self.capacity.saturating_sub(self.held + staged)
    }
    /// Stages an entry. It becomes valid at the next commit.
    ///
    /// # Panics
    /// If the link has no free place; ask [`Link::ready`] first.
    pub fn push(&mut self, entry: T) {
        assert!(self.ready() > 0, "a link of capacity {} is full", self.capacity);
        self.queue.push_back(entry);
    }
    /// The oldest entry, if one is valid.
    pub fn front(&self) -> Option<&T> {
        self.queue.front().filter(|_| self.visible > 0)
    }
    /// Takes the oldest entry, if one is valid.
    pub fn pop(&mut self) -> Option<T> {
        self.visible = self.visible.checked_sub(1)?;
        self.queue.pop_front()
    }
    /// Number of valid entries.
    pub fn len(&self) -> usize {
        self.visible
    }
    /// Whether no entry is valid or staged.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
    /// The most entries that the link held at a commit.
    pub fn peak(&self) -> usize {
        self.peak
    }
    /// Ends the cycle: staged entries become valid, and popped entries free their places.
    pub fn commit(&mut self) {
        self.visible = self.queue.len();
        self.held = self.visible;
        self.peak = self.peak.max(self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_valid_a_cycle_later_and_room_returns_a_cycle_later() {
        let mut link = Link::new(2);
        assert_eq!(link.ready(), 2);
        link.push('a');
        link.push('b');
        assert_eq!((link.ready(), link.front().copied(), link.pop()), (0, None, None));
        link.commit();
        assert_eq!((link.ready(), link.len()), (0, 2));
        assert_eq!(link.pop(), Some('a'));
        // The place becomes free at the commit.
        assert_eq!(link.ready(), 0);
        link.commit();
        assert_eq!(link.ready(), 1);
        link.push('c');
        assert_eq!((link.pop(), link.pop()), (Some('b'), None));
        link.commit();
        assert_eq!((link.pop(), link.is_empty(), link.peak()), (Some('c'), true, 2));
    }

    #[test]
    #[should_panic(expected = "a link of capacity 1 is full")]
    fn a_full_link_takes_nothing() {
        let mut link = Link::new(1);
        link.push(1);
        link.push(2);
    }
}
