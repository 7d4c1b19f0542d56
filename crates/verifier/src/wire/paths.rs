//! Several opened leaves of one Merkle tree, each node once.
//!
//! A node is *on a path* when an opened leaf lies below it. The sibling of such a node is either on a path itself, and
//! then its digest follows from the leaves, or it is written. Paths end at the cap. The cap's entries on a path also
//! follow from the leaves, so only the others are written.

use alloc::vec;
use alloc::vec::Vec;

use evergrove_primitives::hash::tree::TreeHash;
use evergrove_primitives::{Digest, Goldilocks};

use super::reader::{Reader, Writer};
use super::{DecodeError, OpenedLeaf};

/// The source of the cap of a tree.
#[derive(Clone, Copy)]
pub(super) enum Cap<'a> {
    /// The proof, which contains this many digests minus those that follow from the leaves.
    Written(usize),
    /// The verifier's key: the leaves must lead to this cap.
    Known(&'a [Digest]),
    /// The verifier's key, which is not available: the ends of the paths are not checked.
    Unknown,
}

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

    /// The place of the sibling of the `i`th node of level `l` in that level, if it is on a path. Siblings are
    /// neighbours in the sorted order.
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

    /// Writes each leaf once, then the siblings, then the remaining entries of the cap. `opened` finds the leaf that a
    /// query opened.
    pub(super) fn write<'a>(&self, w: &mut Writer, cap: &[Digest], opened: impl Fn(u32) -> &'a OpenedLeaf) {
        let leaves: Vec<&OpenedLeaf> = self.leaves().iter().map(|&x| opened(x)).collect();
        leaves.iter().for_each(|o| w.elements(&o.leaf));
        for (l, i) in self.open_ends() {
            let below = self.leaves().partition_point(|x| x >> l < self.levels[l][i]);
            w.digests(&[leaves[below].siblings[l]]);
        }
        self.open_cap(cap.len()).for_each(|x| w.digests(&[cap[x as usize]]));
    }

    /// Reads leaves of `width` elements, the siblings and the written entries of the cap. Returns the opened leaf of
    /// each of [`Self::leaves`], and the cap if it is written.
    pub(super) fn read(
        &self,
        r: &mut Reader<'_>,
        width: usize,
        source: Cap<'_>,
        hash: impl TreeHash<Element = Goldilocks, Digest = Digest>,
    ) -> Result<(Vec<OpenedLeaf>, Vec<Digest>), DecodeError> {
        let leaves = r.elements(self.leaves().len().saturating_mul(width), "leaf")?;
        let mut siblings: Vec<Vec<Digest>> = self.levels.iter().map(|x| vec![Digest::ZERO; x.len()]).collect();
        for (l, i) in self.open_ends() {
            siblings[l][i] = r.digest("Merkle sibling")?;
        }
        let cap_len = if let Cap::Written(len) = source { len } else { 0 };
        let mut cap = vec![Digest::ZERO; cap_len];
        for x in self.open_cap(cap_len) {
            cap[x as usize] = r.digest("Merkle cap")?;
        }
        let top = self.climb(hash, &leaves, width, &mut siblings, !matches!(source, Cap::Unknown));
        for (&x, digest) in self.levels[self.path_len()].iter().zip(&top) {
            match source {
                Cap::Written(_) => cap.get_mut(x as usize).into_iter().for_each(|entry| *entry = *digest),
                Cap::Known(known) if known.get(x as usize) != Some(digest) => {
                    return Err(DecodeError::Cap { entry: x });
                }
                Cap::Known(_) | Cap::Unknown => {}
            }
        }
        let open = |(i, &x): (usize, &u32)| OpenedLeaf {
            leaf: leaves[i * width..][..width].to_vec(),
            siblings: self.path(x, &siblings),
        };
        Ok((self.leaves().iter().enumerate().map(open).collect(), cap))
    }

    /// Computes the digests on the paths, level by level, fills in the siblings that are on a path, and returns the
    /// digests of the top level (meaningful only with `to_the_top`).
    fn climb(
        &self,
        hash: impl TreeHash<Element = Goldilocks, Digest = Digest>,
        leaves: &[Goldilocks],
        width: usize,
        siblings: &mut [Vec<Digest>],
        to_the_top: bool,
    ) -> Vec<Digest> {
        let needed = self.needed(to_the_top);
        let wanted: Vec<usize> = (0..self.leaves().len()).filter(|i| needed[0][*i]).collect();
        let rows: Vec<Goldilocks> = wanted.iter().flat_map(|i| &leaves[i * width..][..width]).copied().collect();
        let mut hashed = vec![Digest::ZERO; wanted.len()];
        hash.leaves(&rows, width, &mut hashed);
        let mut digests = scatter(self.leaves().len(), &wanted, &hashed);
        let (mut wanted, mut pairs) = (Vec::new(), Vec::new());
        for l in 0..self.path_len() {
            for (i, sibling) in siblings[l].iter_mut().enumerate() {
                if let Some(j) = self.sibling(l, i) {
                    *sibling = digests[j];
                }
            }
            wanted.clear();
            pairs.clear();
            let mut i = 0;
            for (parent, &needed) in needed[l + 1].iter().enumerate() {
                if needed {
                    let (own, other) = (digests[i], siblings[l][i]);
                    wanted.push(parent);
                    pairs.push(if self.levels[l][i] & 1 == 0 { [own, other] } else { [other, own] });
                }
                i += if self.sibling(l, i).is_some() { 2 } else { 1 };
            }
            hashed.resize(pairs.len(), Digest::ZERO);
            hash.nodes(pairs.as_flattened(), 2, &mut hashed);
            digests = scatter(needed[l + 1].len(), &wanted, &hashed);
        }
        digests
    }

    fn path(&self, leaf: u32, siblings: &[Vec<Digest>]) -> Vec<Digest> {
        (0..self.path_len()).map(|l| siblings[l][self.levels[l].partition_point(|&x| x < leaf >> l)]).collect()
    }

    /// Which digests must be computed: those of a node with its sibling on a path and all below such a node, or all if
    /// those of the top level are wanted.
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

/// `n` digests, those at `places` as given.
fn scatter(n: usize, places: &[usize], digests: &[Digest]) -> Vec<Digest> {
    let mut out = vec![Digest::ZERO; n];
    for (place, digest) in places.iter().zip(digests) {
        out[*place] = *digest;
    }
    out
}
