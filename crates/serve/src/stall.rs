//! The time that a refresh may run without a sign of work.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use evergrove::jobs::{Cancel, Event};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::service::Shared;

/// Stops a refresh at the end of the service, or when [`Config::stall`](crate::Config) passes without a sign of work.
///
/// ```text
///            no sign of work for `stall`: status and metrics say so
///   patient ───────────────────────────────────────────────▶ stalled: a refresh has a quarter of that time
///      ▲                                                        │
///      └────────────────────────────────────────────────────────┘ a task starts, finishes or is retried
/// ```
pub(crate) struct StallWatch {
    shared: Arc<Shared>,
    cancel: Cancel,
    /// True: a task started, finished or is retried. False: another event, such as the plan of a run.
    signs: watch::Sender<bool>,
}

impl StallWatch {
    pub(crate) fn new(shared: &Arc<Shared>, runtime: &Handle) -> Self {
        let (signs, signed) = watch::channel(false);
        let stall_watch = Self { shared: shared.clone(), cancel: Cancel::new(), signs };
        if shared.is_aborting() {
            stall_watch.cancel.cancel();
        }
        runtime.spawn(watch_over(shared.clone(), stall_watch.cancel.clone(), signed));
        stall_watch
    }

    /// The handle that stops the refresh.
    pub(crate) fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// True after the refresh was stopped.
    pub(crate) fn is_over(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Records an event. A sign of work ends a stall.
    pub(crate) fn event(&self, event: &Event<'_>) {
        let work = matches!(event, Event::Started { .. } | Event::Finished { .. } | Event::Retrying { .. });
        if work {
            self.shared.set_stalled(false);
        }
        // An error means that `watch_over` has ended: the refresh is being stopped.
        let _ = self.signs.send(work);
    }
}

/// Ends after this time, or never.
pub(crate) async fn sleep_if(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => pending().await,
    }
}

/// Cancels the refresh when the service aborts or a sign of work is overdue. Ends when the sender of `signs` is
/// dropped.
async fn watch_over(shared: Arc<Shared>, cancel: Cancel, mut signs: watch::Receiver<bool>) {
    let mut limit = shared.config.stall.map(|limit| if shared.is_stalled() { limit / 4 } else { limit });
    loop {
        tokio::select! {
            () = shared.aborting() => return cancel.cancel(),
            () = sleep_if(limit) => {
                shared.set_stalled(true);
                return cancel.cancel();
            }
            sign = signs.changed() => match sign {
                Ok(()) if *signs.borrow() => limit = shared.config.stall,
                Ok(()) => {}
                Err(_) => return,
            }
        }
    }
}
