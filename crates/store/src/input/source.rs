//! Where the bytes of a table are, and how the text in them is separated.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use tempfile::{NamedTempFile, TempPath};

use super::error::{InputError, Place, Problem};

/// The first bytes of a gzip file. No csv or jsonl text begins with them.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The bytes of a table: a file, a text in memory, or what a stream has held.
///
/// Texts and raw values that are compressed by gzip are read as what is in them: texts by their first bytes, raw values by the extension `.gz`.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name in errors, and the file where nothing else is.
    path: PathBuf,
    bytes: Bytes,
    /// What separates the cells of csv; found in the header if there is none.
    separator: Option<u8>,
    /// Texts of csv cells that stand for null.
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

    /// The bytes of a stream, which are copied to a temporary file: tables are read more than once. Errors name `path`.
    ///
    /// # Errors
    /// The stream cannot be read, or the file not be written.
    pub fn stream(path: impl Into<PathBuf>, stream: &mut dyn Read) -> io::Result<Self> {
        let mut file = NamedTempFile::new()?;
        io::copy(stream, &mut file)?;
        file.flush()?;
        Ok(Self { bytes: Bytes::Spool(Arc::new(file.into_temp_path())), ..Self::file(path) })
    }

    /// The same with csv or jsonl that is in memory. Errors name the path, which is not read.
    #[must_use]
    pub fn with_text(self, text: impl Into<Arc<[u8]>>) -> Self {
        Self { bytes: Bytes::Text(text.into()), ..self }
    }

    /// The same with csv cells that this byte separates. Without one it is the comma, or the one of semicolon, tab and bar that is in a header
    /// without a comma.
    #[must_use]
    pub fn with_separator(self, separator: u8) -> Self {
        Self { separator: Some(separator), ..self }
    }

    /// The same with csv cells of these texts as null in nullable columns, beside empty ones.
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

    /// The file that holds the bytes, as they are.
    pub(crate) fn on_disk(&self) -> &Path {
        match &self.bytes {
            Bytes::Spool(path) => path,
            Bytes::File | Bytes::Text(_) => &self.path,
        }
    }

    /// The number of bytes, where it is known before they are read.
    pub(crate) fn length(&self) -> Option<u64> {
        match &self.bytes {
            Bytes::Text(text) => Some(text.len() as u64),
            // A pipe has no length.
            _ if self.has_gzip_name() => None,
            Bytes::File | Bytes::Spool(_) => {
                std::fs::metadata(self.on_disk()).ok().filter(std::fs::Metadata::is_file).map(|meta| meta.len())
            }
        }
    }

    fn has_gzip_name(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
    }

    /// The bytes of raw values.
    pub(crate) fn open(&self) -> Result<Input, InputError> {
        let plain = self.plain()?;
        Ok(if self.has_gzip_name() { Input::unzip(plain) } else { plain })
    }

    /// The bytes of a text.
    pub(crate) fn open_text(&self) -> Result<Input, InputError> {
        let mut plain = self.plain()?;
        let mut first = [0; GZIP_MAGIC.len()];
        let mut filled = 0;
        while filled < first.len() {
            match plain.read(&mut first[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(InputError::new(Place::file(&self.path), Problem::Io(e))),
            }
        }
        // A pipe does not go back.
        let whole = Input::Rest(Cursor::new(first[..filled].to_vec()), Box::new(plain));
        Ok(if first[..filled] == GZIP_MAGIC { Input::unzip(whole) } else { whole })
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

/// The bytes of a table, read from the first on.
pub(crate) enum Input {
    File(File),
    Text(Cursor<Arc<[u8]>>),
    /// Bytes that have been looked at, and those behind them.
    Rest(Cursor<Vec<u8>>, Box<Input>),
    Gzip(Box<MultiGzDecoder<BufReader<Input>>>),
}

impl Input {
    fn unzip(self) -> Self {
        Self::Gzip(Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, self))))
    }

    /// What an error of [`Read::read`] is.
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
