//! SIGTERM and SIGINT.

use std::thread;

use anyhow::{Context, Result};
use evergrove::jobs::Cancel;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::INTERRUPTED;

/// From now on the first SIGTERM or SIGINT cancels `stop`, and a second one ends the process at once.
pub(crate) fn stop_on_signals(stop: &Cancel) -> Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build().context("signals")?;
    let registered = runtime.block_on(async {
        Ok::<_, std::io::Error>((signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?))
    });
    let (mut terminate, mut interrupt) = registered.context("signals")?;
    let stop = stop.clone();
    let wait = move || {
        for first in [true, false] {
            runtime.block_on(async {
                tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
            });
            if first {
                stop.cancel();
            }
        }
        std::process::exit(INTERRUPTED)
    };
    // The thread waits for as long as the process lives.
    thread::Builder::new().name("signals".into()).spawn(wait).context("signals")?;
    Ok(())
}
