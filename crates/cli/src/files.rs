//! Files that commands read and write.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Error, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use evergrove::commit::schema::Schema;
use evergrove::store::input::{Format, IndexSource, Source, Table, read_indices};
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use crate::args::RowsArgs;
use crate::exit::{CliError, INTERRUPTED};

/// Reads a whole file of at most `limit` bytes. `remedy` is the advice for a longer file, which is not read to its end.
pub(crate) fn read(path: &Path, limit: u64, remedy: &str) -> Result<Vec<u8>> {
    read_or(path, limit, |message| CliError::usage(message, remedy))
}

/// Like [`read`], for a proof: a file that is too long is refused, like every invalid proof.
pub(crate) fn read_proof(path: &Path, limit: u64, remedy: &str) -> Result<Vec<u8>> {
    read_or(path, limit, |message| CliError::refused(message, remedy))
}

fn read_or(path: &Path, limit: u64, mistake: impl Fn(String) -> anyhow::Error) -> Result<Vec<u8>> {
    let name = || path.display().to_string();
    let too_long = |size: String| mistake(format!("{}: {size}, at most {limit} bytes are read", path.display()));
    let file = File::open(path).with_context(name)?;
    let size = file.metadata().with_context(name)?.len();
    if size > limit {
        return Err(too_long(format!("{size} bytes")));
    }
    // A file that grows, or that is not a regular file, may have more bytes than its size says.
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).with_context(name)?;
    if bytes.len() as u64 > limit {
        return Err(too_long(format!("more than {limit} bytes")));
    }
    Ok(bytes)
}

/// Writes a file in one step: after any failure, the path has either the whole new content or the old content. A
/// symbolic link stays, and its target is written. A path that is not a regular file, such as a pipe or a device, is
/// never replaced: the content is written to it.
pub(crate) fn write(path: &Path, fill: impl FnOnce(&mut Out<'_>) -> Result<()>) -> Result<()> {
    write_together(vec![(path, Box::new(fill))])
}

/// Like [`write`], for a secret: only the owner may read a file that is new or replaces another one. The file survives
/// a crash.
pub(crate) fn write_private(path: &Path, fill: impl FnOnce(&mut Out<'_>) -> Result<()>) -> Result<()> {
    write_all(vec![(path, Box::new(fill))], true)?;
    if is_special(path) {
        return Ok(());
    }
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let dir = target.parent().unwrap_or(Path::new("."));
    File::open(dir).and_then(|dir| dir.sync_all()).with_context(|| path.display().to_string())
}

/// The destination of a file's content.
pub(crate) type Out<'a> = dyn Write + Send + 'a;

/// Writes the content of a file.
pub(crate) type Fill<'a> = Box<dyn FnOnce(&mut Out<'_>) -> Result<()> + 'a>;

/// Writes files like [`write`]. No file is replaced before all of them are complete.
pub(crate) fn write_together(files: Vec<(&Path, Fill<'_>)>) -> Result<()> {
    write_all(files, false)
}

fn write_all(files: Vec<(&Path, Fill<'_>)>, private: bool) -> Result<()> {
    // Output to a pipe cannot be taken back, so the regular files are completed first.
    let (special, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|(path, _)| is_special(path));
    let mut complete = Vec::new();
    for (path, fill) in files {
        let name = || path.display().to_string();
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (part, file) = Part::beside(&target, private).with_context(name)?;
        let mut out = BufWriter::new(file);
        fill(&mut out).with_context(name)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error).with_context(name)?;
        file.sync_all().with_context(name)?;
        complete.push((path, part, target));
    }
    for (path, fill) in special {
        let name = || path.display().to_string();
        let mut out = BufWriter::new(OpenOptions::new().write(true).open(path).with_context(name)?);
        fill(&mut out).with_context(name)?;
        out.flush().with_context(name)?;
    }
    for (path, part, target) in complete {
        fs::rename(&part.0, &target).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Lets `fill` write to a file, compressed by gzip if the path ends in `.gz`.
pub(crate) fn compressed(path: &Path, out: &mut Out<'_>, fill: impl FnOnce(&mut Out<'_>) -> Result<()>) -> Result<()> {
    if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz")) {
        return fill(out);
    }
    gzip(out, fill)
}

/// Lets `fill` write to a file, compressed by gzip.
pub(crate) fn gzip(out: &mut Out<'_>, fill: impl FnOnce(&mut Out<'_>) -> Result<()>) -> Result<()> {
    let mut out = GzEncoder::new(out, Compression::default());
    fill(&mut out)?;
    out.finish()?;
    Ok(())
}

/// The first bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Like [`read`], for a file that may be compressed by gzip. The limit also applies to the decompressed content.
pub(crate) fn read_text(path: &Path, limit: u64, remedy: &str) -> Result<Vec<u8>> {
    let mut bytes = read(path, limit, remedy)?;
    if bytes.starts_with(GZIP) {
        let packed = std::mem::take(&mut bytes);
        GzDecoder::new(&packed[..]).take(limit + 1).read_to_end(&mut bytes).map_err(|e| {
            let message = format!("{}: not a whole gzip file: {e}", path.display());
            CliError::usage(message, "copy or compress the file again")
        })?;
        if bytes.len() as u64 > limit {
            let message = format!("{}: more than {limit} bytes when unpacked", path.display());
            return Err(CliError::usage(message, remedy));
        }
    }
    Ok(bytes)
}

/// Fails with the error that [`write`] would meet at one of these paths. Call it before the work that makes the
/// content.
pub(crate) fn check<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    let mut targets = Vec::new();
    for path in paths {
        let name = || path.display().to_string();
        let target = path.canonicalize().unwrap_or_else(|_| path.clone());
        if targets.contains(&target) && !is_special(path) {
            let message = format!("{}: named for two results", path.display());
            return Err(CliError::usage(message, "give each result a file of its own"));
        }
        if path.is_dir() {
            return Err(Error::from(ErrorKind::IsADirectory)).with_context(name);
        }
        if !is_special(path) {
            Part::beside(&target, false).with_context(name)?;
        }
        targets.push(target);
    }
    Ok(())
}

/// True for a pipe, a device or a socket.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// A temporary file, which is removed unless it has been renamed.
struct Part(PathBuf);

/// The temporary files of this process.
static PARTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn parts() -> MutexGuard<'static, Vec<PathBuf>> {
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on the signals that end a program first delete the temporary files of this process.
pub(crate) fn sweep_on_signals() -> Result<()> {
    crate::signals::on_signals(|| {
        parts().iter().for_each(|part| drop(fs::remove_file(part)));
        std::process::exit(INTERRUPTED)
    })
}

impl Part {
    /// A new file beside the target. Its name is random, because processes in containers may share a directory and a
    /// process id.
    fn beside(target: &Path, private: bool) -> io::Result<(Self, File)> {
        let mut prefix = target.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if private {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        #[cfg(not(unix))]
        let _ = private;
        let mut named = tempfile::Builder::new();
        named.prefix(&prefix).suffix(".part").disable_cleanup(true);
        let (file, path) = named.make_in(dir, |path| options.open(path))?.into_parts();
        let part = Self(path.to_path_buf());
        parts().push(part.0.clone());
        Ok((part, file))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        parts().retain(|part| *part != self.0);
    }
}

/// Reads a schema file.
pub(crate) fn schema(path: &Path) -> Result<Schema> {
    parse_schema(path, read(path, 1 << 24, "check the path: no schema is that long")?)
}

/// Parses the schema in these bytes of the file `path`.
pub(crate) fn parse_schema(path: &Path, bytes: Vec<u8>) -> Result<Schema> {
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| CliError::usage(format!("{}: not UTF-8", path.display()), "give a TOML file"))?;
    Schema::from_toml(&text).with_context(|| path.display().to_string())
}

/// The named format, or the one that the path's extension suggests.
pub(crate) fn format_of(path: &Path, named: Option<Format>, flag: &str) -> Result<Format> {
    named.or_else(|| Format::from_path(path)).ok_or_else(|| {
        let message = format!("{}: the extension names no format", path.display());
        CliError::usage(message, format!("name it with {flag}: csv, tsv, jsonl, parquet or raw"))
    })
}

/// The file name that means stdin or stdout.
pub(crate) const STDIN: &str = "-";

/// The bytes of a file of rows, or of stdin, and the form of its cells.
fn source(path: &Path, rows: &RowsArgs, format: Format) -> Result<Source> {
    if rows.delimiter.is_some() && format != Format::Csv {
        let message = format!("--delimiter: not for {} files", format.name());
        return Err(CliError::usage(message, "leave it out, or give --input-format csv"));
    }
    if !rows.null.is_empty() && !matches!(format, Format::Csv | Format::Tsv) {
        let message = format!("--null: not for {} files", format.name());
        return Err(CliError::usage(message, "leave it out: only csv and tsv write null as text"));
    }
    let source = match path == Path::new(STDIN) {
        true => Source::stream("stdin", &mut io::stdin().lock()).context("stdin")?,
        false => Source::file(path),
    };
    let source = source.with_nulls(rows.null.as_slice());
    Ok(match rows.delimiter {
        Some(delimiter) => source.with_separator(delimiter),
        None => source,
    })
}

/// The table in a file of rows. Without a schema, it is inferred from the content. `index` is the rule for positions if
/// the command line gives none.
pub(crate) fn table(path: &Path, rows: &RowsArgs, schema: Option<Schema>, index: IndexSource) -> Result<Table> {
    let format = format_of(path, rows.input_format, "--input-format")?;
    let source = source(path, rows, format)?;
    let index = match (&rows.indices, &rows.index_column) {
        (Some(list), _) => IndexSource::List(read_indices(list)?),
        (None, Some(column)) => IndexSource::Column(column.clone()),
        (None, None) => index,
    };
    Ok(match schema {
        Some(schema) => Table::of(source, format, index, schema),
        None => Table::infer_of(source, format, index)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_of_one_file_do_not_meet() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        write_private(&path, |first| {
            first.write_all(b"first, ")?;
            // Another process with the same id would do this.
            write(&path, |second| Ok(second.write_all(b"second")?))?;
            assert_eq!(fs::read(&path)?, b"second");
            Ok(first.write_all(b"and whole")?)
        })
        .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first, and whole");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no part is left");
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        write(&path, |_| Err(Error::from(ErrorKind::Other).into())).unwrap_err();
        check([&path]).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(parts().iter().all(|part| !part.starts_with(dir.path())));
    }
}
