//! Files that commands read and write.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Error, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use evergrove::commit::schema::Schema;
use evergrove::store::input::{Format, IndexSource, Table, read_indices};

use crate::args::RowsArgs;
use crate::exit::Mistake;

/// Reads a whole file of at most `limit` bytes; `remedy` is for a longer one, of which nothing or no more than that is read.
pub(crate) fn read(path: &Path, limit: u64, remedy: &str) -> Result<Vec<u8>> {
    let name = || path.display().to_string();
    let too_long = |size: String| {
        let message = format!("{}: {size}, at most {limit} bytes are read", path.display());
        Mistake::usage(message, remedy)
    };
    let file = File::open(path).with_context(name)?;
    let size = file.metadata().with_context(name)?.len();
    if size > limit {
        return Err(too_long(format!("{size} bytes")));
    }
    // What is no regular file, or grows, may hold more than its size says.
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).with_context(name)?;
    if bytes.len() as u64 > limit {
        return Err(too_long(format!("more than {limit} bytes")));
    }
    Ok(bytes)
}

/// Writes a file in one step: whatever happens, the path holds the whole new content or what it held before. A link stays, and
/// the file behind it is written. What is no regular file, such as a pipe or a device, is never replaced: the content goes to it.
pub(crate) fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let name = || path.display().to_string();
    if is_special(path) {
        let mut out = BufWriter::new(OpenOptions::new().write(true).open(path).with_context(name)?);
        fill(&mut out).with_context(name)?;
        return out.flush().with_context(name);
    }
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let part = Part::of(&target);
    let mut out = BufWriter::new(File::create(&part.0).with_context(name)?);
    fill(&mut out).with_context(name)?;
    let file = out.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(name)?;
    file.sync_all().with_context(name)?;
    drop(file);
    fs::rename(&part.0, &target).with_context(name)
}

/// The error that [`write`] would meet at this path, before the work whose result is to be written.
pub(crate) fn check<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    for path in paths {
        let name = || path.display().to_string();
        if path.is_dir() {
            return Err(Error::from(ErrorKind::IsADirectory)).with_context(name);
        }
        if !is_special(path) {
            let target = path.canonicalize().unwrap_or_else(|_| path.clone());
            File::create(&Part::of(&target).0).with_context(name)?;
        }
    }
    Ok(())
}

/// True of a pipe, a device, a socket.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// A file under way: taken away unless it has been renamed.
struct Part(PathBuf);

impl Part {
    /// Beside the file that it is to become.
    fn of(target: &Path) -> Self {
        let mut part = target.as_os_str().to_owned();
        part.push(format!(".{}.part", std::process::id()));
        Self(part.into())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Reads a schema file.
pub(crate) fn schema(path: &Path) -> Result<Schema> {
    parse_schema(path, read(path, 1 << 24, "check the path: no schema is that long")?)
}

/// The schema that is written in these bytes of a file.
pub(crate) fn parse_schema(path: &Path, bytes: Vec<u8>) -> Result<Schema> {
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| Mistake::usage(format!("{}: not UTF-8", path.display()), "give a TOML file"))?;
    Schema::from_toml(&text).with_context(|| path.display().to_string())
}

/// The format that is named, or that the path suggests.
pub(crate) fn format_of(path: &Path, named: Option<Format>, flag: &str) -> Result<Format> {
    named.or_else(|| Format::from_path(path)).ok_or_else(|| {
        let message = format!("{}: the extension names no format", path.display());
        Mistake::usage(message, format!("name it with {flag}: csv, jsonl, parquet or raw"))
    })
}

/// The table in a file of rows; without a schema, the one that its content suggests. `index` is the rule for files whose rows
/// have no positions on the command line.
pub(crate) fn table(path: &Path, rows: &RowsArgs, schema: Option<Schema>, index: IndexSource) -> Result<Table> {
    let format = format_of(path, rows.input_format, "--input-format")?;
    let index = match (&rows.indices, &rows.index_column) {
        (Some(list), _) => IndexSource::List(read_indices(list)?),
        (None, Some(column)) => IndexSource::Column(column.clone()),
        (None, None) => index,
    };
    Ok(match schema {
        Some(schema) => Table::new(path, format, index, schema),
        None => Table::infer(path, format, index)?,
    })
}
