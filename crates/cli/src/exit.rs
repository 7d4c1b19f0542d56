//! Errors on the terminal, and exit codes.

use std::fmt;
use std::panic;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anyhow::Error;
use evergrove::commit::schema::{RowError, SchemaTextError};
#[cfg(feature = "queue")]
use evergrove::jobs::bullmq::QueueError;
use evergrove::jobs::objects::ObjectsError;
use evergrove::store::input::{IndexListError, InputError, RecordError, WriteError};
use evergrove::store::{ErrorClass, VerifyError};
use serde_json::json;

use crate::args::Output;
use crate::report::plain;

/// A mistake in the arguments or the input, with its remedy.
#[derive(Debug)]
pub(crate) struct Mistake {
    message: String,
    remedy: String,
    class: ErrorClass,
    /// The result, printed already, says it too.
    printed: bool,
}

impl Mistake {
    /// Exit code 2.
    pub(crate) fn usage(message: impl Into<String>, remedy: impl Into<String>) -> Error {
        Self { message: message.into(), remedy: remedy.into(), class: ErrorClass::Usage, printed: false }.into()
    }

    /// Exit code 1.
    pub(crate) fn refused(message: impl Into<String>, remedy: impl Into<String>) -> Error {
        Self { message: message.into(), remedy: remedy.into(), class: ErrorClass::Refused, printed: false }.into()
    }

    /// Exit code 4.
    #[cfg(feature = "queue")]
    pub(crate) fn proving(message: impl Into<String>, remedy: impl Into<String>) -> Error {
        Self { message: message.into(), remedy: remedy.into(), class: ErrorClass::Proving, printed: false }.into()
    }

    /// Exit code 3, after a result that tells the same to programs.
    pub(crate) fn damage(message: impl Into<String>, remedy: impl Into<String>) -> Error {
        Self { message: message.into(), remedy: remedy.into(), class: ErrorClass::Store, printed: true }.into()
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mistake {}

/// What the database of a store panicked about. It does that, and gives no error, where some pages are damaged.
static DAMAGE: Mutex<Option<String>> = Mutex::new(None);

/// From now on a panic of the database says nothing and is kept for [`damage`]; others are as they were.
pub(crate) fn keep_damage() {
    let others = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let file = info.location().map_or("", |at| at.file());
        let part = |p: &str| p == "redb" || p.starts_with("redb-");
        if file.split(['/', '\\']).any(part) {
            let what = info.payload_as_str().unwrap_or("unknown").to_owned();
            *DAMAGE.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
        } else {
            others(info);
        }
    }));
}

/// The error that a panic of the database stands for, if there was one.
pub(crate) fn damage() -> Option<Error> {
    let what = DAMAGE.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    let message = format!("the database of the store is damaged: {what}");
    let remedy = "restore it from a backup, or commit the table again".into();
    Some(Mistake { message, remedy, class: ErrorClass::Store, printed: false }.into())
}

/// What an error means to the one who reads it.
struct Explained {
    class: ErrorClass,
    remedy: Option<String>,
}

fn explain(error: &Error) -> Explained {
    let mut class = None;
    let mut remedy = None;
    for cause in error.chain() {
        let (c, r) = if let Some(e) = cause.downcast_ref::<Mistake>() {
            (Some(e.class), Some(e.remedy.clone()))
        } else if let Some(e) = cause.downcast_ref::<InputError>() {
            (Some(if e.is_io() { ErrorClass::Io } else { ErrorClass::Usage }), Some(e.remedy()))
        } else if let Some(e) = cause.downcast_ref::<IndexListError>() {
            (Some(if e.is_io() { ErrorClass::Io } else { ErrorClass::Usage }), None)
        } else if let Some(e) = cause.downcast_ref::<RecordError>() {
            (Some(ErrorClass::Usage), Some(e.remedy()))
        } else if let Some(e) = cause.downcast_ref::<RowError>() {
            (Some(ErrorClass::Usage), Some(e.remedy()))
        } else if cause.is::<SchemaTextError>() {
            (Some(ErrorClass::Usage), None)
        } else if let Some(e) = cause.downcast_ref::<WriteError>() {
            (Some(if matches!(e, WriteError::Io(_)) { ErrorClass::Io } else { ErrorClass::Usage }), None)
        } else if let Some(e) = cause.downcast_ref::<VerifyError>() {
            (Some(e.class()), None)
        } else if let Some(e) = cause.downcast_ref::<evergrove::Error>() {
            (Some(e.class()), facade_remedy(e))
        } else if let Some(e) = cause.downcast_ref::<evergrove::store::Error>() {
            (Some(e.class()), None)
        } else if let Some(class) = queue_class(cause) {
            (Some(class), None)
        } else if let Some(e) = cause.downcast_ref::<ObjectsError>() {
            let wrong = e.source.kind() == std::io::ErrorKind::InvalidInput;
            (Some(if wrong { ErrorClass::Usage } else { ErrorClass::Io }), None)
        } else if cause.is::<std::io::Error>() {
            (Some(ErrorClass::Io), None)
        } else {
            (None, None)
        };
        class = class.or(c);
        remedy = remedy.or(r);
    }
    Explained { class: class.unwrap_or(ErrorClass::Usage), remedy }
}

/// What to do about an error of the facade itself; those that it passes on are causes of their own.
fn facade_remedy(e: &evergrove::Error) -> Option<String> {
    match e {
        evergrove::Error::Memory { .. } => Some("raise --max-memory, or choose a profile with smaller circuits".into()),
        evergrove::Error::KeysDirectory { .. } => {
            Some("name a directory with --keys or EVERGROVE_KEYS: it is created if it is missing".into())
        }
        _ => None,
    }
}

/// A server that does not answer is a matter of input and output, another one can be chosen.
#[cfg(feature = "queue")]
fn queue_class(cause: &(dyn std::error::Error + 'static)) -> Option<ErrorClass> {
    Some(match cause.downcast_ref::<QueueError>()? {
        QueueError::Call { .. } | QueueError::Thread(_) => ErrorClass::Io,
        _ => ErrorClass::Usage,
    })
}

/// This build has no queue.
#[cfg(not(feature = "queue"))]
fn queue_class(_: &(dyn std::error::Error + 'static)) -> Option<ErrorClass> {
    None
}

/// The messages of a chain, without those that the one before has said already.
fn messages(error: &Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let next = cause.to_string();
        if text.is_empty() {
            text = next;
        } else if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
    }
    text
}

/// Prints what the parser of the command line says, help or an error, and gives the exit code. It has no arguments yet to read the
/// form of the output from.
pub(crate) fn parser(said: &clap::Error) -> ExitCode {
    let other_build = crate::missing::command(said);
    match &other_build {
        Some(message) => eprintln!("error: {message}\nhelp: {}", crate::missing::REMEDY),
        None => drop(said.print()),
    }
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let json =
        args.windows(2).any(|w| w[0] == "--format" && w[1] == "json") || args.iter().any(|a| a == "--format=json");
    let code = said.exit_code();
    if said.use_stderr() && json {
        let text = said.to_string();
        let message = text.split("\n\n").next().unwrap_or_default();
        let message = message.strip_prefix("error: ").unwrap_or(message);
        let (message, help) = match &other_build {
            Some(message) => (message.as_str(), crate::missing::REMEDY),
            None => (message, "see --help"),
        };
        // The exit code says it too.
        let _ = crate::report::line(&json!({ "error": message, "help": help, "exit_code": code }));
    }
    ExitCode::from(u8::try_from(code).unwrap_or(ErrorClass::Usage as u8))
}

/// Prints an error and gives its exit code.
pub(crate) fn report(error: &Error, format: Output) -> ExitCode {
    let Explained { class, remedy } = explain(error);
    let message = messages(error);
    let code = class as u8;
    if let Some(e) = error.chain().find_map(|c| c.downcast_ref::<std::io::Error>())
        && e.kind() == std::io::ErrorKind::BrokenPipe
    {
        // Whoever read the output has seen enough.
        return ExitCode::from(code);
    }
    // A cause may come from the queue or from a file.
    let shown: Vec<_> = message.lines().map(plain).collect();
    eprintln!("error: {}", shown.join("\n"));
    if let Some(remedy) = &remedy {
        eprintln!("help: {remedy}");
    }
    let printed = error.downcast_ref::<Mistake>().is_some_and(|m| m.printed);
    if format == Output::Json && !printed {
        let refused = class == ErrorClass::Refused;
        let mut object = json!({ "error": message, "help": remedy, "exit_code": code });
        if refused {
            object["accepted"] = json!(false);
        }
        // The exit code says it too.
        let _ = crate::report::line(&object);
    }
    ExitCode::from(code)
}
