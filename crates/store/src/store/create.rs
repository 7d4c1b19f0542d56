//! Creating a store.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evergrove_commit::Vector;
use evergrove_commit::schema::{Row, Schema};
use evergrove_verifier::tree::Value;
use evergrove_verifier::{HEIGHT_MAX, SCHEME};

use super::database::Database;
use super::layout::{CREATING, DATABASE, Epoch, FORMAT, meta};
use super::{Options, Store, WriteView};
use crate::Error;

impl Store {
    /// Commits a table: creates a store in `dir` whose epoch 1 contains `rows`. Creates `dir` if needed.
    ///
    /// With `None` as `height`, uses the smallest height that has every row, at least 1. The database is built beside
    /// its place and takes it in one step, so `dir` contains a whole store or none, whatever happens. Takes about 48
    /// bytes of memory per row in addition to the database's cache, and at most H + 1 permutations per row.
    ///
    /// # Errors
    /// [`Error::Exists`]; [`Error::OutOfRange`], [`Error::TooHigh`], [`Error::Height`], [`Error::Duplicate`],
    /// [`Error::Row`]; [`Error::Input`] with the first error of `rows`; [`Error::Io`].
    pub fn create<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        dir: &Path,
        schema: &Schema,
        height: Option<u8>,
        rows: impl IntoIterator<Item = Result<(u64, Row), E>>,
    ) -> Result<Self, Error> {
        Self::create_with(dir, &Options::default(), schema, height, rows)
    }

    /// As [`Self::create`], with options.
    pub fn create_with<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        dir: &Path,
        options: &Options,
        schema: &Schema,
        height: Option<u8>,
        rows: impl IntoIterator<Item = Result<(u64, Row), E>>,
    ) -> Result<Self, Error> {
        if let Some(h) = height.filter(|h| !(1..=HEIGHT_MAX).contains(h)) {
            return Err(Error::Height(h));
        }
        let site = Site::new(dir)?;
        // Keeps the database open until it is in its place. Its lock tells other processes that the site is in use.
        let database = build(&site.file(), dir, options, schema, height, rows)?;
        site.finish(dir)?;
        drop(database);
        Self::open_with(dir, options)
    }
}

/// The directory in which a store is being built. Only its owner can enter it. The builder must keep its database open
/// until the store is in its place. Otherwise, another process considers the site abandoned and removes it. Dropping a
/// site deletes it with its content, and those directories made for it that are empty.
pub(super) struct Site {
    site: PathBuf,
    /// Shows other processes that the site is in use while it has no database yet. `None` where directories cannot be
    /// locked.
    _lock: Option<File>,
    /// Directories that were made for it, innermost first.
    made: Vec<PathBuf>,
}

impl Site {
    /// A site in the directory of a store.
    pub(super) fn new(dir: &Path) -> Result<Self, Error> {
        let file = dir.join(DATABASE);
        if file.try_exists().map_err(Error::io(&file))? {
            return Err(Error::Exists(dir.into()));
        }
        Self::inside(dir, "")
    }

    /// A site beside a directory that does not exist or is empty, and whose place it can take: see
    /// [`Self::become_dir`]. Returns that place too, without links.
    pub(super) fn beside(dir: &Path) -> Result<(Self, PathBuf), Error> {
        // Neither a link nor a name like `.` can be replaced.
        let place = dir.canonicalize().unwrap_or_else(|_| dir.into());
        let parent = parent(&place);
        match fs::read_dir(dir).map(|mut entries| entries.next().is_none()) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(Error::io(dir)(e)),
            Ok(_) if dir.join(DATABASE).exists() => return Err(Error::Exists(dir.into())),
            Ok(false) => return Err(Error::NotEmpty(dir.into())),
            Ok(true) if is_mounted(&place, parent) => {
                let what = "a file system is mounted here, which no directory can take the place of";
                let source = std::io::Error::new(std::io::ErrorKind::CrossesDevices, what);
                return Err(Error::Io { path: dir.into(), source });
            }
            Ok(true) if Path::new(".").canonicalize().is_ok_and(|here| here == place) => {
                let what =
                    "this is the current directory, which no directory can take the place of: choose another one";
                let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, what);
                return Err(Error::Io { path: dir.into(), source });
            }
            Ok(true) => {}
        }
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        Ok((Self::inside(parent, &format!("-{name}"))?, place))
    }

    fn inside(dir: &Path, suffix: &str) -> Result<Self, Error> {
        let made = dir.ancestors().take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists());
        let made = made.map(Path::to_owned).collect();
        fs::create_dir_all(dir).map_err(Error::io(dir))?;
        for (left, _lock) in abandoned(dir) {
            fs::remove_dir_all(&left).map_err(Error::io(&left))?;
        }
        // Processes in containers may share a directory and have the same id.
        let mut site = tempfile::Builder::new();
        let prefix = format!("{CREATING}{}-", std::process::id());
        site.prefix(&prefix).suffix(suffix).disable_cleanup(true);
        loop {
            let site = site.make_in(dir, make_private).map_err(Error::io(dir))?.path().to_owned();
            let lock = lock(&site);
            // Another process may have taken the new directory for an abandoned one.
            if !matches!(lock, Err(TryLockError::WouldBlock)) && site.exists() {
                return Ok(Self { site, _lock: lock.ok(), made });
            }
        }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.site
    }

    pub(super) fn file(&self) -> PathBuf {
        self.site.join(DATABASE)
    }

    /// Puts the database in its place, unless that place is taken by now.
    pub(super) fn finish(self, dir: &Path) -> Result<(), Error> {
        let target = dir.join(DATABASE);
        // Unlike a rename, a hard link does not replace a store that another process has created meanwhile.
        match fs::hard_link(self.file(), &target) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => return Err(Error::Exists(dir.into())),
            Err(_) => fs::rename(self.file(), &target).map_err(Error::io(&target))?,
        }
        self.sync(dir)
    }

    /// Takes the place of the directory that it was made beside, with all its content, in one step. If that directory
    /// exists, the site first gets its rights, and its owner and group as far as this process may set them. Otherwise
    /// only the owner can enter the store.
    ///
    /// # Errors
    /// [`Error::Restored`] after that step, other errors before it.
    pub(super) fn become_dir(self, dir: &Path) -> Result<(), Error> {
        take_rights(&self.site, dir)?;
        // Fails if the directory is no longer empty.
        fs::rename(&self.site, dir).map_err(Error::io(dir))?;
        self.sync(parent(dir)).map_err(Error::restored(dir))
    }

    /// Makes the new names in `dir`, and the directories that were made for it, survive a crash.
    fn sync(&self, dir: &Path) -> Result<(), Error> {
        sync(dir)?;
        self.made.iter().try_for_each(|made| sync(parent(made)))
    }
}

/// Makes a directory that only its owner can enter.
fn make_private(dir: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Gives `dir` the rights of the directory `of` if that exists, and `dir` with all that it contains its owner and group as
/// far as this process may set them.
fn take_rights(dir: &Path, of: &Path) -> Result<(), Error> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
        let Ok(wanted) = fs::metadata(of) else { return Ok(()) };
        let (user, group) = (wanted.uid(), wanted.gid());
        // Only root may change the owner. Others may set a group that they are in.
        let own = |path: &Path| chown(path, Some(user), Some(group)).or_else(|_| chown(path, None, Some(group)));
        if own(dir).is_ok() {
            let mut folders = vec![dir.to_owned()];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(&folder).map_err(Error::io(&folder))? {
                    let path = entry.map_err(Error::io(&folder))?.path();
                    own(&path).map_err(Error::io(&path))?;
                    if path.is_dir() {
                        folders.push(path);
                    }
                }
            }
        }
        let has_group = fs::metadata(dir).map_err(Error::io(dir))?.gid() == group;
        // The old rights did not admit another group. If they cannot be set, only the owner can enter.
        let mode = wanted.mode() & if has_group { 0o7777 } else { 0o7707 };
        let _ = fs::set_permissions(dir, fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = (dir, of);
    Ok(())
}

/// Makes the names in a directory survive a crash.
pub(super) fn sync(dir: &Path) -> Result<(), Error> {
    File::open(dir).and_then(|d| d.sync_all()).map_err(Error::io(dir))
}

/// The directory that contains `dir`.
fn parent(dir: &Path) -> &Path {
    dir.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// True if `dir` is on another file system than `parent`.
fn is_mounted(dir: &Path, parent: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let device = |p: &Path| fs::metadata(p).map(|m| m.dev()).ok();
        device(dir) != device(parent)
    }
    #[cfg(not(unix))]
    {
        let _ = (dir, parent);
        false
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // The next creation in this directory removes the rest.
        let _ = fs::remove_dir_all(&self.site);
        // Removes only empty directories.
        let _ = self.made.iter().try_for_each(fs::remove_dir);
    }
}

/// Sites in `dir` that no process is building in. Killed processes leave them.
pub(super) fn sites(dir: &Path) -> Vec<PathBuf> {
    abandoned(dir).into_iter().map(|(site, _)| site).collect()
}

/// As [`sites`], with the locks that keep processes from building in them.
fn abandoned(dir: &Path) -> Vec<(PathBuf, Option<File>)> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let named = entries.flatten().filter(|e| e.file_name().to_string_lossy().starts_with(CREATING));
    let lock_abandoned = |site: PathBuf| {
        let file = site.join(DATABASE);
        let lock = match lock(&site) {
            Err(TryLockError::WouldBlock) => return None,
            lock => lock.ok(),
        };
        // A creation that is killed after its database took its place leaves a second name of the database. One that is
        // killed early leaves none.
        let left = same_file(&file, &dir.join(DATABASE))
            || if file.exists() { !Database::is_open_elsewhere(&file) } else { lock.is_some() };
        left.then_some((site, lock))
    };
    named.map(|e| e.path()).filter_map(lock_abandoned).collect()
}

/// Locks a directory until the file is closed.
fn lock(dir: &Path) -> Result<File, TryLockError> {
    let dir = File::open(dir).map_err(TryLockError::Error)?;
    dir.try_lock()?;
    Ok(dir)
}

/// True if both paths name the same file.
fn same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let place = |p: &Path| fs::metadata(p).map(|m| (m.dev(), m.ino())).ok();
        place(a).is_some_and(|a| Some(a) == place(b))
    }
    #[cfg(not(unix))]
    {
        let _ = (a, b);
        false
    }
}

fn build<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    file: &Path,
    dir: &Path,
    options: &Options,
    schema: &Schema,
    height: Option<u8>,
    rows: impl IntoIterator<Item = Result<(u64, Row), E>>,
) -> Result<Database, Error> {
    let database = options.open_database(dir, file, true)?;
    let write = database.begin_write()?;
    {
        let mut view = WriteView::new(dir, 1, Arc::new(schema.clone()), &write)?;
        let max = height.unwrap_or(HEIGHT_MAX);
        let mut changes: Vec<(u64, Option<Value>)> = Vec::new();
        let mut last = 0;
        for row in rows {
            let (index, row) = row.map_err(|e| Error::Input(e.into()))?;
            if index >> max != 0 {
                let beyond = || Error::OutOfRange { index, height: max };
                return Err(height.map_or(Error::TooHigh(index), |_| beyond()));
            }
            if view.is_filled(index)? {
                return Err(Error::Duplicate(index));
            }
            changes.push((index, Some(view.put_row(index, &row)?)));
            last = last.max(index);
        }
        let height = height.unwrap_or(((64 - last.leading_zeros()) as u8).max(1));
        let filled = changes.len() as u64;
        let mut vector = Vector::new(height, &mut view).map_err(Error::vector(dir))?;
        let commitment = vector.apply(&changes).map_err(Error::vector(dir))?;
        view.put_epoch(&Epoch { number: 1, commitment, filled })?;
        view.put_meta(meta::OLDEST, &1u64.to_le_bytes())?;
        view.put_meta(meta::SCHEME, SCHEME.as_bytes())?;
        view.put_meta(meta::SCHEMA, &schema.to_bytes())?;
        view.put_meta(meta::FORMAT, &[meta::MAGIC, &FORMAT.to_le_bytes()].concat())?;
    }
    write.commit()?;
    Ok(database)
}
