//! What is where in the database.

use evergrove_commit::{BackendChoice, BackendSpec};
use evergrove_primitives::Digest;
use evergrove_proof::{AppSpec, Commitment, HEIGHT_MAX, HeightClass, NodeKind, Profile, Scheme, UnknownScheme};
use serde::{Deserialize, Serialize};

use super::database::TableDefinition;

/// Version of the store's format.
pub(crate) const FORMAT: u32 = 1;
/// The database's file in the store's directory.
pub(crate) const DATABASE: &str = "evergrove.redb";
/// The proofs' directory in the store's directory.
pub(crate) const OBJECTS: &str = "objects";
/// What the names of directories begin with in which a store is being created.
pub(crate) const CREATING: &str = ".evergrove-new-";

/// Facts about the store as a whole, under [`meta`]'s names.
pub(crate) const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
/// Epoch -> 41 bytes: height, root, number of filled slots (little-endian).
pub(crate) const EPOCHS: TableDefinition<u64, &[u8; 41]> = TableDefinition::new("epochs");
/// (tier, position, epoch) -> the page as it is from this epoch on; no bytes when it is empty from then on.
pub(crate) const PAGES: TableDefinition<(u8, u64, u64), &[u8]> = TableDefinition::new("pages");
/// (index, epoch) -> the slot as it is from this epoch on: 32 bytes of value, then the row; no bytes when it is empty.
pub(crate) const SLOTS: TableDefinition<(u64, u64), &[u8]> = TableDefinition::new("slots");
/// Name -> [`BatchRecord::encode`].
pub(crate) const BATCHES: TableDefinition<&str, &[u8]> = TableDefinition::new("batches");
/// Name -> the members: the first index and then the differences, as LEB128 numbers.
pub(crate) const MEMBERS: TableDefinition<&str, &[u8]> = TableDefinition::new("members");

/// Names in [`META`].
pub(crate) mod meta {
    /// "evergrove-store" and the format, little-endian in 4 bytes.
    pub(crate) const FORMAT: &str = "format";
    /// What the value of [`FORMAT`] begins with.
    pub(crate) const MAGIC: &[u8] = b"evergrove-store";
    /// The commitment scheme.
    pub(crate) const SCHEME: &str = "scheme";
    /// The schema's own bytes.
    pub(crate) const SCHEMA: &str = "schema";
    /// The current epoch, little-endian in 8 bytes.
    pub(crate) const EPOCH: &str = "epoch";
    /// The oldest epoch that can be read, likewise.
    pub(crate) const OLDEST: &str = "oldest";
}

/// A committed state of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Its number, 1 for a new store.
    pub number: u64,
    /// The commitment to its table.
    pub commitment: Commitment,
    /// The number of filled slots.
    pub filled: u64,
}

impl Epoch {
    pub(crate) fn encode(&self) -> [u8; 41] {
        let mut out = [0; 41];
        out[0] = self.commitment.height;
        out[1..33].copy_from_slice(&self.commitment.root.to_bytes());
        out[33..].copy_from_slice(&self.filled.to_le_bytes());
        out
    }

    pub(crate) fn decode(number: u64, bytes: &[u8]) -> Option<Self> {
        let (&height, rest) = bytes.split_first()?;
        let (root, filled) = rest.split_first_chunk::<32>()?;
        let root = Digest::from_bytes(root).ok()?;
        let filled = u64::from_le_bytes(filled.try_into().ok()?);
        (1..=HEIGHT_MAX).contains(&height).then_some(Self { number, commitment: Commitment { height, root }, filled })
    }
}

/// What is kept of a batch besides its members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BatchRecord {
    /// The backend that proves it.
    pub(crate) backend: BackendRecord,
    /// Number of members.
    pub(crate) len: u64,
    /// First and last member.
    pub(crate) span: (u64, u64),
    /// The epoch since which it has these members.
    pub(crate) since: u64,
    /// Its last finished proof.
    pub(crate) proven: Option<ProvenRecord>,
}

/// A backend, as far as it decides the batch structure and the keys of its proofs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BackendRecord {
    pub(crate) name: String,
    pub(crate) version: u32,
    pub(crate) profile: u8,
    pub(crate) height_max: u8,
    pub(crate) capacity: u32,
    pub(crate) wraps: bool,
    /// Follows the record where it is not ours: see [`BatchRecord::encode`].
    #[serde(skip)]
    pub(crate) scheme: Scheme,
    /// Follows the scheme where there is one.
    #[serde(skip)]
    pub(crate) app: Option<AppSpec>,
}

impl BatchRecord {
    /// True when the batch is all rows, whichever they are.
    pub(crate) fn is_complete(&self) -> bool {
        self.backend.scheme.is_complete()
    }

    /// The record in postcard, and after it the name of the scheme where it is not ours; after that a zero byte, the name of
    /// the application, a zero byte and its parameters where there is one.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, postcard::Error> {
        let mut bytes = postcard::to_stdvec(self)?;
        if self.backend.scheme != Scheme::default() {
            bytes.extend_from_slice(self.backend.scheme.name().as_bytes());
        }
        if let Some(app) = &self.backend.app {
            bytes.push(0);
            bytes.extend_from_slice(app.name.as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(&app.parameters);
        }
        Ok(bytes)
    }

    /// The record in bytes that [`Self::encode`] has made.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let (mut record, rest): (Self, _) = postcard::take_from_bytes(bytes).map_err(|e| e.to_string())?;
        if !rest.is_empty() {
            let mut parts = rest.splitn(3, |b| *b == 0);
            let name = String::from_utf8_lossy(parts.next().unwrap_or_default());
            record.backend.scheme = name.parse().map_err(|e: UnknownScheme| e.to_string())?;
            record.backend.app = parts.next().zip(parts.next()).map(|(name, parameters)| AppSpec {
                name: String::from_utf8_lossy(name).into_owned(),
                parameters: parameters.to_vec(),
            });
        }
        if record.backend.app.is_some() != record.backend.scheme.has_app() {
            return Err(format!("an application with the scheme {}, or none", record.backend.scheme));
        }
        Ok(record)
    }
}

/// A finished proof of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProvenRecord {
    pub(crate) epoch: u64,
    pub(crate) height: u8,
    pub(crate) root: [u8; 32],
    pub(crate) canonical: [u8; 32],
    pub(crate) key: [u8; 32],
    pub(crate) kind: u8,
    pub(crate) bytes: u64,
    /// Proofs of the whole structure.
    pub(crate) total: u64,
    pub(crate) buckets: u64,
    /// BLAKE3 of the final proof's file.
    pub(crate) checksum: [u8; 32],
}

impl BackendRecord {
    pub(crate) fn new(spec: &BackendSpec) -> Self {
        let BackendSpec { choice, version, class, capacity, wraps } = spec;
        Self {
            name: choice.name.clone(),
            version: *version,
            profile: choice.profile.code(),
            height_max: class.height_max(),
            capacity: (*capacity).try_into().unwrap_or(u32::MAX),
            wraps: *wraps,
            scheme: choice.scheme,
            app: choice.app.clone(),
        }
    }

    /// The backend, `None` when a number of the record stands for nothing.
    pub(crate) fn spec(&self) -> Option<BackendSpec> {
        let profile = Profile::from_code(self.profile)?;
        Some(BackendSpec {
            choice: BackendChoice { name: self.name.clone(), scheme: self.scheme, profile, app: self.app.clone() },
            version: self.version,
            class: HeightClass::from_code(self.height_max)?,
            capacity: (self.capacity >= 1).then_some(self.capacity as usize)?,
            wraps: self.wraps,
        })
    }
}

impl ProvenRecord {
    pub(crate) fn commitment(&self) -> Option<Commitment> {
        Some(Commitment { height: self.height, root: Digest::from_bytes(&self.root).ok()? })
    }

    pub(crate) fn kind(&self) -> Option<NodeKind> {
        NodeKind::from_code(self.kind)
    }
}

/// Strictly increasing indices as LEB128: the first one, then the differences.
pub(crate) fn encode_members(indices: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(indices.len() * 2 + 8);
    let mut last = 0;
    for index in indices {
        let mut delta = index - last;
        while delta >= 0x80 {
            out.push(delta as u8 | 0x80);
            delta >>= 7;
        }
        out.push(delta as u8);
        last = *index;
    }
    out
}

/// The indices, `None` unless the bytes are what [`encode_members`] makes of strictly increasing indices below 2^40.
pub(crate) fn decode_members(bytes: &[u8]) -> Option<Vec<u64>> {
    let mut out: Vec<u64> = Vec::new();
    let mut rest = bytes.iter();
    while let Some(first) = rest.next() {
        let (mut byte, mut delta, mut shift) = (*first, 0u64, 0);
        loop {
            delta |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
            shift += 7;
            byte = *rest.next().filter(|_| shift < 42)?;
        }
        if byte == 0 && shift > 0 {
            return None;
        }
        let index = match out.last() {
            None => delta,
            Some(last) => (delta > 0).then(|| last + delta)?,
        };
        out.push((index >> HEIGHT_MAX == 0).then_some(index)?);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What version 0.1 wrote for these two records.
    #[test]
    fn records_of_batches_are_frozen() {
        let backend = |scheme, app| BackendRecord {
            name: "plonky2".into(),
            version: 1,
            profile: 2,
            height_max: 27,
            capacity: 211,
            wraps: true,
            scheme,
            app,
        };
        let proven = ProvenRecord {
            epoch: 300,
            height: 14,
            root: [1; 32],
            canonical: [2; 32],
            key: [3; 32],
            kind: 2,
            bytes: 95_000,
            total: 9,
            buckets: 5,
            checksum: [4; 32],
        };
        let app = AppSpec { name: "tally".into(), parameters: vec![7, 0, 8] };
        let plain = BatchRecord {
            backend: backend(Scheme::Evergrove, None),
            len: 3363,
            span: (1, 9999),
            since: 1,
            proven: Some(proven),
        };
        let of_app = BatchRecord { backend: backend(Scheme::Selected, Some(app)), proven: None, ..plain.clone() };
        let head = [&b"\x07plonky2\x01\x02\x1b\xd3\x01\x01\xa3\x1a\x01\x8f\x4e\x01"[..]].concat();
        let proof =
            [&b"\x01\xac\x02\x0e"[..], &[1; 32], &[2; 32], &[3; 32], b"\x02\x98\xe6\x05\x09\x05", &[4; 32]].concat();
        let tail = b"\x00evergrove1-selected\x00tally\x00\x07\x00\x08";
        for (record, bytes) in [(plain, [&head[..], &proof].concat()), (of_app, [&head[..], tail].concat())] {
            assert_eq!(record.encode().unwrap(), bytes);
            assert_eq!(BatchRecord::decode(&bytes), Ok(record.clone()));
            assert_eq!(BackendRecord::new(&record.backend.spec().unwrap()), record.backend);
        }
    }

    #[test]
    fn members_survive_and_only_one_encoding_is_read() {
        for indices in [vec![], vec![0], vec![5, 6, 300, 1 << 20, (1 << 40) - 1], vec![127, 255, 256]] {
            assert_eq!(decode_members(&encode_members(&indices)), Some(indices));
        }
        for bytes in [&[5, 0][..], &[0x80], &[0x80, 0], &[0xff; 12], &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]] {
            assert_eq!(decode_members(bytes), None, "{bytes:?}");
        }
    }
}
