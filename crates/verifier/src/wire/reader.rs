//! Checked reading and writing of little-endian values.

use alloc::string::String;
use alloc::vec::Vec;

use evergrove_primitives::field::NonCanonical;
use evergrove_primitives::{Digest, Goldilocks};

use super::{DecodeError, Ext};
use crate::{HEIGHT_MAX, HeightClass, Statement};

const NAME_MAX: usize = 32;

/// A cursor over untrusted bytes. Lengths are checked before anything is allocated.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) offset: usize,
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from their beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// The next `n` bytes. `what` is their name in errors, here and below.
    pub fn take(&mut self, n: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let Some(taken) = rest.get(..n) else {
            return Err(DecodeError::Truncated { what, offset: self.offset, needed: n, left: rest.len() });
        };
        self.offset += n;
        Ok(taken)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N, what)?);
        Ok(out)
    }

    /// A number.
    pub fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        Ok(self.array::<1>(what)?[0])
    }

    /// A number.
    pub fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    /// A number.
    pub fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// A number.
    pub fn u64(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// The first bytes of a file: its magic and its version, which is one of `known`.
    pub fn header(&mut self, magic: [u8; 4], what: &'static str, known: &'static [u16]) -> Result<u16, DecodeError> {
        let found = self.array(what)?;
        if found != magic {
            return Err(DecodeError::Magic { what, found });
        }
        let found = self.u16("format version")?;
        if known.contains(&found) { Ok(found) } else { Err(DecodeError::Version { found, known }) }
    }

    /// The remaining bytes.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        self.offset = self.bytes.len();
        rest
    }

    /// The number of remaining bytes.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.offset
    }

    /// A name: its length in a byte, then 1 to 32 of a-z, 0-9, - and _.
    pub fn name(&mut self, what: &'static str) -> Result<String, DecodeError> {
        let len = self.u8(what)? as usize;
        let bytes = self.take(len, what)?;
        match core::str::from_utf8(bytes) {
            Ok(name) if is_name(name) => Ok(name.into()),
            _ => Err(DecodeError::Name { what }),
        }
    }

    /// A field element in its canonical form.
    pub fn element(&mut self, what: &'static str) -> Result<Goldilocks, DecodeError> {
        let offset = self.offset;
        let x = self.u64(what)?;
        Goldilocks::from_canonical(x).map_err(|NonCanonical(value)| DecodeError::NonCanonical { offset, value })
    }

    /// `n` field elements.
    pub fn elements(&mut self, n: usize, what: &'static str) -> Result<Vec<Goldilocks>, DecodeError> {
        self.many(n, 8, what, Self::element)
    }

    /// An element of the quadratic extension.
    pub fn ext(&mut self, what: &'static str) -> Result<Ext, DecodeError> {
        Ok([self.element(what)?, self.element(what)?])
    }

    /// `n` elements of the quadratic extension.
    pub fn exts(&mut self, n: usize, what: &'static str) -> Result<Vec<Ext>, DecodeError> {
        self.many(n, 16, what, Self::ext)
    }

    /// A digest.
    pub fn digest(&mut self, what: &'static str) -> Result<Digest, DecodeError> {
        let mut d = Digest::ZERO;
        for x in &mut d.0 {
            *x = self.element(what)?;
        }
        Ok(d)
    }

    /// `n` digests.
    pub fn digests(&mut self, n: usize, what: &'static str) -> Result<Vec<Digest>, DecodeError> {
        self.many(n, 32, what, Self::digest)
    }

    /// A statement about a vector of this class: height (1 byte), base (8 bytes), root and canonical digest (32 bytes each).
    pub fn statement(&mut self, class: HeightClass) -> Result<Statement, DecodeError> {
        let height = self.u8("height")?;
        let max = class.height_max().min(HEIGHT_MAX);
        if height > max {
            return Err(DecodeError::Range { what: "height", found: height.into(), max: max.into() });
        }
        let base = self.u64("base")?;
        let last = (1 << class.height_max()) - 1;
        if base > last {
            return Err(DecodeError::Range { what: "base", found: base, max: last });
        }
        if base & ((1 << height) - 1) != 0 {
            return Err(DecodeError::Base { base, height });
        }
        Ok(Statement { root: self.digest("root")?, canonical: self.digest("canonical digest")?, height, base })
    }

    /// `n` values of `size` bytes each; allocates only once the bytes are known to be present.
    fn many<T>(
        &mut self,
        n: usize,
        size: usize,
        what: &'static str,
        read: impl Fn(&mut Self, &'static str) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let left = self.left();
        match n.checked_mul(size) {
            Some(needed) if needed <= left => (0..n).map(|_| read(self, what)).collect(),
            needed => {
                let needed = needed.unwrap_or(usize::MAX);
                Err(DecodeError::Truncated { what, offset: self.offset, needed, left })
            }
        }
    }

    /// Refuses remaining bytes.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.left() {
            0 => Ok(()),
            extra => Err(DecodeError::Trailing { offset: self.offset, extra }),
        }
    }
}

pub(crate) fn is_name(s: &str) -> bool {
    (1..=NAME_MAX).contains(&s.len())
        && s.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
}

/// The mirror of [`Reader`]: the bytes written so far.
#[derive(Clone, Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// The first bytes of a file: its magic and its version.
    pub fn header(magic: [u8; 4], version: u16) -> Self {
        let mut w = Self::default();
        w.bytes(&magic);
        w.bytes(&version.to_le_bytes());
        w
    }

    /// Bytes, unchanged.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// A name.
    ///
    /// # Panics
    /// If [`Reader::name`] does not accept `name`.
    pub fn name(&mut self, name: &str) {
        assert!(is_name(name), "{name:?} is not a name: use 1 to 32 of a-z, 0-9, - and _");
        self.0.push(name.len() as u8);
        self.bytes(name.as_bytes());
    }

    /// A field element.
    pub fn element(&mut self, x: Goldilocks) {
        self.bytes(&x.as_u64().to_le_bytes());
    }

    /// Field elements.
    pub fn elements(&mut self, xs: &[Goldilocks]) {
        xs.iter().for_each(|x| self.element(*x));
    }

    /// A statement.
    pub fn statement(&mut self, statement: &Statement) {
        self.bytes(&[statement.height]);
        self.bytes(&statement.base.to_le_bytes());
        self.digests(&[statement.root, statement.canonical]);
    }

    /// Elements of the quadratic extension.
    pub fn exts(&mut self, xs: &[Ext]) {
        xs.iter().for_each(|x| self.elements(x));
    }

    /// Digests.
    pub fn digests(&mut self, ds: &[Digest]) {
        ds.iter().for_each(|d| self.elements(&d.0));
    }
}
