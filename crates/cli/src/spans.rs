//! Proofs and their steps as spans of OpenTelemetry.

use std::sync::Arc;
use std::time::SystemTime;

use evergrove::commit::watch::{Observer, Step};
use opentelemetry::trace::{Span, Tracer};
use opentelemetry::{KeyValue, global};
use tracing::info_span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Makes a span `proof` for every proof, within the span of its task, and in it a span for each step, with the name of
/// the phase. Without a collector, the spans go nowhere.
pub(crate) struct Spans {
    /// Another observer of the same proofs.
    pub(crate) next: Option<Arc<dyn Observer>>,
}

impl Observer for Spans {
    fn proof(&self, name: &'static str, rows: usize) -> Box<dyn FnMut(Step)> {
        let proof = info_span!("proof", circuit = name, rows);
        let (parent, tracer) = (proof.context(), global::tracer("evergrove"));
        let mut next = self.next.as_ref().map(|next| next.proof(name, rows));
        let mut last = SystemTime::now();
        Box::new(move |step| {
            // The span of the proof ends with this closure.
            let _proof = &proof;
            let now = SystemTime::now();
            let number = |name, value: u64| KeyValue::new(name, i64::try_from(value).unwrap_or(i64::MAX));
            let attributes = [
                KeyValue::new("category", step.category().name()),
                number("hashes", step.work.hashes),
                number("multiplications", step.work.multiplications),
                number("bytes", step.work.bytes),
            ];
            let span = tracer.span_builder(step.name()).with_start_time(last).with_attributes(attributes);
            span.start_with_context(&tracer, &parent).end_with_timestamp(now);
            last = now;
            if let Some(next) = &mut next {
                next(step);
            }
        })
    }
}
