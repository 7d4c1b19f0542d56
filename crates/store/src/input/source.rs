//! The bytes of a table, and the separator and the nulls of its text.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use tempfile::{NamedTempFile, TempPath};

use super::error::{InputError, Place, Problem};

/// The first bytes of a gzip file. No csv or jsonl text begins with them.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The bytes of a table: a file, a text in memory, or the content of a stream.
///
/// Unpacks gzip. Compressed texts are recognized by their first bytes, compressed raw values by the extension `.gz`.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name in errors, and the file unless the bytes are elsewhere.
    path: PathBuf,
    bytes: Bytes,
    /// Separator of the cells of csv. `None` means that the header decides.
    separator: Option<u8>,
    /// Texts of csv cells that mean null.
    nulls: Arc<[String]>,
}

#[derive(Clone, Debug)]
enum Bytes {
    File,
    Text(Arc<[u8]>),
    Spool(Arc<TempPath>),
}

impl Source {
    /// The bytes of a file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), bytes: Bytes::File, separator: None, nulls: Arc::default() }
    }

    /// The bytes of a stream. Copies them to a temporary file, because tables are read more than once. Errors name
    /// `path`.
    ///
    /// # Errors
    /// If the stream cannot be read, or the file cannot be written.
    pub fn stream(path: impl Into<PathBuf>, stream: &mut dyn Read) -> io::Result<Self> {
        let mut file = NamedTempFile::new()?;
        io::copy(stream, &mut file)?;
        file.flush()?;
        Ok(Self { bytes: Bytes::Spool(Arc::new(file.into_temp_path())), ..Self::file(path) })
    }

    /// Replaces the bytes with csv or jsonl text in memory. Errors name the path, which is not read.
    #[must_use]
    pub fn with_text(self, text: impl Into<Arc<[u8]>>) -> Self {
        Self { bytes: Bytes::Text(text.into()), ..self }
    }

    /// Sets the separator of csv cells. The default is the comma, or in a header without a comma the only one of
    /// semicolon, tab and bar that it has.
    #[must_use]
    pub fn with_separator(self, separator: u8) -> Self {
        Self { separator: Some(separator), ..self }
    }

    /// Sets texts of csv cells that mean null in nullable columns, in addition to empty cells.
    #[must_use]
    pub fn with_nulls(self, nulls: impl Into<Arc<[String]>>) -> Self {
        Self { nulls: nulls.into(), ..self }
    }

    /// The name in errors.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn separator(&self) -> Option<u8> {
        self.separator
    }

    pub(crate) fn nulls(&self) -> &[String] {
        &self.nulls
    }

    /// The file with the bytes, which may be compressed.
    pub(crate) fn on_disk(&self) -> &Path {
        match &self.bytes {
            Bytes::Spool(path) => path,
            Bytes::File | Bytes::Text(_) => &self.path,
        }
    }

    /// The number of bytes, if it is known before they are read.
    pub(crate) fn length(&self) -> Option<u64> {
        match &self.bytes {
            Bytes::Text(text) => Some(text.len() as u64),
            // Only the compressed length is known. A pipe has no length.
            _ if self.has_gzip_name() => None,
            Bytes::File | Bytes::Spool(_) => {
                std::fs::metadata(self.on_disk()).ok().filter(std::fs::Metadata::is_file).map(|meta| meta.len())
            }
        }
    }

    fn has_gzip_name(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
    }

    /// Opens the bytes of raw values.
    pub(crate) fn open(&self) -> Result<Input, InputError> {
        let plain = self.plain()?;
        Ok(if self.has_gzip_name() { Input::unzip(plain) } else { plain })
    }

    /// Opens the bytes of a text.
    pub(crate) fn open_text(&self) -> Result<Input, InputError> {
        let mut plain = self.plain()?;
        let mut first = Vec::new();
        let read = plain.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut first);
        read.map_err(|e| InputError::new(Place::file(&self.path), Problem::Io(e)))?;
        let is_gzip = first == GZIP_MAGIC;
        // A pipe cannot go back, so the first bytes are kept.
        let whole = Input::Rest(Cursor::new(first), Box::new(plain));
        Ok(if is_gzip { Input::unzip(whole) } else { whole })
    }

    fn plain(&self) -> Result<Input, InputError> {
        match &self.bytes {
            Bytes::Text(text) => Ok(Input::Text(Cursor::new(text.clone()))),
            Bytes::File | Bytes::Spool(_) => {
                let file = File::open(self.on_disk());
                file.map(Input::File).map_err(|e| InputError::new(Place::file(&self.path), Problem::Io(e)))
            }
        }
    }
}

/// The bytes of a table, read from the start.
pub(crate) enum Input {
    File(File),
    Text(Cursor<Arc<[u8]>>),
    /// Bytes that were read ahead, and the bytes after them.
    Rest(Cursor<Vec<u8>>, Box<Input>),
    Gzip(Box<MultiGzDecoder<BufReader<Input>>>),
}

impl Input {
    fn unzip(self) -> Self {
        Self::Gzip(Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, self))))
    }

    /// The problem of an error of [`Read::read`].
    pub(crate) fn problem(&self, error: io::Error) -> Problem {
        let damage = [io::ErrorKind::InvalidInput, io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof];
        match self {
            Self::Gzip(_) if damage.contains(&error.kind()) => {
                Problem::Malformed { format: "gzip", detail: error.to_string() }
            }
            _ => Problem::Io(error),
        }
    }
}

impl Read for Input {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buf),
            Self::Text(text) => text.read(buf),
            Self::Rest(first, rest) => match first.read(buf)? {
                0 => rest.read(buf),
                n => Ok(n),
            },
            Self::Gzip(input) => input.read(buf),
        }
    }
}
