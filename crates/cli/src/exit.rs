//! Errors on the terminal, and exit codes.

use std::process::ExitCode;

use anyhow::Error;
use evergrove::store::{ErrorClass, in_database};
use serde_json::json;

use crate::args::Output;
use crate::command_error::CommandError;
use crate::report::plain;

pub(crate) use crate::command_error::CliError;

/// The exit code by which shells report a program that a signal ended.
pub(crate) const INTERRUPTED: i32 = 130;

/// Hides panics that the library catches in its database and returns as errors.
pub(crate) fn hide_caught_panics() {
    let show = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !in_database() {
            show(info);
        }
    }));
}

/// Prints the message of the command line's parser, help or an error, and returns the exit code. Nothing is parsed yet,
/// so the form of the output comes from the raw arguments.
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
        // A failed write is ignored: the exit code also shows the error.
        let _ = crate::report::line(&json!({ "error": message, "help": help, "exit_code": code }));
    }
    ExitCode::from(u8::try_from(code).unwrap_or(ErrorClass::Usage as u8))
}

/// Prints an error and returns its exit code.
pub(crate) fn report(error: &Error, format: Output) -> ExitCode {
    let CommandError { class, message, remedy, printed } = CommandError::of(error);
    let code = class as u8;
    if let Some(e) = error.chain().find_map(|c| c.downcast_ref::<std::io::Error>())
        && e.kind() == std::io::ErrorKind::BrokenPipe
    {
        // The reader of the output has closed it, so nothing is missing.
        return ExitCode::from(code);
    }
    // A cause may contain text from the queue or from a file.
    let shown: Vec<_> = message.lines().map(plain).collect();
    eprintln!("error: {}", shown.join("\n"));
    if let Some(remedy) = &remedy {
        eprintln!("help: {}", plain(remedy));
    }
    if format == Output::Json && !printed {
        let mut object = json!({ "error": message, "help": remedy, "exit_code": code });
        if class == ErrorClass::Refused {
            object["accepted"] = json!(false);
        }
        // A failed write is ignored: the exit code also shows the error.
        let _ = crate::report::line(&object);
    }
    ExitCode::from(code)
}
