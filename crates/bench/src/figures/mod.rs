//! The papers' figures with our measurements: SVG, PNG and CSV.

mod reckle;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    item: Item,
}

#[derive(clap::Subcommand)]
enum Item {
    /// Fig. 11 of the Reckle trees paper (aggregate, verify, update by batch size), the table of one update, r, h and q.
    Reckle(reckle::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    match &args.item {
        Item::Reckle(args) => reckle::run(args),
    }
}
