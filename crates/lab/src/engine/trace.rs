//! Traces of operations, in Chrome's trace format, which Perfetto reads, and in VCD, which waveform viewers read.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// One operation of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The row of the trace: an index into the names given to [`Trace::new`].
    pub track: usize,
    /// The name of the operation.
    pub name: String,
    /// First cycle.
    pub start: u64,
    /// Number of cycles.
    pub cycles: u64,
}

/// A record of operations, up to a limit.
#[derive(Clone, Debug)]
pub struct Trace {
    tracks: Vec<String>,
    events: Vec<Event>,
    limit: usize,
}

impl Trace {
    /// A trace of at most `limit` events on rows with these names.
    pub fn new(tracks: impl IntoIterator<Item = impl Into<String>>, limit: usize) -> Self {
        Self { tracks: tracks.into_iter().map(Into::into).collect(), events: Vec::new(), limit }
    }
    /// Adds an event if there is room for it.
    pub fn add(&mut self, track: usize, start: u64, cycles: u64, name: impl FnOnce() -> String) {
        if self.has_room() {
            self.events.push(Event { track, name: name(), start, cycles });
        }
    }
    /// Whether there is room for another event.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.events.len() < self.limit
    }
    /// The names of the rows.
    pub fn tracks(&self) -> &[String] {
        &self.tracks
    }
    /// The events, in the order of [`Trace::add`].
    pub fn events(&self) -> &[Event] {
        &self.events
    }
    /// Chrome's trace format, with one microsecond per cycle (`cycles_per_us`).
    pub fn chrome(&self) -> Value {
        let names = self.tracks.iter().enumerate().map(|(track, name)| {
            json!({ "ph": "M", "name": "thread_name", "pid": 1, "tid": track, "args": { "name": name } })
        });
        let events = self
            .events
            .iter()
            .map(|e| json!({ "ph": "X", "name": e.name, "pid": 1, "tid": e.track, "ts": e.start, "dur": e.cycles }));
        json!({ "traceEvents": names.chain(events).collect::<Vec<_>>(), "cycles_per_us": 1 })
    }
    /// A value change dump with one nanosecond per cycle. Each track has a wire `busy` and a string with the name of
    /// its operation.
    pub fn vcd(&self) -> String {
        let mut out = String::from("$timescale 1ns $end\n$scope module lab $end\n");
        let code = |kind: char, track: usize| format!("{kind}{track}");
        for (track, name) in self.tracks.iter().enumerate() {
            let wire = name.replace(|c: char| !c.is_alphanumeric(), "_");
            let _ = writeln!(out, "$var wire 1 {} {wire}_busy $end", code('b', track));
            let _ = writeln!(out, "$var string 1 {} {wire}_op $end", code('o', track));
        }
        out.push_str("$upscope $end\n$enddefinitions $end\n");
        // Ends sort before starts of the same cycle, so a track stays busy through back-to-back operations.
        let mut changes: Vec<(u64, bool, &Event)> = Vec::new();
        for event in &self.events {
            changes.push((event.start + event.cycles, false, event));
            changes.push((event.start, true, event));
        }
        changes.sort_by_key(|(cycle, starts, _)| (*cycle, *starts));
        let mut now = None;
        for (cycle, starts, event) in changes {
            if now != Some(cycle) {
                let _ = writeln!(out, "#{cycle}");
                now = Some(cycle);
            }
            let _ = writeln!(out, "{}{}", u8::from(starts), code('b', event.track));
            if starts {
                let _ = writeln!(out, "s{} {}", event.name.replace(' ', "_"), code('o', event.track));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_hold_every_event() {
        let mut trace = Trace::new(["front tree", "accumulator"], 3);
        for cycle in 0..5 {
            trace.add(1, 2 * cycle, 2, || format!("L4 {cycle}"));
        }
        assert_eq!(trace.events().len(), 3);
        let chrome = trace.chrome();
        assert_eq!(chrome["traceEvents"].as_array().map(Vec::len), Some(5));
        assert_eq!(
            chrome["traceEvents"][4],
            json!({ "ph": "X", "name": "L4 2", "pid": 1, "tid": 1, "ts": 4, "dur": 2 })
        );
        let vcd = trace.vcd();
        assert!(vcd.contains("$var wire 1 b1 accumulator_busy $end"));
        assert!(vcd.ends_with("#4\n0b1\n1b1\nsL4_2 o1\n#6\n0b1\n"), "{vcd}");
    }
}
