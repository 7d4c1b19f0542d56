//! Files that a service takes again when they change.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Reads every two seconds and hands what has changed since `last` to `take`, on a thread that lives as long as the process. What cannot be
/// read or taken changes nothing, and nor does what is not the same at two looks: somebody may be writing it. The log then says why `what`
/// stay as they were.
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
                    // What is not taken is tried again at the next look: a certificate may become valid.
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
                    // A file that is missing for long is told once.
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
