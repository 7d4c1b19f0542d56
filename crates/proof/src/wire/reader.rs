//! Checked reading and writing of little-endian values.

use evergrove_primitives::field::NonCanonical;
use evergrove_primitives::{Digest, Goldilocks};

use super::{DecodeError, Ext, FORMAT_VERSION};

const NAME_MAX: usize = 32;

/// A cursor over untrusted bytes. Lengths are checked before anything is allocated.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    pub(crate) fn take(&mut self, n: usize, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let Some(taken) = rest.get(..n) else {
            return Err(DecodeError::Truncated { what, offset: self.offset, needed: n, left: rest.len() });
        };
        self.offset += n;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N, what)?);
        Ok(out)
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        Ok(self.array::<1>(what)?[0])
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn header(&mut self, magic: [u8; 4], what: &'static str) -> Result<(), DecodeError> {
        let found = self.array(what)?;
        if found != magic {
            return Err(DecodeError::Magic { what, found });
        }
        let version = self.u16("format version")?;
        if version != FORMAT_VERSION {
            return Err(DecodeError::Version { found: version, known: FORMAT_VERSION });
        }
        Ok(())
    }

    pub(crate) fn name(&mut self, what: &'static str) -> Result<String, DecodeError> {
        let len = self.u8(what)? as usize;
        let bytes = self.take(len, what)?;
        match core::str::from_utf8(bytes) {
            Ok(name) if is_name(name) => Ok(name.into()),
            _ => Err(DecodeError::Name { what }),
        }
    }

    pub(crate) fn element(&mut self, what: &'static str) -> Result<Goldilocks, DecodeError> {
        let offset = self.offset;
        let x = self.u64(what)?;
        Goldilocks::from_canonical(x).map_err(|NonCanonical(value)| DecodeError::NonCanonical { offset, value })
    }

    pub(crate) fn elements(&mut self, n: usize, what: &'static str) -> Result<Vec<Goldilocks>, DecodeError> {
        self.many(n, 8, what, Self::element)
    }

    pub(crate) fn ext(&mut self, what: &'static str) -> Result<Ext, DecodeError> {
        Ok([self.element(what)?, self.element(what)?])
    }

    pub(crate) fn exts(&mut self, n: usize, what: &'static str) -> Result<Vec<Ext>, DecodeError> {
        self.many(n, 16, what, Self::ext)
    }

    pub(crate) fn digest(&mut self, what: &'static str) -> Result<Digest, DecodeError> {
        let mut d = Digest::ZERO;
        for x in &mut d.0 {
            *x = self.element(what)?;
        }
        Ok(d)
    }

    pub(crate) fn digests(&mut self, n: usize, what: &'static str) -> Result<Vec<Digest>, DecodeError> {
        self.many(n, 32, what, Self::digest)
    }

    /// `n` values of `size` bytes each; allocates only once the bytes are known to be there.
    fn many<T>(
        &mut self,
        n: usize,
        size: usize,
        what: &'static str,
        read: impl Fn(&mut Self, &'static str) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let left = self.bytes.len() - self.offset;
        match n.checked_mul(size) {
            Some(needed) if needed <= left => (0..n).map(|_| read(self, what)).collect(),
            needed => {
                let needed = needed.unwrap_or(usize::MAX);
                Err(DecodeError::Truncated { what, offset: self.offset, needed, left })
            }
        }
    }

    pub(crate) fn finish(self) -> Result<(), DecodeError> {
        match self.bytes.len() - self.offset {
            0 => Ok(()),
            extra => Err(DecodeError::Trailing { offset: self.offset, extra }),
        }
    }
}

pub(crate) fn is_name(s: &str) -> bool {
    (1..=NAME_MAX).contains(&s.len())
        && s.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
}

/// The mirror of [`Reader`].
#[derive(Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn header(magic: [u8; 4]) -> Self {
        let mut w = Self::default();
        w.bytes(&magic);
        w.bytes(&FORMAT_VERSION.to_le_bytes());
        w
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// # Panics
    /// If `name` is not one that [`Reader::name`] accepts.
    pub(crate) fn name(&mut self, name: &str) {
        assert!(is_name(name), "{name:?} is no name: 1 to 32 of a-z, 0-9, - and _");
        self.0.push(name.len() as u8);
        self.bytes(name.as_bytes());
    }

    pub(crate) fn element(&mut self, x: Goldilocks) {
        self.bytes(&x.as_u64().to_le_bytes());
    }

    pub(crate) fn elements(&mut self, xs: &[Goldilocks]) {
        xs.iter().for_each(|x| self.element(*x));
    }

    pub(crate) fn exts(&mut self, xs: &[Ext]) {
        xs.iter().for_each(|x| self.elements(x));
    }

    pub(crate) fn digests(&mut self, ds: &[Digest]) {
        ds.iter().for_each(|d| self.elements(&d.0));
    }
}
