//! Events out.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::sse::{self, KeepAlive, Sse};
use futures_util::stream::{Stream, unfold};
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::read;
use crate::config::Right;
use crate::metrics::Counted;
use crate::problem::Problem;
use crate::service::Shared;
use crate::{Event, Token};

/// A quiet stream shows at least this often that it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A stream that is open.
struct Open {
    shared: Arc<Shared>,
    events: Receiver<Event>,
    /// The token that the caller has shown.
    shown: Option<Token>,
    /// Its place among the streams that may be open.
    _place: OwnedSemaphorePermit,
    _counted: Counted,
    next: Step,
}

enum Step {
    /// The state of the service, before what happens after it.
    Status,
    Events,
    End,
}

/// Be told of epochs and proofs, as server-sent events.
///
/// The first event is `status`, with what `/v1/status` answers; so is the next one whenever the caller was too slow and
/// missed some. Then come `epoch`, `proof`, `failure`, and `stopping` as the last.
#[utoipa::path(
    get, path = "/v1/events", tag = "proofs", security(("bearer" = [])),
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
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, Problem> {
    let place = shared.streams.clone().try_acquire_owned();
    let place = place.map_err(|_| Problem::streams(shared.config.streams))?;
    let events = shared.subscribe();
    let shown = shown.map(|Extension(token)| token);
    let counted = Counted::new(&shared.metrics.streams);
    let open = Open { shared, events, shown, _place: place, _counted: counted, next: Step::Status };
    let stream = unfold(open, |mut open| async {
        let event = open.next().await?;
        Some((Ok(event), open))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

impl Open {
    async fn next(&mut self) -> Option<sse::Event> {
        match self.next {
            Step::End => return None,
            Step::Status => self.next = Step::Events,
            Step::Events => match self.events.recv().await {
                // The token was withdrawn since.
                _ if !self.shared.config.allows(self.shown.as_ref(), Right::Read) => return None,
                Ok(event) => {
                    if event == Event::Stopping {
                        self.next = Step::End;
                    }
                    return Some(message(event.name(), &event));
                }
                // What was missed is in the state.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            },
        }
        match read::status_of(self.shared.clone()).await {
            Ok(status) => Some(message("status", &status)),
            Err(problem) => {
                self.next = Step::End;
                Some(message("problem", &problem))
            }
        }
    }
}

fn message(name: &str, data: &impl Serialize) -> sse::Event {
    // Our own types are objects with names: none fails.
    sse::Event::default().event(name).json_data(data).unwrap_or_default()
}
