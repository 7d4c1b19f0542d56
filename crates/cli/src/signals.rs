//! The signals that end a program.

#[cfg(unix)]
use std::{fs, thread};

#[cfg(unix)]
use anyhow::Context;
use anyhow::Result;
use evergrove::jobs::Cancel;

use crate::exit::INTERRUPTED;

/// From now on the first signal that ends a program cancels `stop` and prints `notice`, and a second one ends the
/// process at once.
pub(crate) fn stop_on_signals(stop: &Cancel, notice: Option<&'static str>) -> Result<()> {
    let stop = stop.clone();
    on_signals(move || {
        if stop.is_cancelled() {
            std::process::exit(INTERRUPTED);
        }
        stop.cancel();
        if let Some(notice) = notice {
            eprintln!("\n{notice}");
        }
    })
}

/// Calls `act` at each SIGINT, SIGTERM and SIGHUP, from a thread that waits for as long as the process lives. A SIGHUP
/// that this process was started to ignore, as by `nohup`, stays ignored. Systems without these signals keep their own
/// ways to end a program.
pub(crate) fn on_signals(mut act: impl FnMut() + Send + 'static) -> Result<()> {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let ends: &[_] = if ignores_hangup() { &[SIGINT, SIGTERM] } else { &[SIGINT, SIGTERM, SIGHUP] };
        let mut signals = signal_hook::iterator::Signals::new(ends).context("signals")?;
        let wait = move || signals.forever().for_each(|_| act());
        thread::Builder::new().name("signals".into()).spawn(wait).context("signals")?;
    }
    #[cfg(not(unix))]
    let _ = &mut act;
    Ok(())
}

/// True if Linux says that this process ignores SIGHUP, its signal 1.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
