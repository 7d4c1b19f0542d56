//! `GET /v1/events`: server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Query, State};
use axum::http::{HeaderName, HeaderValue};
use axum::response::IntoResponse;
use axum::response::sse::{self, KeepAlive, Sse};
use futures_util::stream::unfold;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

use super::connections::Pace;
use super::{Public, read};
use crate::config::Right;
use crate::metrics::Counted;
use crate::problem::Problem;
use crate::runs::Follower;
use crate::service::Shared;
use crate::{Event, Token};

/// Longest time without a message in a stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Shortest time between two `progress` events of a stream. Changes in between are sent together.
const PACE: Duration = Duration::from_millis(50);

/// An open stream.
struct Open {
    shared: Arc<Shared>,
    events: Receiver<Event>,
    /// The token of the caller.
    shown: Option<Token>,
    /// True for a caller without a token, if the service has tokens.
    is_public: bool,
    /// A place among all streams, and for a caller without a token also one among the public streams.
    _place: (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>),
    _counted: Counted,
    next: Step,
    follow: Option<Follow>,
}

/// The batch whose progress a stream reports.
struct Follow {
    follower: Follower,
    progressed: watch::Receiver<()>,
    not_before: Instant,
}

/// The query of a caller.
#[derive(Debug, Deserialize)]
pub(crate) struct Wanted {
    batch: Option<String>,
}

enum Step {
    /// First the state of the service, then later events.
    Status,
    Events,
    End,
}

/// Server-sent events about epochs and proofs.
///
/// The first event is `status`, with the answer of `/v1/status`. It comes again whenever the caller was too slow and
/// missed events. The others are `epoch`, `proof`, `failure`, `stalled`, `resumed`, and `stopping` as the last. With a
/// batch there is also `progress`, at most about 20 times a second: the proofs that were started and made.
/// `/v1/batches/{name}/tree` has all proofs.
#[utoipa::path(
    get, path = "/v1/events", tag = "proofs", security(("bearer" = [])),
    params(("batch" = Option<String>, Query, description = "The batch to tell the progress of")),
    responses(
        (status = 200, description = "Events until the caller or the service ends", body = Event, content_type = "text/event-stream"),
        (status = 401, description = "No valid token", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "From a web page elsewhere, and the service has no token", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Too many streams are open", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn stream(
    State(shared): State<Arc<Shared>>,
    shown: Option<Extension<Token>>,
    public: Option<Extension<Public>>,
    pace: Option<Extension<Pace>>,
    asked: read::Asked<Wanted>,
) -> Result<impl IntoResponse, Problem> {
    let Query(Wanted { batch }) = asked.map_err(|e| Problem::malformed(e.body_text()))?;
    let is_public = public.is_some();
    let take = |of: &Arc<Semaphore>, most| of.clone().try_acquire_owned().map_err(|_| Problem::streams(most));
    let open = public_streams(shared.config.streams);
    let share = is_public.then(|| take(&shared.public_streams, open)).transpose()?;
    let place = (take(&shared.streams, shared.config.streams)?, share);
    if let Some(Extension(pace)) = pace {
        // A stream has few bytes, and a caller that reads too slowly misses events.
        pace.set(None);
    }
    let events = shared.subscribe();
    let shown = shown.map(|Extension(token)| token);
    let counted = Counted::new(&shared.metrics.streams);
    let follow = batch.map(|batch| Follow {
        progressed: shared.progressed(),
        follower: shared.runs().follow(batch),
        not_before: Instant::now(),
    });
    let open = Open { shared, events, shown, is_public, _place: place, _counted: counted, next: Step::Status, follow };
    let stream = unfold(open, |mut open| async {
        let event = open.next().await?;
        Some((Ok::<_, Infallible>(event), open))
    });
    // Keeps proxies from buffering events.
    let unbuffered = [(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"))];
    Ok((unbuffered, Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))))
}

/// Number of streams that may be open without a token: half of all, rounded up.
pub(crate) fn public_streams(streams: usize) -> usize {
    streams.div_ceil(2)
}

impl Open {
    /// True while the caller may read. A token can be withdrawn at any time.
    fn may_ask(&self) -> bool {
        self.is_public || self.shared.config.allows(self.shown.as_ref(), Right::Read)
    }

    /// The next event.
    async fn event(&mut self) -> Result<Event, RecvError> {
        let Self { shared, events, follow, .. } = self;
        let progress = async {
            match follow {
                Some(follow) => follow.next(shared).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            event = events.recv() => event,
            event = progress => Ok(event),
        }
    }

    async fn next(&mut self) -> Option<sse::Event> {
        match self.next {
            Step::End => return None,
            Step::Status => self.next = Step::Events,
            Step::Events => match self.event().await {
                // The token was withdrawn.
                _ if !self.may_ask() => return None,
                Ok(event) => {
                    if event == Event::Stopping {
                        self.next = Step::End;
                    }
                    let event = if self.is_public { event.public() } else { event };
                    return Some(message(event.name(), &event));
                }
                // The state includes the missed events.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            },
        }
        match read::status_of(self.shared.clone(), self.is_public).await {
            Ok(status) => Some(message("status", &status)),
            Err(problem) => {
                self.next = Step::End;
                Some(message("problem", &problem))
            }
        }
    }
}

impl Follow {
    /// The next progress. Cancel-safe: a dropped call misses nothing.
    async fn next(&mut self, shared: &Shared) -> Event {
        loop {
            sleep_until(self.not_before).await;
            self.progressed.mark_unchanged();
            if let Some(progress) = shared.runs().news(&mut self.follower) {
                self.not_before = Instant::now() + PACE;
                return Event::Progress(progress);
            }
            if self.progressed.changed().await.is_err() {
                // The service is gone. The other events end the stream.
                std::future::pending::<()>().await;
            }
        }
    }
}

fn message(name: &str, data: &impl Serialize) -> sse::Event {
    // Our types are objects with string keys, so this does not fail.
    sse::Event::default().event(name).json_data(data).unwrap_or_default()
}
