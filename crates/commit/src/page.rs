//! Pages: subtrees of seven levels, the unit in which a tree is stored.

use evergrove_primitives::Digest;
use evergrove_primitives::field::NonCanonical;
use evergrove_primitives::hash::poseidon::lanes::two_to_one_many;

/// Levels of nodes in a page: 128 + 64 + ... + 2 = 254 nodes, the page's root excluded.
pub const PAGE_LEVELS: u8 = 7;
/// Nodes of a page.
pub const PAGE_NODES: usize = 254;
/// Nodes of a page's bottom level.
pub const PAGE_WIDTH: usize = 1 << PAGE_LEVELS;

const BITMAP_BYTES: usize = 32;
const DIGEST_BYTES: usize = 32;

/// The nodes of a page that differ from the null digest of their level.
///
/// Level 0 of a page has 128 nodes, level 6 has two; the root belongs to the page above. Nodes are numbered 0 to 253, level
/// by level from the bottom and from left to right. In memory a page takes 56 bytes and 32 for every node that it holds; a
/// page whose subtree has one leaf holds seven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Bit `n % 64` of word `n / 64` is set when node n is held.
    bitmap: [u64; 4],
    /// The held nodes in ascending order of their numbers.
    digests: Vec<Digest>,
}

/// Bytes are not a page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The length is not that of a bitmap and one digest for each of its set bits.
    #[error("a page with {nodes} nodes has {expected} bytes, but there are {found}: the page is truncated or damaged")]
    Length {
        /// Nodes according to the bitmap, 0 if the bitmap itself is incomplete.
        nodes: usize,
        /// Bytes of such a page.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// The bitmap names a node beyond the 254 of a page.
    #[error("the bitmap names node {0}, but a page has 254 nodes: the page is damaged")]
    Bitmap(usize),
    /// A digest has an element that is not below p.
    #[error("digest {digest} of the page: {source}")]
    Digest {
        /// The digest's place among those held.
        digest: usize,
        /// The element.
        source: NonCanonical,
    },
}

/// The number of a node within its page.
fn number(level: u8, position: u64) -> usize {
    assert!(level < PAGE_LEVELS, "level {level} of a page: there are {PAGE_LEVELS}");
    let width = PAGE_WIDTH >> level;
    assert!(position < width as u64, "position {position} of level {level} of a page: there are {width}");
    2 * (PAGE_WIDTH - width) + position as usize
}

impl Page {
    /// A page without held nodes.
    pub const fn new() -> Self {
        Self { bitmap: [0; 4], digests: Vec::new() }
    }

    /// The node at `position` of `level` (0 is the bottom), or `None` when it is its level's null digest.
    ///
    /// # Panics
    /// If `level` is not below 7 or `position` not below 2^(7 - level).
    pub fn get(&self, level: u8, position: u64) -> Option<&Digest> {
        let n = number(level, position);
        self.holds(n).then(|| &self.digests[self.rank(n)])
    }

    /// Holds `digest` at `position` of `level`. Moves up to 253 digests.
    ///
    /// # Panics
    /// As [`Page::get`].
    pub fn set(&mut self, level: u8, position: u64, digest: Digest) {
        let n = number(level, position);
        let rank = self.rank(n);
        if self.holds(n) {
            self.digests[rank] = digest;
        } else {
            self.bitmap[n / 64] |= 1 << (n % 64);
            self.digests.insert(rank, digest);
        }
    }

    /// Releases the node at `position` of `level`: it becomes its level's null digest.
    ///
    /// # Panics
    /// As [`Page::get`].
    pub fn clear(&mut self, level: u8, position: u64) {
        let n = number(level, position);
        if self.holds(n) {
            self.digests.remove(self.rank(n));
            self.bitmap[n / 64] &= !(1 << (n % 64));
        }
    }

    /// True when no node is held.
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Number of nodes held.
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    /// Positions of the nodes held in `level`, ascending.
    ///
    /// # Panics
    /// If `level` is not below 7.
    pub fn positions(&self, level: u8) -> impl Iterator<Item = u64> + '_ {
        let first = number(level, 0);
        (0..PAGE_WIDTH >> level).filter(move |p| self.holds(first + p)).map(|p| p as u64)
    }

    /// The page as bytes: a bitmap of 256 bits (bit n of byte n / 8 for node n, the last two zero), then the held digests in
    /// ascending order, 32 bytes each.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(BITMAP_BYTES + DIGEST_BYTES * self.digests.len());
        self.bitmap.iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
        self.digests.iter().for_each(|d| out.extend_from_slice(&d.to_bytes()));
        out
    }

    /// The page that [`Page::encode`] writes as exactly these bytes.
    ///
    /// # Errors
    /// [`PageError`] if no page has these bytes; never panics.
    pub fn decode(bytes: &[u8]) -> Result<Self, PageError> {
        let length =
            |nodes| PageError::Length { nodes, expected: BITMAP_BYTES + DIGEST_BYTES * nodes, found: bytes.len() };
        let Some((head, body)) = bytes.split_at_checked(BITMAP_BYTES) else {
            return Err(length(0));
        };
        let mut bitmap = [0; 4];
        for (word, le) in bitmap.iter_mut().zip(head.chunks_exact(8)) {
            *word = le.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b));
        }
        if let Some(n) = (PAGE_NODES..256).find(|n| bitmap[n / 64] >> (n % 64) & 1 == 1) {
            return Err(PageError::Bitmap(n));
        }
        let nodes = bitmap.iter().map(|w| w.count_ones() as usize).sum();
        let (chunks, rest) = body.as_chunks::<DIGEST_BYTES>();
        if chunks.len() != nodes || !rest.is_empty() {
            return Err(length(nodes));
        }
        let digests = chunks
            .iter()
            .enumerate()
            .map(|(digest, b)| Digest::from_bytes(b).map_err(|source| PageError::Digest { digest, source }))
            .collect::<Result<_, _>>()?;
        Ok(Self { bitmap, digests })
    }

    /// Each page of `levels` levels after changes to its bottom nodes, and the digest of its root.
    ///
    /// Changes are pairs of a position in the level, whose low bits count, and a digest, in strictly increasing order.
    /// `nulls` are the null digests of the pages' levels and of their roots. At most 7 permutations for each change;
    /// the permutations of one level of all pages are made together, so pages with few changes also fill vectors.
    pub(crate) fn rebuilt(
        levels: u8,
        nulls: &[Digest],
        pages: &[(&Self, &[(u64, Digest)])],
    ) -> impl Iterator<Item = (Self, Digest)> {
        let mut nodes: Vec<[Digest; PAGE_NODES]> = pages.iter().map(|(page, _)| page.expand(levels, nulls)).collect();
        // Pages and positions of the nodes of a level that change, ascending.
        let mut dirty: Vec<(usize, usize)> = Vec::new();
        for (page, (nodes, (_, changes))) in nodes.iter_mut().zip(pages).enumerate() {
            for (position, digest) in *changes {
                let position = *position as usize % PAGE_WIDTH;
                nodes[position] = *digest;
                dirty.push((page, position));
            }
        }
        let mut roots = vec![Digest::ZERO; pages.len()];
        let (mut pairs, mut digests) = (Vec::new(), Vec::new());
        for level in 0..levels {
            dirty.iter_mut().for_each(|(_, position)| *position >>= 1);
            dirty.dedup();
            let below = number(level, 0);
            pairs.clear();
            pairs.extend(dirty.iter().map(|(page, parent)| {
                let children = &nodes[*page][below + 2 * parent..];
                [children[0], children[1]]
            }));
            digests.resize(pairs.len(), Digest::ZERO);
            two_to_one_many(&pairs, &mut digests);
            for ((page, parent), digest) in dirty.iter().zip(&digests) {
                match level + 1 == levels {
                    true => roots[*page] = *digest,
                    false => nodes[*page][number(level + 1, 0) + parent] = *digest,
                }
            }
        }
        let compressed = nodes.into_iter().map(move |nodes| Self::compress(levels, &nodes, nulls));
        compressed.zip(roots)
    }

    fn expand(&self, levels: u8, nulls: &[Digest]) -> [Digest; PAGE_NODES] {
        let mut nodes = [Digest::ZERO; PAGE_NODES];
        for level in 0..levels {
            let first = number(level, 0);
            nodes[first..first + (PAGE_WIDTH >> level)].fill(nulls[level as usize]);
        }
        let mut held = self.digests.iter();
        for (w, word) in self.bitmap.iter().enumerate() {
            let mut bits = *word;
            while bits != 0 {
                if let Some(d) = held.next() {
                    nodes[64 * w + bits.trailing_zeros() as usize] = *d;
                }
                bits &= bits - 1;
            }
        }
        nodes
    }

    fn compress(levels: u8, nodes: &[Digest; PAGE_NODES], nulls: &[Digest]) -> Self {
        let mut page = Self::default();
        let held = |n: usize, level: u8| nodes[n] != nulls[level as usize];
        let each = || (0..levels).flat_map(|l| (0..PAGE_WIDTH >> l).map(move |p| (number(l, 0) + p, l)));
        page.digests.reserve_exact(each().filter(|(n, l)| held(*n, *l)).count());
        for (n, level) in each() {
            if held(n, level) {
                page.bitmap[n / 64] |= 1 << (n % 64);
                page.digests.push(nodes[n]);
            }
        }
        page
    }

    fn holds(&self, n: usize) -> bool {
        self.bitmap[n / 64] >> (n % 64) & 1 == 1
    }

    /// Number of held nodes before node n.
    fn rank(&self, n: usize) -> usize {
        let below = self.bitmap[n / 64] & ((1 << (n % 64)) - 1);
        let words: u32 = self.bitmap[..n / 64].iter().map(|w| w.count_ones()).sum();
        (words + below.count_ones()) as usize
    }
}
