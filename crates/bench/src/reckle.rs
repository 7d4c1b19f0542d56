//! The main job at the paper's size.
#[derive(clap::Args)]
pub(crate) struct Args {}
pub(crate) fn run(_: &Args) -> anyhow::Result<()> { crate::memory::resident(); Ok(()) }
