//! Files that a service reads again when they change.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

/// Pause between two reads.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Reads every two seconds, on a thread that lives as long as the process, and passes new content to `take`. New
/// content must be the same at two reads, because somebody may be writing it. If `read` or `take` fails, the old
/// content stays in use, and the log says why. `what` is the name of the content in the log.
pub(crate) fn watch<T: PartialEq + Send + 'static>(
    what: &'static str,
    mut last: T,
    read: impl Fn() -> Result<T> + Send + 'static,
    take: impl Fn(&T) -> Result<()> + Send + 'static,
) -> Result<()> {
    let look = move || {
        let (mut seen, mut said) = (None, String::new());
        loop {
            thread::sleep(LOOK_EVERY);
            let outcome = read().and_then(|read| {
                if read == last {
                    seen = None;
                } else if seen.as_ref() == Some(&read) {
                    // If `take` fails, it is tried again after the next read: a certificate may become valid.
                    take(&read)?;
                    (last, seen) = (read, None);
                    tracing::info!("{what} are those of the changed file");
                } else {
                    seen = Some(read);
                }
                Ok(())
            });
            match outcome {
                Ok(()) => said.clear(),
                Err(e) => {
                    // A repeated error, such as a missing file, is logged once.
                    let error = format!("{e:#}");
                    if error != said {
                        tracing::warn!(error, "{what} stay as they were");
                        said = error;
                    }
                }
            }
        }
    };
    thread::Builder::new().name("watch".into()).spawn(look).with_context(|| what)?;
    Ok(())
}
