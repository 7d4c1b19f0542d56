//! A vector of 2^H slots, most of which may be empty, and its Merkle tree.

use std::sync::Arc;

use evergrove_primitives::Digest;
use evergrove_verifier::tree::{Value, node_digest, null_digests};
use evergrove_verifier::{Commitment, HEIGHT_MAX, Opening};
use rayon::prelude::*;

use crate::hashing::leaf_digests;
use crate::page::{PAGE_LEVELS, Page};
use crate::{PageId, Store, StoreError, StoreMut};

/// Pages of one tier that an update builds in parallel before it writes them.
const PAGES_AT_ONCE: usize = 1 << 13;
/// Pages that one task builds, with 8 KiB each.
const PAGES_PER_TASK: usize = 32;
/// Leaves that one task hashes.
const LEAVES_PER_TASK: usize = 256;

/// A vector could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// The height is not from 1 to 40.
    #[error("invalid height {0}: expected 1 to {HEIGHT_MAX}")]
    Height(u8),
    /// The vector already has the greatest height.
    #[error("the vector has the greatest height, {HEIGHT_MAX}, and cannot grow")]
    Full,
    /// The slot does not exist.
    #[error("index {index} is out of range: a vector of height {height} has slots 0 to {}", (1u64 << height) - 1)]
    OutOfRange {
        /// The index.
        index: u64,
        /// The vector's height.
        height: u8,
    },
    /// One slot is changed twice in one update.
    #[error("duplicate index {0} in one update")]
    Duplicate(u64),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A vector of 2^height slots over a store of its pages and values.
///
/// Slot `i` is the leaf at position `i` of level 0; its digest is
/// [`leaf_digest`](evergrove_verifier::tree::leaf_digest) of index and value, or null_0 if the slot is empty. A store
/// without pages is the empty vector, whose root is null_H. Positions never move: [`Vector::grow`] extends a vector.
#[derive(Clone, Debug)]
pub struct Vector<S> {
    height: u8,
    /// Null digests of levels 0 to `height`.
    nulls: Arc<[Digest]>,
    store: S,
}

impl<S: Store> Vector<S> {
    /// The vector of this height that `store` holds.
    ///
    /// # Errors
    /// [`VectorError::Height`] unless the height is from 1 to 40.
    pub fn new(height: u8, store: S) -> Result<Self, VectorError> {
        if !(1..=HEIGHT_MAX).contains(&height) {
            return Err(VectorError::Height(height));
        }
        Ok(Self { height, nulls: null_digests(height).into(), store })
    }

    /// H: the vector has 2^H slots.
    pub fn height(&self) -> u8 {
        self.height
    }

    /// Null digests of levels 0 to H.
    pub fn nulls(&self) -> &[Digest] {
        &self.nulls
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The digest of the node at `position` of `level` (0: leaves, H: the root). Reads one page.
    ///
    /// # Panics
    /// If `level > H` or `position >= 2^(H - level)`.
    pub fn node(&self, level: u8, position: u64) -> Result<Digest, StoreError> {
        self.reader().node(level, position)
    }

    /// The node at `position` of `level` of the vector as grown to `level`, if that is above H.
    ///
    /// # Panics
    /// If `position` is not below 2^(H - level), or not 0 above H.
    pub fn grown_node(&self, level: u8, position: u64) -> Result<Digest, StoreError> {
        if level <= self.height {
            return self.node(level, position);
        }
        assert!(position == 0, "position {position} of level {level} of a vector of height {}", self.height);
        Ok(self.commitment()?.grown(level).root)
    }

    /// C, the digest of the root. Reads one page.
    pub fn root(&self) -> Result<Digest, StoreError> {
        self.node(self.height, 0)
    }

    /// The public commitment: scheme, height and root.
    pub fn commitment(&self) -> Result<Commitment, StoreError> {
        Ok(Commitment { height: self.height, root: self.root()? })
    }

    /// The value of a slot, `None` when it is empty.
    ///
    /// # Errors
    /// [`VectorError::OutOfRange`] and the errors of the store.
    pub fn value(&self, index: u64) -> Result<Option<Value>, VectorError> {
        self.check(index)?;
        Ok(self.store.value(index)?)
    }

    /// The siblings of the nodes of levels `from` to `to - 1` on the path from leaf `index` to the root, bottom up:
    /// they lead from the path's node of level `from` to that of level `to`. Reads at most ceil(H / 7) pages.
    ///
    /// # Errors
    /// [`VectorError::OutOfRange`] and the errors of the store.
    ///
    /// # Panics
    /// If `from > to` or `to > H`.
    pub fn siblings(&self, index: u64, from: u8, to: u8) -> Result<Vec<Digest>, VectorError> {
        self.check(index)?;
        Ok(self.reader().siblings(index, from, to)?)
    }

    /// The opening of a slot, empty or not: its value and the siblings of its path. Reads at most ceil(H / 7) pages.
    ///
    /// # Errors
    /// [`VectorError::OutOfRange`] and the errors of the store.
    pub fn open(&self, index: u64) -> Result<Opening, VectorError> {
        let value = self.value(index)?;
        Ok(Opening { index, height: self.height, value, siblings: self.siblings(index, 0, self.height)? })
    }

    /// Indices of the slots that hold a value, ascending. Reads each page once, as it is reached.
    pub fn occupied(&self) -> Occupied<'_, S> {
        let top = (self.height - 1) / PAGE_LEVELS;
        Occupied { store: &self.store, stack: vec![PageId { tier: top, position: 0 }], found: Vec::new() }
    }

    /// A reader that keeps the pages of the last path, for paths in ascending order of their indices.
    pub(crate) fn reader(&self) -> Reader<'_, S> {
        Reader { vector: self, pages: Default::default() }
    }

    pub(crate) fn check(&self, index: u64) -> Result<(), VectorError> {
        if index >> self.height == 0 { Ok(()) } else { Err(VectorError::OutOfRange { index, height: self.height }) }
    }

    /// Levels of the pages of a tier: 7, fewer in the top tier.
    fn levels(&self, tier: u8) -> u8 {
        PAGE_LEVELS.min(self.height - PAGE_LEVELS * tier)
    }
}

impl<S: StoreMut> Vector<S> {
    /// Sets slots to values, or empties them (`None`), and returns the new commitment. The changes may be in any order.
    ///
    /// Works tier by tier: the pages of a tier are built in parallel, some thousands at a time, and written in ascending
    /// order; a page that does not change is not written. One change touches at most ceil(H / 7) pages and takes H + 1
    /// permutations; k changes share the nodes above them.
    ///
    /// # Errors
    /// [`VectorError::OutOfRange`] and [`VectorError::Duplicate`], before anything is written. After an error of the
    /// store the written data is incomplete: its owner discards it.
    pub fn apply(&mut self, changes: &[(u64, Option<Value>)]) -> Result<Commitment, VectorError> {
        changes.iter().try_for_each(|(i, _)| self.check(*i))?;
        let mut order: Vec<&(u64, Option<Value>)> = changes.iter().collect();
        order.par_sort_unstable_by_key(|c| c.0);
        if let Some(w) = order.windows(2).find(|w| w[0].0 == w[1].0) {
            return Err(VectorError::Duplicate(w[0].0));
        }
        let null = self.nulls[0];
        let mut nodes: Vec<(u64, Digest)> = order
            .par_chunks(LEAVES_PER_TASK)
            .flat_map_iter(|some| {
                let digests = leaf_digests(some.iter().filter_map(|(i, v)| Some((*i, (*v)?))));
                let mut digests = digests.into_iter();
                some.iter().map(move |(i, v)| (*i, v.and_then(|_| digests.next()).unwrap_or(null)))
            })
            .collect();
        for (index, value) in order {
            self.store.put_value(*index, *value)?;
        }
        for tier in 0..self.height.div_ceil(PAGE_LEVELS) {
            if nodes.is_empty() {
                break;
            }
            nodes = self.apply_tier(tier, &nodes)?;
        }
        Ok(match nodes.first() {
            Some((_, root)) => Commitment { height: self.height, root: *root },
            None => self.commitment()?,
        })
    }

    /// Writes a tier's bottom nodes (ascending positions) and all above them in the tier; returns the nodes just above the
    /// tier that have changed.
    fn apply_tier(&mut self, tier: u8, nodes: &[(u64, Digest)]) -> Result<Vec<(u64, Digest)>, StoreError> {
        let levels = self.levels(tier);
        let nulls = &self.nulls[(PAGE_LEVELS * tier) as usize..];
        let groups: Vec<&[(u64, Digest)]> = nodes.chunk_by(|a, b| a.0 >> PAGE_LEVELS == b.0 >> PAGE_LEVELS).collect();
        let mut above = Vec::with_capacity(groups.len());
        for some in groups.chunks(PAGES_AT_ONCE) {
            let store = &self.store;
            let built = some
                .par_chunks(PAGES_PER_TASK)
                .map(|groups| {
                    let id = |group: &[(u64, Digest)]| PageId { tier, position: group[0].0 >> PAGE_LEVELS };
                    let olds = groups.iter().map(|group| store.page(id(group))).collect::<Result<Vec<_>, _>>()?;
                    let olds = || olds.iter().map(|old| old.as_deref().unwrap_or(const { &Page::new() }));
                    let pages: Vec<(&Page, &[(u64, Digest)])> = olds().zip(groups.iter().copied()).collect();
                    let changed = Page::rebuilt(levels, nulls, &pages)
                        .zip(&pages)
                        .filter(|((page, _), (old, _))| page != *old)
                        .map(|((page, root), (_, group))| (id(group), page, root));
                    Ok(changed.collect::<Vec<_>>())
                })
                .collect::<Result<Vec<_>, StoreError>>()?;
            for (id, page, root) in built.into_iter().flatten() {
                self.store.put_page(id, (!page.is_empty()).then_some(page))?;
                above.push((id.position, root));
            }
        }
        Ok(above)
    }

    /// Doubles the number of slots; the new slots are empty: height H + 1 and C' = H2(C, null_H). Reads and writes one
    /// page.
    ///
    /// # Errors
    /// [`VectorError::Full`] at height 40, and the errors of the store.
    pub fn grow(&mut self) -> Result<Commitment, VectorError> {
        if self.height == HEIGHT_MAX {
            return Err(VectorError::Full);
        }
        let root = self.root()?;
        let null = self.nulls[self.height as usize];
        if root != null {
            let id = PageId { tier: self.height / PAGE_LEVELS, position: 0 };
            let mut page = self.store.page(id)?.map_or_else(Page::new, |p| (*p).clone());
            page.set(self.height % PAGE_LEVELS, 0, root);
            self.store.put_page(id, Some(page))?;
        }
        self.height += 1;
        self.nulls = null_digests(self.height).into();
        Ok(Commitment { height: self.height, root: node_digest(&root, &null) })
    }
}

/// Reads nodes and keeps the last page of each tier, so paths in ascending order fetch each page once.
pub(crate) struct Reader<'a, S> {
    vector: &'a Vector<S>,
    /// For each tier, position and content of the page read last.
    pages: [Option<(u64, Option<Arc<Page>>)>; 6],
}

impl<S: Store> Reader<'_, S> {
    pub(crate) fn node(&mut self, level: u8, position: u64) -> Result<Digest, StoreError> {
        let height = self.vector.height;
        assert!(level <= height, "level {level} of a tree of height {height}");
        assert!(position >> (height - level) == 0, "position {position} of level {level} of a tree of height {height}");
        if level == height {
            let (left, right) = (self.node(level - 1, 0)?, self.node(level - 1, 1)?);
            return Ok(node_digest(&left, &right));
        }
        let (tier, within) = (level / PAGE_LEVELS, level % PAGE_LEVELS);
        let shift = PAGE_LEVELS - within;
        let id = PageId { tier, position: position >> shift };
        let kept = &mut self.pages[tier as usize];
        if kept.as_ref().is_none_or(|(p, _)| *p != id.position) {
            *kept = Some((id.position, self.vector.store.page(id)?));
        }
        let page = kept.as_ref().and_then(|(_, page)| page.as_ref());
        let held = page.and_then(|p| p.get(within, position & ((1 << shift) - 1)));
        Ok(held.copied().unwrap_or(self.vector.nulls[level as usize]))
    }

    pub(crate) fn siblings(&mut self, index: u64, from: u8, to: u8) -> Result<Vec<Digest>, StoreError> {
        assert!(
            from <= to && to <= self.vector.height,
            "levels {from} to {to} of a tree of height {}",
            self.vector.height
        );
        (from..to).map(|level| self.node(level, index >> level ^ 1)).collect()
    }
}

/// Iterator over the slots that hold a value, of [`Vector::occupied`].
pub struct Occupied<'a, S> {
    store: &'a S,
    /// Pages to read, the next one last.
    stack: Vec<PageId>,
    /// Slots of the page read last, descending.
    found: Vec<u64>,
}

impl<S: Store> Iterator for Occupied<'_, S> {
    type Item = Result<u64, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(index) = self.found.pop() {
                return Some(Ok(index));
            }
            let id = self.stack.pop()?;
            let page = match self.store.page(id) {
                Ok(Some(page)) => page,
                Ok(None) => continue,
                Err(e) => return Some(Err(e)),
            };
            let mut below: Vec<u64> = page.positions(0).map(|p| id.position << PAGE_LEVELS | p).collect();
            below.reverse();
            match id.tier.checked_sub(1) {
                None => self.found = below,
                Some(tier) => self.stack.extend(below.into_iter().map(|position| PageId { tier, position })),
            }
        }
    }
}
