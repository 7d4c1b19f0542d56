//! Compares our formulas with ethereum/soundcalc's figures, and prints our parameters in its format.
//!
//! ```text
//! cargo run -p evergrove-grove --example soundcalc                      # the worst difference of each system
//! cargo run -p evergrove-grove --example soundcalc -- figures Evergrove # all figures of systems with this in their names
//! cargo run -p evergrove-grove --example soundcalc -- terms             # the error of each step of our proofs
//! cargo run -p evergrove-grove --example soundcalc -- toml grove-128    # a configuration: plonky2, grove-100, grove-128
//! ```

mod export;
mod systems;
mod terms;

use std::process::ExitCode;

const FILES: [&str; 2] = [
    include_str!("../../../../vectors/soundcalc/systems.json"),
    include_str!("../../../../vectors/soundcalc/evergrove.json"),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => compare(),
        ["figures", name] => figures(name),
        ["terms"] => terms::table().iter().for_each(|row| println!("{row}")),
        ["toml", name] => match export::all().into_iter().find(|(configuration, _)| *configuration == name) {
            Some((_, text)) => print!("{text}"),
            None => {
                eprintln!("unknown configuration {name}: expected plonky2, grove-100 or grove-128");
                return ExitCode::FAILURE;
            }
        },
        _ => {
            eprintln!("usage: soundcalc [figures SYSTEM | terms | toml CONFIGURATION]");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn compare() {
    println!("{:22} {:>8} {:>8} {:>16}", "system", "circuits", "figures", "worst difference");
    for system in FILES.iter().flat_map(|file| systems::read(file)) {
        let figures = systems::figures(&system);
        let circuits = system["circuits"].as_array().map_or(0, Vec::len);
        let name = system["name"].as_str().unwrap_or_default();
        println!("{name:22} {circuits:8} {:8} {:16.5}", figures.len(), systems::worst(&figures));
    }
}

fn figures(name: &str) {
    println!("{:22} {:6} {:24} {:>8} {:>10} {:>10}", "circuit", "regime", "term", "printed", "soundcalc", "ours");
    for system in FILES.iter().flat_map(|file| systems::read(file)) {
        if !system["name"].as_str().unwrap_or_default().contains(name) {
            continue;
        }
        for figure in systems::figures(&system) {
            let systems::Figure { circuit, regime, term, printed, bits, ours } = figure;
            println!("{circuit:22} {regime:6} {term:24} {printed:8} {bits:10.3} {ours:10.3}");
        }
    }
}
