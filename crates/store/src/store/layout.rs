//! The layout of the database. docs/formats.md specifies it.

use evergrove_commit::{BackendChoice, BackendSpec};
use evergrove_primitives::Digest;
use evergrove_verifier::wire::{DecodeError, Reader, Records, Writer};
use evergrove_verifier::{AppSpec, Commitment, HEIGHT_MAX, HeightClass, NodeKind, Profile, Scheme};
use serde::Deserialize;

use super::database::{AnyTable, TableDefinition};

/// The format of stores that are written. Stores of format 1 can be read: see [`super::v1`].
pub(crate) const FORMAT: u32 = 2;
/// The database's file, in the store's directory.
pub(crate) const DATABASE: &str = "evergrove.redb";
/// The directory of the proofs, in the store's directory.
pub(crate) const OBJECTS: &str = "objects";
/// The file that reserves disk space for pruning.
pub(super) const RESERVE: &str = "reserve";
/// Prefix of the names of directories in which a store is being created.
pub(crate) const CREATING: &str = ".evergrove-new-";

/// Facts about the whole store, under the names in [`meta`].
pub(crate) const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
/// Epoch -> [`Epoch::encode`].
pub(crate) const EPOCHS: TableDefinition<u64, &[u8]> = TableDefinition::new("epoch-records");
/// (tier, position, epoch) -> the page from this epoch on. Without bytes, the page is empty from this epoch on.
pub(crate) const PAGES: TableDefinition<(u8, u64, u64), &[u8]> = TableDefinition::new("pages");
/// (index, epoch) -> the slot from this epoch on: 32 bytes of value, then the row. Without bytes, the slot is empty.
pub(crate) const SLOTS: TableDefinition<(u64, u64), &[u8]> = TableDefinition::new("slots");
/// Name -> [`BatchRecord::encode`].
pub(crate) const BATCHES: TableDefinition<&str, &[u8]> = TableDefinition::new("batches");
/// Name -> [`encode_members`].
pub(crate) const MEMBERS: TableDefinition<&str, &[u8]> = TableDefinition::new("members");

/// Key of a request -> [`super::requests::Outcome`]. A store without this table, such as a copy of a store of format 1,
/// gets it with its next epoch.
pub(crate) const REQUESTS: TableDefinition<&str, &[u8]> = TableDefinition::new("requests");
/// Epoch -> the time when its requests with keys were made, and their keys.
pub(crate) const REQUESTS_OF: TableDefinition<u64, &[u8]> = TableDefinition::new("request-keys");

/// All tables: the content of a backup. A backup of a database with a table that is missing here is refused, and a test
/// compares this list with the tables of a new store.
pub(super) const TABLES: [&dyn AnyTable; 8] =
    [&META, &EPOCHS, &PAGES, &SLOTS, &BATCHES, &MEMBERS, &REQUESTS, &REQUESTS_OF];

/// Names in [`META`].
pub(crate) mod meta {
    /// "evergrove-store" and the format, little-endian in 4 bytes.
    pub(crate) const FORMAT: &str = "format";
    /// Prefix of the value of [`FORMAT`].
    pub(crate) const MAGIC: &[u8] = b"evergrove-store";
    /// The commitment scheme.
    pub(crate) const SCHEME: &str = "scheme";
    /// The bytes of the schema.
    pub(crate) const SCHEMA: &str = "schema";
    /// The current epoch, little-endian in 8 bytes.
    pub(crate) const EPOCH: &str = "epoch";
    /// The oldest epoch that can be read, in the same form.
    pub(crate) const OLDEST: &str = "oldest";
    /// The number of requests with keys, in the same form.
    pub(crate) const REQUESTS: &str = "requests";
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

/// Kinds of records in the value of an epoch.
mod epoch {
    pub(super) const STATE: u8 = 1;
}
/// Kinds of records in the value of a batch.
mod batch {
    pub(super) const BACKEND: u8 = 1;
    pub(super) const APPLICATION: u8 = 2;
    pub(super) const MEMBERS: u8 = 3;
    pub(super) const PROVEN: u8 = 4;
}
/// Kinds of records in the value of a batch's members.
mod members {
    pub(super) const INDICES: u8 = 1;
}

impl Epoch {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.record(epoch::STATE, |w| self.write(w));
        w.0
    }

    pub(crate) fn decode(number: u64, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut records = Records::new(Reader::new(bytes));
        let mut r = records.next(epoch::STATE, "state of an epoch")?;
        let epoch = Self::read(number, &mut r)?;
        r.finish()?;
        records.finish()?;
        Ok(epoch)
    }

    /// Height (1 byte), root (32 bytes), number of filled slots (8 bytes).
    pub(super) fn write(&self, w: &mut Writer) {
        w.bytes(&[self.commitment.height]);
        w.digests(&[self.commitment.root]);
        w.bytes(&self.filled.to_le_bytes());
    }

    /// The epoch in bytes from [`Self::write`].
    pub(super) fn read(number: u64, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let height = r.u8("height")?;
        if !(1..=HEIGHT_MAX).contains(&height) {
            return Err(DecodeError::Range { what: "height", found: height.into(), max: HEIGHT_MAX.into() });
        }
        let root = r.digest("root")?;
        Ok(Self { number, commitment: Commitment { height, root }, filled: r.u64("number of filled slots")? })
    }
}

/// What a store keeps of a batch, apart from its members.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// A backend, as far as it determines the batch structure and the keys of its proofs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BackendRecord {
    pub(crate) name: String,
    pub(crate) version: u32,
    pub(crate) profile: u8,
    pub(crate) height_max: u8,
    pub(crate) capacity: u32,
    pub(crate) wraps: bool,
    pub(crate) scheme: Scheme,
    pub(crate) app: Option<AppSpec>,
}

impl BatchRecord {
    /// True if the batch covers all rows, whatever they are.
    pub(crate) fn is_complete(&self) -> bool {
        self.backend.scheme.is_complete()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let Self { backend, len, span, since, proven } = self;
        let mut w = Writer::default();
        backend.write(&mut w);
        w.record(batch::MEMBERS, |w| [len, &span.0, &span.1, since].iter().for_each(|x| w.bytes(&x.to_le_bytes())));
        if let Some(proven) = proven {
            w.record(batch::PROVEN, |w| proven.write(w));
        }
        w.0
    }

    /// The record in bytes from [`Self::encode`].
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut records = Records::new(Reader::new(bytes));
        let record = Self::read(&mut records).map_err(|e| e.to_string())?;
        records.finish().map_err(|e| e.to_string())?;
        record.checked()
    }

    fn read(records: &mut Records<'_>) -> Result<Self, DecodeError> {
        let mut r = records.next(batch::BACKEND, "backend")?;
        let scheme = r.name("scheme")?.parse().map_err(|_| DecodeError::Name { what: "scheme" })?;
        let (name, version) = (r.name("backend")?, r.u32("backend version")?);
        let (profile, height_max) = (r.u8("profile")?, r.u8("height class")?);
        let capacity = r.u32("capacity")?;
        let wraps = r.u8("wrap")? != 0;
        r.finish()?;
        let app = match records.optional(batch::APPLICATION, "application")? {
            None => None,
            Some(mut r) => Some(AppSpec { name: r.name("application")?, parameters: r.rest().to_vec() }),
        };
        let backend = BackendRecord { name, version, profile, height_max, capacity, wraps, scheme, app };
        let mut r = records.next(batch::MEMBERS, "members")?;
        let (len, first, last) = (r.u64("members")?, r.u64("first member")?, r.u64("last member")?);
        let since = r.u64("epoch of the members")?;
        r.finish()?;
        let proven = records.optional(batch::PROVEN, "proof")?.map(ProvenRecord::read).transpose()?;
        Ok(Self { backend, len, span: (first, last), since, proven })
    }

    /// The record, if its scheme and its application match.
    pub(super) fn checked(self) -> Result<Self, String> {
        if self.backend.app.is_some() != self.backend.scheme.has_app() {
            return Err(format!("an application with the scheme {}, or none", self.backend.scheme));
        }
        Ok(self)
    }
}

/// A finished proof of a batch. Records of format 1 have these fields in this order, in postcard.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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
    /// The records of a backend and its application, as in a batch and in the payload of a proof.
    pub(crate) fn write(&self, w: &mut Writer) {
        w.record(batch::BACKEND, |w| {
            w.name(self.scheme.name());
            w.name(&self.name);
            w.bytes(&self.version.to_le_bytes());
            w.bytes(&[self.profile, self.height_max]);
            w.bytes(&self.capacity.to_le_bytes());
            w.bytes(&[self.wraps.into()]);
        });
        if let Some(app) = &self.app {
            w.record(batch::APPLICATION, |w| {
                w.name(&app.name);
                w.bytes(&app.parameters);
            });
        }
    }

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

    /// The backend, or `None` if a number of the record has no meaning.
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
    fn write(&self, w: &mut Writer) {
        let Self { epoch, height, root, canonical, key, kind, bytes, total, buckets, checksum } = self;
        w.bytes(&epoch.to_le_bytes());
        w.bytes(&[*height, *kind]);
        [root, canonical, key, checksum].iter().for_each(|digest| w.bytes(&digest[..]));
        [bytes, total, buckets].iter().for_each(|x| w.bytes(&x.to_le_bytes()));
    }

    fn read(mut r: Reader<'_>) -> Result<Self, DecodeError> {
        let epoch = r.u64("proven epoch")?;
        let (height, kind) = (r.u8("height")?, r.u8("proof kind")?);
        let (root, canonical) = (r.array("root")?, r.array("canonical digest")?);
        let (key, checksum) = (r.array("content key")?, r.array("checksum")?);
        let (bytes, total, buckets) = (r.u64("bytes of a proof")?, r.u64("proofs")?, r.u64("buckets")?);
        r.finish()?;
        Ok(Self { epoch, height, root, canonical, key, kind, bytes, total, buckets, checksum })
    }

    pub(crate) fn commitment(&self) -> Option<Commitment> {
        Some(Commitment { height: self.height, root: Digest::from_bytes(&self.root).ok()? })
    }

    pub(crate) fn kind(&self) -> Option<NodeKind> {
        NodeKind::from_code(self.kind)
    }
}

/// Strictly increasing indices as LEB128 in one record: the first one, then the differences.
pub(crate) fn encode_members(indices: &[u64]) -> Vec<u8> {
    let mut w = Writer::default();
    w.record(members::INDICES, |w| write_differences(&mut w.0, indices));
    w.0
}

/// The indices, or `None` unless the bytes are what [`encode_members`] makes of strictly increasing indices below 2^40.
pub(crate) fn decode_members(bytes: &[u8]) -> Option<Vec<u64>> {
    let mut records = Records::new(Reader::new(bytes));
    let differences = records.next(members::INDICES, "members").ok()?.rest();
    records.finish().ok()?;
    read_differences(differences)
}

fn write_differences(out: &mut Vec<u8>, indices: &[u64]) {
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
}

/// Strictly increasing indices below 2^40, in their only encoding.
pub(super) fn read_differences(bytes: &[u8]) -> Option<Vec<u64>> {
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
pub(super) mod tests {
    use super::*;

    /// A record of each kind: our scheme with a proof, and an application without a proof.
    pub(crate) fn samples() -> [BatchRecord; 2] {
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
        [plain, of_app]
    }

    /// The bytes that format 2 writes.
    #[test]
    fn records_are_frozen() {
        let backend = |scheme: &str| {
            let name =
                [&[scheme.len() as u8][..], scheme.as_bytes(), b"\x07plonky2\x01\0\0\0\x02\x1b\xd3\0\0\0\x01"].concat();
            [&[1, 1, name.len() as u8, 0, 0, 0][..], &name].concat()
        };
        let members = b"\x03\x01\x20\0\0\0\x23\x0d\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x0f\x27\0\0\0\0\0\0\x01\0\0\0\0\0\0\0";
        let proven = [
            &b"\x04\x01\xa2\0\0\0\x2c\x01\0\0\0\0\0\0\x0e\x02"[..],
            &[1; 32],
            &[2; 32],
            &[3; 32],
            &[4; 32],
            b"\x18\x73\x01\0\0\0\0\0\x09\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0",
        ];
        let plain = [&backend("evergrove1")[..], members, &proven.concat()].concat();
        let app = b"\x02\x01\x09\0\0\0\x05tally\x07\x00\x08";
        let of_app = [&backend("evergrove1-selected")[..], app, members].concat();
        for (record, bytes) in samples().into_iter().zip([plain, of_app]) {
            assert_eq!(record.encode(), bytes);
            assert_eq!(BatchRecord::decode(&bytes), Ok(record.clone()));
            assert_eq!(BackendRecord::new(&record.backend.spec().unwrap()), record.backend);
            for end in 0..bytes.len() {
                assert!(BatchRecord::decode(&bytes[..end]).is_err() || end == bytes.len() - proven.concat().len());
            }
            assert!(BatchRecord::decode(&[&bytes[..], b"\x09\x01\0\0\0\0"].concat()).is_err());
        }
        let epoch = Epoch { number: 3, commitment: Commitment { height: 14, root: Digest::ZERO }, filled: 9 };
        assert_eq!(epoch.encode(), [&b"\x01\x01\x29\0\0\0\x0e"[..], &[0; 32], b"\x09\0\0\0\0\0\0\0"].concat());
        assert_eq!(Epoch::decode(3, &epoch.encode()), Ok(epoch));
    }

    #[test]
    fn members_survive_and_only_one_encoding_is_read() {
        for indices in [vec![], vec![0], vec![5, 6, 300, 1 << 20, (1 << 40) - 1], vec![127, 255, 256]] {
            assert_eq!(decode_members(&encode_members(&indices)), Some(indices));
        }
        assert_eq!(encode_members(&[5, 6, 300]), b"\x01\x01\x04\0\0\0\x05\x01\xa6\x02");
        for bytes in [&[5, 0][..], &[0x80], &[0x80, 0], &[0xff; 12], &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]] {
            assert_eq!(read_differences(bytes), None, "{bytes:?}");
        }
    }
}
