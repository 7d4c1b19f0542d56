//! Progress on stderr: a bar on a terminal, plain lines elsewhere, nothing with `--quiet`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use evergrove::commit::watch::{Level, Running, Trace};
use evergrove::jobs::metrics::Metrics;
use evergrove::jobs::watch::Watch;
use evergrove::jobs::{Event, Observer};
use evergrove::store::TreeNode;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Map;

use crate::proof_tree::Picture;
use crate::report::{count, plain, seconds};

/// Time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Time between two pictures of a tree.
const PICTURE_EVERY: Duration = Duration::from_millis(100);

/// Progress of a count.
pub(crate) struct Counter {
    noun: &'static str,
    total: Option<u64>,
    bar: Option<ProgressBar>,
    plain: bool,
    done: Cell<u64>,
    started: Instant,
    last_line: Cell<Instant>,
}

impl Counter {
    pub(crate) fn new(quiet: bool, noun: &'static str, total: Option<u64>) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = (!quiet && terminal).then(|| {
            let (bar, template) = match total {
                Some(n) => (ProgressBar::new(n), "{bar:32} {human_pos}/{human_len} {prefix}, {eta} left{msg}"),
                None => (ProgressBar::new_spinner(), "{spinner} {human_pos} {prefix}, {elapsed}"),
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.with_prefix(noun)
        });
        let now = Instant::now();
        let plain = !quiet && !terminal;
        Self { noun, total, bar, plain, done: Cell::new(0), started: now, last_line: Cell::new(now) }
    }

    /// Counts one more.
    pub(crate) fn step(&self) {
        self.done.set(self.done.get() + 1);
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
        if self.plain && self.last_line.get().elapsed() >= LINE_EVERY {
            self.last_line.set(Instant::now());
            eprintln!("{}", self.line());
        }
    }

    fn line(&self) -> String {
        let (done, noun) = (self.done.get(), self.noun);
        let elapsed = self.started.elapsed().as_secs_f64();
        match self.total.filter(|_| done > 0) {
            Some(total) if done >= total => format!("{done}/{total} {noun}, {}", seconds(elapsed)),
            Some(total) => {
                let left = elapsed / done as f64 * total.saturating_sub(done) as f64;
                format!("{done}/{total} {noun}, about {} left", seconds(left))
            }
            None => format!("{done} {noun}, {}", seconds(elapsed)),
        }
    }

    /// Shows a text behind the bar.
    fn say(&self, text: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The proofs of a tree by the kinds of its nodes: the numbers of proofs made and being made.
#[derive(Debug, Default)]
struct Tree {
    kinds: BTreeMap<&'static str, Nodes>,
    retries: usize,
}

#[derive(Debug, Default)]
struct Nodes {
    made: usize,
    running: usize,
}

impl Tree {
    fn note(&mut self, event: &Event<'_>) {
        match event {
            Event::Planned { .. } => *self = Self::default(),
            Event::Started { task, .. } => self.kinds.entry(task.kind).or_default().running += 1,
            Event::Finished { task, .. } | Event::Postponed { task, .. } | Event::Retrying { task, .. } => {
                let nodes = self.kinds.entry(task.kind).or_default();
                nodes.running = nodes.running.saturating_sub(1);
                nodes.made += usize::from(matches!(event, Event::Finished { .. }));
                self.retries += usize::from(matches!(event, Event::Retrying { .. }));
            }
            _ => {}
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, Nodes { made, running }) in &self.kinds {
            write!(f, " | {kind} {made}")?;
            if *running > 0 {
                write!(f, " +{running}")?;
            }
        }
        if self.retries > 0 { write!(f, " | retries {}", self.retries) } else { Ok(()) }
    }
}

/// Progress of proving, batch by batch, and the span of every task.
pub(crate) struct Proofs {
    quiet: bool,
    counter: RefCell<Option<Counter>>,
    trace: Option<Trace>,
    started: RefCell<Vec<(usize, Running)>>,
    tree: RefCell<Tree>,
    picture: RefCell<Option<Picture>>,
    drawn: Cell<Option<Instant>>,
    metrics: Metrics,
    watch: RefCell<Option<Watch>>,
}

impl Proofs {
    /// Progress that also updates `metrics`, and `trace` if it is given.
    pub(crate) fn new(quiet: bool, trace: Option<Trace>, metrics: Metrics) -> Self {
        let (counter, started, tree, picture, drawn, watch) = Default::default();
        Self { quiet, counter, trace, started, tree, picture, drawn, metrics, watch }
    }

    /// Also shows these proofs as a tree: as a picture on a terminal, elsewhere as a line for each proof that is made.
    pub(crate) fn watch(&self, nodes: Vec<TreeNode>) {
        *self.picture.borrow_mut() = Some(Picture::new(nodes));
    }

    /// Records an event of the batch.
    pub(crate) fn event(&self, batch: &str, event: &Event<'_>) {
        self.note(batch, event);
        let mut watch = self.watch.borrow_mut();
        if let Event::Planned { .. } = event {
            *watch = None;
        }
        watch.get_or_insert_with(|| Watch::new(self.metrics.clone())).event(event);
        let mut tree = self.tree.borrow_mut();
        tree.note(event);
        let mut picture = self.picture.borrow_mut();
        let line = picture.as_mut().and_then(|picture| picture.note(event));
        let Some(counter) = &*self.counter.borrow() else { return };
        match (&*picture, line) {
            (None, _) => counter.say(tree.to_string()),
            (Some(_), Some(line)) if counter.plain => eprintln!("{line}"),
            (Some(picture), _) if counter.bar.is_some() => {
                let is_due = self.drawn.get().is_none_or(|drawn| drawn.elapsed() >= PICTURE_EVERY);
                if is_due {
                    self.drawn.set(Some(Instant::now()));
                    counter.say(format!("{tree}\n{}", drawing(picture)));
                }
            }
            _ => {}
        }
    }

    fn note(&self, batch: &str, event: &Event<'_>) {
        match event {
            Event::Planned { tasks, to_run } => {
                self.finish();
                self.started.borrow_mut().clear();
                if *to_run == 0 {
                    self.show();
                    return;
                }
                if !self.quiet {
                    eprintln!("batch {batch}: {} to make, {tasks} in all", count(*to_run, "proof"));
                }
                *self.counter.borrow_mut() = Some(Counter::new(self.quiet, "proofs", Some(*to_run as u64)));
            }
            Event::Started { id, .. } => {
                let running = self.trace.as_ref().map(|trace| (id.0, trace.begin(Level::Tasks)));
                self.started.borrow_mut().extend(running);
            }
            Event::Finished { id, task, bytes, .. } => {
                let mut started = self.started.borrow_mut();
                if let Some(at) = started.iter().position(|(n, _)| *n == id.0) {
                    let (_, running) = started.swap_remove(at);
                    let fields = [
                        ("batch", batch.into()),
                        ("proof", task.key.to_string().into()),
                        ("kind", task.kind.into()),
                        ("bytes", (*bytes).into()),
                    ];
                    running.end(task.kind, "task", Map::from_iter(fields.map(|(key, value)| (key.into(), value))));
                }
                if let Some(counter) = &*self.counter.borrow() {
                    counter.step();
                }
            }
            Event::Postponed { id, .. } => self.started.borrow_mut().retain(|(n, _)| *n != id.0),
            Event::Retrying { id, cause, attempt, .. } => {
                self.started.borrow_mut().retain(|(n, _)| *n != id.0);
                if !self.quiet {
                    eprintln!("batch {batch}: attempt {attempt} failed ({}), trying again", plain(cause));
                }
            }
            _ => {}
        }
    }

    /// Removes the bar, and leaves the picture.
    pub(crate) fn finish(&self) {
        if let Some(counter) = self.counter.borrow_mut().take() {
            counter.finish();
            self.show();
        }
    }

    /// Leaves the picture on the terminal.
    fn show(&self) {
        if let Some(picture) = &*self.picture.borrow()
            && !self.quiet
            && std::io::stderr().is_terminal()
        {
            eprintln!("{}", drawing(picture));
        }
    }
}

/// The picture in the size of the terminal, below a line of progress.
fn drawing(picture: &Picture) -> String {
    let (rows, columns) = console::Term::stderr().size();
    picture.lines(columns.into(), usize::from(rows).saturating_sub(2)).join("\n")
}

#[cfg(test)]
mod tests {
    use evergrove::jobs::{Key, Task, TaskId};

    use super::*;

    #[test]
    fn a_tree_is_shown_by_kinds() {
        let task = |kind| Task { key: Key([0; 32]), kind, priority: 0, deps: Vec::new() };
        let (bucket, merge) = (task("bucket"), task("merge"));
        let id = TaskId(0);
        let mut tree = Tree::default();
        for event in [
            Event::Planned { tasks: 3, to_run: 3 },
            Event::Started { id, task: &bucket, attempt: 1 },
            Event::Started { id, task: &bucket, attempt: 1 },
            Event::Finished { id, task: &bucket, bytes: 1, done: 1, by: None },
            Event::Retrying { id, task: &bucket, attempt: 1, cause: "" },
            Event::Started { id, task: &bucket, attempt: 2 },
            Event::Finished { id, task: &bucket, bytes: 1, done: 2, by: None },
            Event::Started { id, task: &merge, attempt: 1 },
            Event::Started { id, task: &bucket, attempt: 1 },
            Event::Postponed { id, task: &bucket },
        ] {
            tree.note(&event);
        }
        assert_eq!(tree.to_string(), " | bucket 2 | merge 0 +1 | retries 1");
        tree.note(&Event::Planned { tasks: 1, to_run: 1 });
        assert_eq!(tree.to_string(), "");
    }
}
