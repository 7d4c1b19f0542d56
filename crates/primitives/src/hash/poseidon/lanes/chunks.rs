//! States and rows in and out of vectors.

use super::super::{RATE, WIDTH, permute};
use super::rounds::permute_groups;
use super::sbox::from_fn;
use super::{Mode, Rows};
use crate::lanes::{Isa, LANES, Lanes};
use crate::{Digest, Goldilocks};

/// Vectors of states that are permuted side by side.
const GROUPS: usize = 4;

/// Fewer states than this are permuted one after the other, because a vector of them would take longer.
const fn few(isa: Isa) -> usize {
    match isa {
        Isa::Portable | Isa::Avx2 => LANES,
        Isa::Avx512 | Isa::Avx512Ifma => 3,
    }
}

/// The least representatives.
#[inline(always)]
pub(super) fn canonical<L: Lanes>(w: L, x: L::V) -> L::V {
    w.fold(x)
}

#[inline(always)]
fn load<L: Lanes>(w: L, [a, b, c, d, e, f, g, h]: &[Goldilocks; LANES]) -> L::V {
    // Not a closure, which might be called instead of being inlined.
    let words = [a.as_u64(), b.as_u64(), c.as_u64(), d.as_u64(), e.as_u64(), f.as_u64(), g.as_u64(), h.as_u64()];
    w.load(&words)
}

/// Lanes as rows, canonical.
#[inline(always)]
fn store_rows<L: Lanes>(w: L, columns: [L::V; LANES]) -> [[Goldilocks; LANES]; LANES] {
    let rows = w.transpose(from_fn(|i| canonical(w, columns[i])));
    from_fn(|j| store(w, rows[j]))
}

#[inline(always)]
fn store<L: Lanes>(w: L, x: L::V) -> [Goldilocks; LANES] {
    let mut words = [0; LANES];
    w.store(x, &mut words);
    words.map(Goldilocks::from_word_below_order)
}

/// Eight G states from `states`; lanes after its end repeat the last state.
#[inline(always)]
fn permute_chunk<L: Lanes, const G: usize>(w: L, states: &mut [[Goldilocks; WIDTH]]) {
    const REST: usize = WIDTH - LANES;
    let last = states.len() - 1;
    let mut vectors = [[w.splat(0); WIDTH]; G];
    for (g, vector) in vectors.iter_mut().enumerate() {
        let row = |j: usize| &states[(LANES * g + j).min(last)];
        let head = w.transpose(from_fn(|j| load(w, row(j).first_chunk().expect("twelve words"))));
        let tail = w.transpose(from_fn(|j| load(w, row(j).last_chunk().expect("twelve words"))));
        vector[..LANES].copy_from_slice(&head);
        vector[LANES..].copy_from_slice(&tail[LANES - REST..]);
    }
    permute_groups(w, &mut vectors, &mut [(); G]);
    for (vector, rows) in vectors.iter().zip(states.chunks_mut(LANES)) {
        let head = store_rows(w, from_fn(|i| vector[i]));
        let tail = store_rows(w, from_fn(|i| vector[REST + i]));
        for ((row, head), tail) in rows.iter_mut().zip(head).zip(tail) {
            row[..REST].copy_from_slice(&head[..REST]);
            row[REST..].copy_from_slice(&tail);
        }
    }
}

#[inline(always)]
pub(super) fn permute_many<L: Lanes>(w: L, states: &mut [[Goldilocks; WIDTH]]) {
    let mut chunks = states.chunks_exact_mut(GROUPS * LANES);
    for chunk in &mut chunks {
        permute_chunk::<L, GROUPS>(w, chunk);
    }
    for chunk in chunks.into_remainder().chunks_mut(LANES) {
        if chunk.len() < few(L::ISA) {
            chunk.iter_mut().for_each(permute);
        } else {
            permute_chunk::<L, 1>(w, chunk);
        }
    }
}

/// Rows from `first` on to digests, at most eight G of them.
#[inline(always)]
fn sponge_chunk<L: Lanes, const G: usize, R: Rows>(w: L, rows: R, first: usize, mode: Mode, digests: &mut [Digest]) {
    let last = first + digests.len() - 1;
    let mut vectors = [[w.splat(0); WIDTH]; G];
    for vector in &mut vectors {
        vector[RATE] = w.splat(mode.tag().as_u64());
    }
    for start in (0..rows.width()).step_by(RATE) {
        let len = (rows.width() - start).min(RATE);
        for (g, vector) in vectors.iter_mut().enumerate() {
            let base = first + LANES * g;
            // The last block is separate: its copies have an unknown length.
            let block = if len == RATE {
                w.transpose(from_fn(|j| load(w, &rows.whole_block((base + j).min(last), start))))
            } else {
                w.transpose(from_fn(|j| load(w, &rows.block((base + j).min(last), start))))
            };
            mode.absorb(vector, &block, start, len);
        }
        permute_groups(w, &mut vectors, &mut [(); G]);
    }
    for (vector, digests) in vectors.iter().zip(digests.chunks_mut(LANES)) {
        let words = store_rows(w, from_fn(|i| vector[i]));
        for (digest, row) in digests.iter_mut().zip(words) {
            *digest = Digest([row[0], row[1], row[2], row[3]]);
        }
    }
}

#[inline(always)]
pub(super) fn sponge<L: Lanes, R: Rows>(w: L, rows: R, mode: Mode, digests: &mut [Digest]) {
    let mut first = 0;
    let mut chunks = digests.chunks_exact_mut(GROUPS * LANES);
    for chunk in &mut chunks {
        sponge_chunk::<L, GROUPS, R>(w, rows, first, mode, chunk);
        first += chunk.len();
    }
    for chunk in chunks.into_remainder().chunks_mut(LANES) {
        if chunk.len() < few(L::ISA) {
            super::sponge(rows, first, mode, chunk);
        } else {
            sponge_chunk::<L, 1, R>(w, rows, first, mode, chunk);
        }
        first += chunk.len();
    }
}
