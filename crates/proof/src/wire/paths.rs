//! Several opened leaves of one Merkle tree, each node once.
//!
//! A node is *on a path* when an opened leaf lies below it. The sibling of such a node is either on a path itself, and then
//! its digest follows from the leaves, or it is written. Paths end at the cap; the cap's entries on a path follow from the
//! leaves too, so that only the others are written.

use evergrove_primitives::hash::poseidon::{hash_or_noop, two_to_one};
use evergrove_primitives::{Digest, Goldilocks};

use super::reader::{Reader, Writer};
use super::{DecodeError, OpenedLeaf};

/// The nodes on the paths of a set of leaves.
pub(super) struct Paths {
    /// For each level from the leaves up to the cap: positions, strictly increasing.
    levels: Vec<Vec<u32>>,
}

impl Paths {
    /// The paths of the leaves at `positions` (any order, repetitions allowed) in a tree of `path_len` levels below the cap.
    pub(super) fn new(positions: impl Iterator<Item = u32>, path_len: usize) -> Self {
        let mut leaves: Vec<u32> = positions.collect();
        leaves.sort_unstable();
        leaves.dedup();
        let mut levels = Vec::with_capacity(path_len + 1);
        levels.push(leaves);
        for l in 0..path_len {
            let mut up: Vec<u32> = levels[l].iter().map(|x| x >> 1).collect();
            up.dedup();
            levels.push(up);
        }
        Self { levels }
    }

    /// The opened leaves, each once, in increasing order.
    pub(super) fn leaves(&self) -> &[u32] {
        &self.levels[0]
    }

    fn path_len(&self) -> usize {
        self.levels.len() - 1
    }

    /// Where the sibling of the `i`th node of level `l` stands in that level, if it is on a path. Siblings are neighbours in
    /// the sorted order.
    fn sibling(&self, l: usize, i: usize) -> Option<usize> {
        let level = &self.levels[l];
        let (other, want) =
            if level[i] & 1 == 0 { (i.wrapping_add(1), level[i] + 1) } else { (i.wrapping_sub(1), level[i] - 1) };
        (level.get(other) == Some(&want)).then_some(other)
    }

    /// The nodes whose siblings are written: (level, place in the level), level by level from the leaves, left to right.
    fn open_ends(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.path_len())
            .flat_map(|l| (0..self.levels[l].len()).map(move |i| (l, i)))
            .filter(|&(l, i)| self.sibling(l, i).is_none())
    }

    /// The cap's entries that are on no path.
    fn open_cap(&self, cap_len: usize) -> impl Iterator<Item = u32> + '_ {
        let top = &self.levels[self.path_len()];
        (0..cap_len as u32).filter(|x| top.binary_search(x).is_err())
    }

    /// The encoded length of leaves of `width` elements, of the siblings, and of a cap of `cap_len` digests (0: the cap is the
    /// verifier's own).
    pub(super) fn encoded_len(&self, width: usize, cap_len: usize) -> usize {
        self.leaves().len() * width * 8 + 32 * (self.open_ends().count() + self.open_cap(cap_len).count())
    }

    /// Writes each leaf once, then the siblings, then what is left of the cap. `opened` finds what a query opened at a leaf.
    pub(super) fn write<'a>(&self, w: &mut Writer, cap: &[Digest], opened: impl Fn(u32) -> &'a OpenedLeaf) {
        let leaves: Vec<&OpenedLeaf> = self.leaves().iter().map(|&x| opened(x)).collect();
        leaves.iter().for_each(|o| w.elements(&o.leaf));
        for (l, i) in self.open_ends() {
            let below = self.leaves().partition_point(|x| x >> l < self.levels[l][i]);
            w.digests(&[leaves[below].siblings[l]]);
        }
        self.open_cap(cap.len()).for_each(|x| w.digests(&[cap[x as usize]]));
    }

    /// Reads leaves of `width` elements, the siblings and what is written of a cap of `cap_len` digests; answers the opened
    /// leaf of each of [`Self::leaves`], and the cap.
    pub(super) fn read(
        &self,
        r: &mut Reader<'_>,
        width: usize,
        cap_len: usize,
    ) -> Result<(Vec<OpenedLeaf>, Vec<Digest>), DecodeError> {
        let leaves: Vec<_> =
            self.leaves().iter().map(|_| r.elements(width, "leaf")).collect::<Result<_, DecodeError>>()?;
        let mut siblings: Vec<Vec<Digest>> = self.levels.iter().map(|x| vec![Digest::ZERO; x.len()]).collect();
        for (l, i) in self.open_ends() {
            siblings[l][i] = r.digest("Merkle sibling")?;
        }
        let mut cap = vec![Digest::ZERO; cap_len];
        for x in self.open_cap(cap_len) {
            cap[x as usize] = r.digest("Merkle cap")?;
        }
        let top = self.climb(&leaves, &mut siblings, cap_len != 0);
        for (&x, digest) in self.levels[self.path_len()].iter().zip(top) {
            if let Some(entry) = cap.get_mut(x as usize) {
                *entry = digest;
            }
        }
        let open = |(leaf, &x): (_, &u32)| OpenedLeaf { leaf, siblings: self.path(x, &siblings) };
        Ok((leaves.into_iter().zip(self.leaves()).map(open).collect(), cap))
    }

    /// Computes the digests on the paths, fills in the siblings that are on a path, and answers the digests of the top level
    /// (meaningful only with `to_the_top`).
    fn climb(&self, leaves: &[Vec<Goldilocks>], siblings: &mut [Vec<Digest>], to_the_top: bool) -> Vec<Digest> {
        let needed = self.needed(to_the_top);
        let hash_leaf = |(leaf, &needed): (&Vec<_>, &bool)| if needed { hash_or_noop(leaf) } else { Digest::ZERO };
        let mut digests: Vec<Digest> = leaves.iter().zip(&needed[0]).map(hash_leaf).collect();
        for l in 0..self.path_len() {
            for (i, sibling) in siblings[l].iter_mut().enumerate() {
                if let Some(j) = self.sibling(l, i) {
                    *sibling = digests[j];
                }
            }
            let mut up = vec![Digest::ZERO; self.levels[l + 1].len()];
            let mut i = 0;
            for (d, &needed) in up.iter_mut().zip(&needed[l + 1]) {
                if needed {
                    let (own, other) = (&digests[i], &siblings[l][i]);
                    *d = if self.levels[l][i] & 1 == 0 { two_to_one(own, other) } else { two_to_one(other, own) };
                }
                i += if self.sibling(l, i).is_some() { 2 } else { 1 };
            }
            digests = up;
        }
        digests
    }

    fn path(&self, leaf: u32, siblings: &[Vec<Digest>]) -> Vec<Digest> {
        (0..self.path_len()).map(|l| siblings[l][self.levels[l].partition_point(|&x| x < leaf >> l)]).collect()
    }

    /// Which digests have to be computed: those of a node with its sibling on a path and all below such a node, or simply all
    /// when those of the top level are wanted.
    fn needed(&self, to_the_top: bool) -> Vec<Vec<bool>> {
        let mut needed: Vec<Vec<bool>> = self.levels.iter().map(|x| vec![to_the_top; x.len()]).collect();
        for l in (0..self.path_len()).rev() {
            let mut p = 0;
            for i in 0..self.levels[l].len() {
                if self.levels[l + 1][p] != self.levels[l][i] >> 1 {
                    p += 1;
                }
                needed[l][i] = needed[l + 1][p] || self.sibling(l, i).is_some();
            }
        }
        needed
    }
}
