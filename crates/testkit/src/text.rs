//! Tasks that join texts, for engines with remote workers: [`TextTasks`] for the leader and [`TextWork`] for workers.
//!
//! The result of task n is `n(..)`, with the results of its inputs between the parentheses. So the root's result shows
//! the whole graph.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use evergrove_jobs::{BadInput, BadResult, Job, Runner, Task, TaskFailure, TaskGraph, TaskId, Work};

/// What a task does in addition to its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deed {
    /// Nothing.
    #[default]
    None,
    /// It fails permanently.
    Fail,
    /// It fails with a transient error at every attempt.
    FailAgain,
    /// It ends the process of its worker at every attempt.
    Abort,
    /// It panics.
    Panic,
}

impl Deed {
    const ALL: [Self; 5] = [Self::None, Self::Fail, Self::FailAgain, Self::Abort, Self::Panic];
}

/// The runner of a leader whose tasks are texts.
#[derive(Clone, Debug, Default)]
pub struct TextTasks {
    /// How long each task takes.
    pub time: Duration,
    /// Tasks with a deed.
    pub deeds: HashMap<TaskId, Deed>,
}

impl TextTasks {
    /// Tasks that each take `time`.
    pub fn new(time: Duration) -> Self {
        Self { time, deeds: HashMap::new() }
    }

    /// Gives a task a deed.
    pub fn with(mut self, task: usize, deed: Deed) -> Self {
        self.deeds.insert(TaskId(task), deed);
        self
    }
}

impl Runner for TextTasks {
    fn run(&self, id: TaskId, task: &Task, inputs: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure> {
        let (key, kind, payload) = (task.key, task.kind.into(), self.payload(id, task)?);
        let job = Job { key, kind, payload, inputs: Vec::new() };
        TextWork::default().execute(&job, inputs)
    }

    fn payload(&self, id: TaskId, task: &Task) -> Result<Vec<u8>, TaskFailure> {
        let deed = self.deeds.get(&id).copied().unwrap_or_default() as usize;
        Ok(format!("{} {} {deed} {}", id.0, self.time.as_micros(), task.deps.len()).into_bytes())
    }

    fn check(&self, id: TaskId, _: &Task, bytes: &[u8]) -> Result<(), TaskFailure> {
        judge(bytes, Some(id.0)).map_err(TaskFailure::permanent)
    }
}

/// The work of workers whose tasks are texts.
#[derive(Clone, Debug, Default)]
pub struct TextWork {
    /// A file to which each execution appends a line with its task.
    pub log: Option<PathBuf>,
}

impl Work for TextWork {
    fn admit(&self, job: &Job) -> Result<(), TaskFailure> {
        let (named, wanted) = (job.inputs.len(), read(job)?.inputs);
        if named != wanted {
            return Err(TaskFailure::permanent(format!("{named} inputs of a text that joins {wanted}")));
        }
        Ok(())
    }

    fn execute(&self, job: &Job, inputs: &[Arc<[u8]>]) -> Result<Vec<u8>, TaskFailure> {
        let Asked { id, time, deed, .. } = read(job)?;
        for (index, input) in inputs.iter().enumerate() {
            judge(input, None).map_err(|reason| TaskFailure::transient(BadInput { index, reason }))?;
        }
        if let Some(log) = &self.log {
            let file = OpenOptions::new().create(true).append(true).open(log);
            file.and_then(|mut f| f.write_all(format!("{id}\n").as_bytes())).map_err(TaskFailure::permanent)?;
        }
        match deed {
            Deed::None => {}
            Deed::Fail => return Err(TaskFailure::permanent(format!("task {id} fails for good"))),
            Deed::FailAgain => return Err(TaskFailure::transient(format!("task {id} fails again"))),
            Deed::Abort => std::process::abort(),
            Deed::Panic => panic!("task {id} panics"),
        }
        std::thread::sleep(time);
        Ok(text(id, inputs))
    }

    fn check(&self, job: &Job, bytes: &[u8]) -> Result<(), TaskFailure> {
        judge(bytes, Some(read(job)?.id)).map_err(|reason| TaskFailure::permanent(BadResult { reason }))
    }
}

/// The result that a task must have.
pub fn expected(graph: &TaskGraph, id: TaskId) -> Vec<u8> {
    let inputs: Vec<_> = graph.task(id).deps.iter().map(|d| expected(graph, *d)).collect();
    text(id.0, &inputs)
}

fn text(id: usize, inputs: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut text = format!("{id}(").into_bytes();
    inputs.iter().for_each(|i| text.extend_from_slice(i.as_ref()));
    text.push(b')');
    text
}

/// The contents of a payload.
struct Asked {
    id: usize,
    time: Duration,
    deed: Deed,
    inputs: usize,
}

fn read(job: &Job) -> Result<Asked, TaskFailure> {
    let text = std::str::from_utf8(&job.payload).map_err(TaskFailure::permanent)?;
    let numbers: Vec<u64> = text.split(' ').map_while(|n| n.parse().ok()).collect();
    let [id, micros, deed, inputs] = numbers[..] else {
        return Err(TaskFailure::permanent(format!("{text:?} is not a payload of texts")));
    };
    let deed = Deed::ALL.get(deed as usize).copied().unwrap_or_default();
    Ok(Asked { id: id as usize, time: Duration::from_micros(micros), deed, inputs: inputs as usize })
}

/// Accepts the text of a result, of task `wanted` if given. The error says what is wrong with it.
fn judge(bytes: &[u8], wanted: Option<usize>) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
    let found = text.split('(').next().and_then(|n| n.parse().ok());
    let mut depth = 0_i64;
    let mut whole = true;
    for c in text.chars() {
        whole &= depth > 0 || c.is_ascii_digit() || c == '(';
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            c => whole &= c.is_ascii_digit(),
        }
        whole &= depth >= 0;
    }
    let shown = &text[..text.floor_char_boundary(40)];
    if found.is_none() || depth != 0 || !whole || !text.ends_with(')') {
        return Err(format!("{shown:?} is not a result of texts"));
    }
    match wanted {
        Some(wanted) if found != Some(wanted) => Err(format!("{shown:?} is not the result of task {wanted}")),
        _ => Ok(()),
    }
}
