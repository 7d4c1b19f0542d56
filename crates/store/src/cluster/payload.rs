//! The encoding of one proof to make, as sent to a worker.

use evergrove_commit::{
    BackendChoice, BackendSpec, BlockWitness, BucketWitness, LeafWitness, LevelWitness, MergeWitness, Witness,
};
use evergrove_primitives::Digest;
use evergrove_verifier::wire::{DecodeError, FORMAT_VERSION, Reader, Records, Writer};
use evergrove_verifier::{AppSpec, HEIGHT_MAX, HeightClass, NodeKind, Profile, Scheme, Statement, UnknownScheme};

use crate::store::BackendRecord;

/// The first bytes of a payload.
const MAGIC: [u8; 4] = *b"EVGJ";
/// The kinds of records. Those of the backend and the application are as in the record of a batch.
const BACKEND: u8 = 1;
const APPLICATION: u8 = 2;
const PROOF: u8 = 3;
const WITNESS: u8 = 4;

/// A proof, described by its circuit and statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The circuit.
    pub kind: NodeKind,
    /// The statement.
    pub statement: Statement,
}

/// One proof to make: its circuit and statement, its backend, and everything that the proof needs except the proofs
/// below it.
///
/// The encoding (docs/formats.md) contains no code and no paths. It is canonical: [`Self::decode`] accepts exactly what
/// [`Self::encode`] writes, and never panics. Whether the witness satisfies the statement is checked by the backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The backend.
    pub backend: BackendSpec,
    /// Digest of the keys of its circuits.
    pub keys: Digest,
    /// The circuit and the statement.
    pub stated: Stated,
    /// The proofs that it builds on, left first.
    pub children: Vec<Stated>,
    /// The witness of the same statement.
    pub witness: Witness,
}

/// Bytes are not a payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// The bytes are not an encoding.
    #[error("the payload is not readable: {0}")]
    Decode(#[from] DecodeError),
    /// The scheme is unknown.
    #[error("payload written by another version: {0}")]
    Scheme(#[from] UnknownScheme),
    /// The parts contradict each other.
    #[error("the payload contradicts itself: {0}")]
    Shape(String),
}

impl Payload {
    /// The payload's bytes.
    ///
    /// # Panics
    /// If the parts contradict each other, which those of a plan never do: an invalid name, an application that does
    /// not match the scheme, or a witness of another circuit or statement.
    pub fn encode(&self) -> Vec<u8> {
        let Stated { kind, statement } = self.stated;
        let BackendChoice { scheme, app, .. } = &self.backend.choice;
        assert_eq!(app.is_some(), scheme.has_app(), "an application in the scheme {scheme}");
        let mut w = Writer::header(MAGIC, FORMAT_VERSION);
        BackendRecord::new(&self.backend).write(&mut w);
        w.record(PROOF, |w| {
            w.digests(&[self.keys]);
            write_stated(w, &self.stated);
            w.bytes(&[self.children.len() as u8]);
            self.children.iter().for_each(|c| write_stated(w, c));
        });
        assert!(self.witness_is_of(kind, &statement), "a {kind} with the witness of another proof");
        w.record(WITNESS, |w| write_witness(w, &self.witness));
        w.0
    }

    /// The payload in these bytes.
    ///
    /// # Errors
    /// [`PayloadError`] for bytes that [`Self::encode`] does not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, PayloadError> {
        let mut r = Reader::new(bytes);
        r.header(MAGIC, "payload", &[FORMAT_VERSION])?;
        let mut records = Records::new(r);
        let backend = read_backend(&mut records)?;
        let mut r = records.next(PROOF, "proof")?;
        let keys = r.digest("keys")?;
        let stated = read_stated(&mut r, backend.class)?;
        let count = r.u8("number of children")?;
        let children = (0..count.min(3)).map(|_| read_stated(&mut r, backend.class)).collect::<Result<Vec<_>, _>>()?;
        r.finish()?;
        let mut r = records.next(WITNESS, "witness")?;
        let witness = read_witness(&mut r, stated.statement)?;
        r.finish()?;
        records.finish()?;
        let payload = Self { backend, keys, stated, children, witness };
        if !payload.witness_is_of(stated.kind, &stated.statement) {
            return Err(PayloadError::Shape(format!("a {} with {count} children and another witness", stated.kind)));
        }
        Ok(payload)
    }

    /// True if the witness has this circuit and statement, and matches the number of children.
    fn witness_is_of(&self, kind: NodeKind, statement: &Statement) -> bool {
        let (of, about, children) = match &self.witness {
            Witness::Bucket(w) => (NodeKind::Bucket, &w.statement, 0),
            Witness::Block(w) => (NodeKind::Bucket, &w.statement, 0),
            Witness::Merge(w) => (NodeKind::Merge, &w.statement, 2),
            Witness::Level(w) => (NodeKind::Merge, &w.statement, w.canonicals.iter().flatten().count()),
            Witness::Wrap => (NodeKind::Wrap, statement, 1),
        };
        (of, about, children) == (kind, statement, self.children.len())
    }
}

/// The code of a witness's shape.
fn tag(witness: &Witness) -> u8 {
    match witness {
        Witness::Bucket(_) => 0,
        Witness::Merge(_) => 1,
        Witness::Block(_) => 2,
        Witness::Level(_) => 3,
        Witness::Wrap => 4,
    }
}

fn length(n: usize) -> u32 {
    u32::try_from(n).expect("payloads have less than 2^32 of anything")
}

fn write_witness(w: &mut Writer, witness: &Witness) {
    w.bytes(&[tag(witness)]);
    match witness {
        Witness::Bucket(witness) => {
            let path = witness.leaves.first().map_or(0, |leaf| leaf.siblings.len());
            w.bytes(&length(witness.leaves.len()).to_le_bytes());
            w.bytes(&[path as u8]);
            for leaf in &witness.leaves {
                assert_eq!(leaf.siblings.len(), path, "siblings of a leaf");
                w.bytes(&leaf.index.to_le_bytes());
                w.elements(&leaf.value);
                w.digests(&leaf.siblings);
                let opening = u16::try_from(leaf.opening.len()).expect("a row has less than 2^16 elements");
                w.bytes(&opening.to_le_bytes());
                w.elements(&leaf.opening);
            }
        }
        Witness::Merge(witness) => {
            w.bytes(&[witness.siblings.len() as u8]);
            w.digests(&witness.siblings);
        }
        Witness::Block(witness) => {
            assert_eq!(witness.leaves.len(), witness.members.len(), "slots of a block");
            w.bytes(&length(witness.leaves.len()).to_le_bytes());
            w.digests(&witness.leaves);
            witness.members.iter().for_each(|member| w.bytes(&[(*member).into()]));
        }
        Witness::Level(witness) => {
            w.digests(&witness.roots);
            for canonical in &witness.canonicals {
                w.bytes(&[canonical.is_some().into()]);
                w.digests(canonical.as_slice());
            }
        }
        Witness::Wrap => {}
    }
}

fn write_stated(w: &mut Writer, stated: &Stated) {
    w.bytes(&[stated.kind.code()]);
    w.statement(&stated.statement);
}

fn read_stated(r: &mut Reader<'_>, class: HeightClass) -> Result<Stated, DecodeError> {
    let code = r.u8("proof kind")?;
    let kind = NodeKind::from_code(code).ok_or(DecodeError::Code { what: "proof kind", found: code })?;
    Ok(Stated { kind, statement: r.statement(class)? })
}

fn read_flag(r: &mut Reader<'_>, what: &'static str) -> Result<bool, DecodeError> {
    match r.u8(what)? {
        0 => Ok(false),
        1 => Ok(true),
        found => Err(DecodeError::Code { what, found }),
    }
}

fn read_backend(records: &mut Records<'_>) -> Result<BackendSpec, PayloadError> {
    let mut r = records.next(BACKEND, "backend")?;
    let scheme: Scheme = r.name("scheme")?.parse()?;
    let (name, version) = (r.name("backend")?, r.u32("backend version")?);
    let code = r.u8("profile")?;
    let profile = Profile::from_code(code).ok_or(DecodeError::Code { what: "profile", found: code })?;
    let code = r.u8("height class")?;
    let class = HeightClass::from_code(code).ok_or(DecodeError::Code { what: "height class", found: code })?;
    let capacity = r.u32("capacity")? as usize;
    let wraps = read_flag(&mut r, "wrap")?;
    r.finish()?;
    if capacity == 0 {
        return Err(PayloadError::Shape("a backend whose buckets hold no leaf".into()));
    }
    let app = if scheme.has_app() {
        let mut r = records.next(APPLICATION, "application")?;
        Some(AppSpec { name: r.name("application")?, parameters: r.rest().to_vec() })
    } else {
        None
    };
    Ok(BackendSpec { choice: BackendChoice { name, scheme, profile, app }, version, class, capacity, wraps })
}

fn read_path(r: &mut Reader<'_>) -> Result<usize, DecodeError> {
    match r.u8("length of a path")? {
        found if found > HEIGHT_MAX => {
            Err(DecodeError::Range { what: "length of a path", found: found.into(), max: HEIGHT_MAX.into() })
        }
        found => Ok(found.into()),
    }
}

fn read_witness(r: &mut Reader<'_>, statement: Statement) -> Result<Witness, PayloadError> {
    Ok(match r.u8("witness")? {
        0 => {
            let count = r.u32("number of leaves")? as usize;
            let path = read_path(r)?;
            if count == 0 && path > 0 {
                return Err(PayloadError::Shape(format!("paths of {path} levels without leaves")));
            }
            let leaf = |r: &mut Reader<'_>| {
                let index = r.u64("index")?;
                let Digest(value) = r.digest("value")?;
                let siblings = r.digests(path, "siblings of a leaf")?;
                let opening = usize::from(r.u16("length of an opening")?);
                Ok(LeafWitness { index, value, siblings, opening: r.elements(opening, "opening")? })
            };
            let leaves = (0..count).map(|_| leaf(r)).collect::<Result<Vec<_>, DecodeError>>()?;
            Witness::Bucket(BucketWitness { statement, leaves })
        }
        1 => {
            let path = read_path(r)?;
            Witness::Merge(MergeWitness { statement, siblings: r.digests(path, "siblings of a climb")? })
        }
        2 => {
            let count = r.u32("number of slots")? as usize;
            let leaves = r.digests(count, "leaves of a block")?;
            let members = (0..count).map(|_| read_flag(r, "member of a block")).collect::<Result<_, _>>()?;
            Witness::Block(BlockWitness { statement, leaves, members })
        }
        3 => {
            let roots = [r.digest("root of a child")?, r.digest("root of a child")?];
            let mut canonicals = [None; 2];
            for canonical in &mut canonicals {
                if read_flag(r, "a child with members")? {
                    *canonical = Some(r.digest("canonical digest of a child")?);
                }
            }
            Witness::Level(LevelWitness { statement, roots, canonicals })
        }
        4 => Witness::Wrap,
        found => return Err(DecodeError::Code { what: "witness", found }.into()),
    })
}
