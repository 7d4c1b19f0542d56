//! Which demands of a circuit alone refuse some witness: a circuit without one of these lines accepts it. The lists of
//! all demands are snapshots of the tests that use this module, and `docs/security.md` has their counts.
//!
//! A *lie* is a witness with faults. The strongest lies state something else than the data say: a false statement of a
//! circuit of batches, another list of edges for a piece. A lie that keeps the statement shows only that the line is not
//! redundant. Lists of arguments have the lines that other lines make redundant.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use evergrove_multilinear::circuit::{Circuit, Demand, Fault, Witness as Columns};
use evergrove_primitives::Goldilocks;
use evergrove_primitives::field::Quadratic;
use evergrove_verifier::tables::{SET, TUPLE, Table, WORD, tuple};
use rayon::prelude::*;

const ZERO: Goldilocks = Goldilocks::ZERO;
const ONE: Goldilocks = Goldilocks::ONE;

/// What a prover chooses, by rows.
pub type Choices = HashMap<u32, Goldilocks>;

/// A demand that alone refuses a lie, and whether the lie states something else than the data.
pub type Found = (Demand, bool);

/// What a prover changes in columns.
pub type Change<'a> = Box<dyn Fn(&mut Columns) + 'a>;

/// True if free data, with the columns for them, state something else.
pub type Other = Box<dyn Fn(&Subject, &[Goldilocks], &Columns) -> bool + Send + Sync>;

/// A circuit with columns without faults.
pub struct Subject {
    /// The circuit.
    pub circuit: Circuit<Quadratic>,
    /// The columns without faults.
    pub sound: Columns,
    /// The free data of the columns without faults.
    pub free: Vec<Goldilocks>,
    /// What a lie is measured by.
    pub other: Other,
}

/// A word that was expected, and the word that is there instead.
struct Repair {
    old: [Goldilocks; WORD],
    new: [Goldilocks; WORD],
    /// True for a word that was looked up, false for one that was taken from a set.
    looked_up: bool,
}

impl Subject {
    /// A circuit with the columns for honest free data.
    ///
    /// # Panics
    /// If these columns have faults.
    pub fn new(
        circuit: Circuit<Quadratic>,
        free: Vec<Goldilocks>,
        other: impl Fn(&Self, &[Goldilocks], &Columns) -> bool + Send + Sync + 'static,
    ) -> Self {
        let sound = circuit.witness(&free).unwrap();
        let faults = sound.faults(&circuit);
        assert_eq!(faults.len(), 0, "{:?}", &faults[..faults.len().min(8)]);
        Self { circuit, sound, free, other: Box::new(other) }
    }
    /// The columns for free data that are cut or padded to the length that the circuit takes.
    pub fn columns(&self, free: &[Goldilocks], chosen: &Choices) -> Columns {
        let mut free = free.to_vec();
        loop {
            match self.circuit.witness_with(&free, chosen) {
                Ok(columns) => return columns,
                Err(e) => free.resize(e.taken, ZERO),
            }
        }
    }
    /// Words that were expected and the words that are there instead.
    fn repairs(&self, columns: &Columns, faults: &[Fault]) -> Vec<Repair> {
        let word = |tuple: &[Goldilocks; TUPLE]| -> [Goldilocks; WORD] { tuple[3..].try_into().unwrap() };
        let tuples = faults.iter().filter_map(|fault| match fault {
            Fault::Tuple { tuple, count } if tuple[4] != ZERO => Some((tuple, *count)),
            _ => None,
        });
        let tuples: Vec<_> = tuples.collect();
        let mut all = Vec::new();
        for (taken, _) in tuples.iter().filter(|(tuple, count)| tuple[0] == SET && *count == -ONE) {
            let given = tuples.iter().find(|(tuple, count)| tuple[..3] == taken[..3] && *count == ONE);
            all.extend(given.map(|(given, _)| Repair { old: word(taken), new: word(given), looked_up: false }));
        }
        for row in 0..self.circuit.rows(Table::Tuple) {
            let fixed = self.circuit.fixed(Table::Tuple, row);
            if fixed[tuple::TIMES] != ONE || fixed[tuple::FREE] != ONE {
                continue;
            }
            let own = columns.row(self.circuit.tables(), Table::Tuple, row);
            for (tuple, _) in &tuples {
                if tuple[0] == fixed[tuple::SPACE] && tuple[1..3] == own[..2] {
                    let new = own[2..2 + WORD].try_into().unwrap();
                    all.push(Repair { old: word(tuple), new, looked_up: true });
                }
            }
        }
        all
    }
    /// The choices of an honest prover.
    ///
    /// # Panics
    /// If the circuit takes another number of free elements.
    pub fn honest(&self, free: &[Goldilocks]) -> Vec<(u32, Goldilocks)> {
        let columns = self.circuit.witness(free).unwrap();
        self.circuit.choices().map(|row| (row, self.count(&columns, row))).collect()
    }
    /// The count of a row of tuples: what the prover chooses there.
    pub fn count(&self, columns: &Columns, row: u32) -> Goldilocks {
        columns.row(self.circuit.tables(), Table::Tuple, row as usize)[tuple::COUNT]
    }
    /// The place in the free data of what the prover chooses in a row of tuples.
    ///
    /// # Panics
    /// If the circuit takes another number of free elements.
    pub fn place(&self, row: u32) -> usize {
        let numbers: Vec<Goldilocks> = (0..self.free.len() as u64).map(Goldilocks::new).collect();
        self.count(&self.circuit.witness(&numbers).unwrap(), row).as_u64() as usize
    }
    /// The rows of the demands of lines with this text behind the name of their file.
    ///
    /// # Panics
    /// If there are none.
    pub fn rows(&self, text: &str) -> Vec<u32> {
        let rows = self.circuit.demands().iter().filter(|(.., demand)| named(demand).contains(text));
        let rows: Vec<u32> = rows.map(|(_, row, _)| *row).collect();
        assert!(!rows.is_empty(), "{text}");
        rows
    }
    /// The first of these rows.
    ///
    /// # Panics
    /// If there are none.
    pub fn row(&self, text: &str) -> u32 {
        self.rows(text)[0]
    }
}

/// One lie.
pub struct Lie<'a> {
    /// The circuit.
    pub subject: &'a Subject,
    /// The free data.
    pub free: Vec<Goldilocks>,
    /// What the prover chooses in rows of tuples, instead of what the free data say.
    pub chosen: Choices,
    /// Places of the free data that do not follow.
    pub places: BTreeSet<usize>,
    /// What the prover changes in the columns at last.
    pub change: Option<Change<'a>>,
    /// True if the lie states what the data say.
    pub true_of_data: bool,
}

impl<'a> Lie<'a> {
    /// No lie yet: the honest free data.
    pub fn new(subject: &'a Subject) -> Self {
        Self {
            subject,
            free: subject.free.clone(),
            chosen: Choices::new(),
            places: BTreeSet::new(),
            change: None,
            true_of_data: false,
        }
    }
    /// Chooses an element in a row of tuples.
    pub fn choose(mut self, row: u32, x: Goldilocks) -> Self {
        self.chosen.insert(row, x);
        self
    }
    /// Chooses small numbers in a row and the rows behind it.
    pub fn choose_all(self, row: u32, numbers: &[i64]) -> Self {
        numbers.iter().zip(row..).fold(self, |lie, (&x, row)| lie.choose(row, integer(x)))
    }
    /// Changes elements of the free data, which stay as they are changed.
    pub fn set(mut self, at: usize, elements: &[Goldilocks]) -> Self {
        self.free[at..at + elements.len()].copy_from_slice(elements);
        self.places.extend(at..at + elements.len());
        self
    }
    /// Changes columns when all rows are filled.
    pub fn change(self, change: impl Fn(&mut Columns) + 'a) -> Self {
        Self { change: Some(Box::new(change)), ..self }
    }
    /// Marks a lie that states what the data say.
    pub fn true_of_data(self) -> Self {
        Self { true_of_data: true, ..self }
    }
    fn columns(&self, free: &[Goldilocks]) -> Columns {
        let mut columns = self.subject.columns(free, &self.chosen);
        self.change.iter().for_each(|change| change(&mut columns));
        columns
    }
    /// The demands that alone refuse the lie, where the prover also makes everything else follow: words that were given
    /// to a set and hashes that were looked up are changed wherever they are in the free data. The places of the lie
    /// stay as they are, and what it looks up is not changed elsewhere.
    pub fn alone(&self) -> Vec<Found> {
        let Self { subject, places: lies, .. } = self;
        let mut free = self.free.clone();
        for _ in 0..6 {
            let columns = self.columns(&free);
            let faults = columns.faults_beside(&subject.circuit, &subject.sound);
            if faults.is_empty() || faults.len() > 60 {
                break;
            }
            let alone = columns.refused_only_by(&subject.circuit, &subject.sound);
            if !alone.is_empty() {
                let other = !self.true_of_data && (subject.other)(subject, &free, &columns);
                return alone.into_iter().map(|demand| (demand, other)).collect();
            }
            let before = free.clone();
            for Repair { old, new, looked_up } in subject.repairs(&columns, &faults) {
                let places = before.windows(WORD).enumerate().filter(|(_, own)| **own == old).map(|(at, _)| at);
                let (of_lie, others): (Vec<_>, Vec<_>) =
                    places.partition(|&at| lies.range(at..at + WORD).next().is_some());
                if !looked_up || of_lie.is_empty() {
                    others.into_iter().for_each(|at| free[at..at + WORD].copy_from_slice(&new));
                }
            }
            if free == before {
                break;
            }
        }
        Vec::new()
    }
    /// Demands that the line with this text alone refuses the lie, and that the lie states something else unless it is
    /// marked.
    pub fn refused_by(self, report: &mut Report, text: &str) {
        let found = self.alone();
        if !found.iter().any(|(demand, other)| named(demand).contains(text) && *other != self.true_of_data) {
            let Self { subject, free, .. } = &self;
            let faults = self.columns(free).faults_beside(&subject.circuit, &subject.sound);
            let found: Vec<String> = found.iter().map(|(demand, _)| named(demand)).collect();
            report.failed.push(format!("{text}: {found:?}, {:?}", &faults[..faults.len().min(8)]));
        }
        report.add(found);
    }
}

/// A small integer as an element.
pub fn integer(x: i64) -> Goldilocks {
    if x < 0 { -Goldilocks::new(x.unsigned_abs()) } else { Goldilocks::new(x as u64) }
}

/// The line of a demand.
fn source(demand: &Demand) -> String {
    static FILES: LazyLock<Mutex<HashMap<&str, Vec<String>>>> = LazyLock::new(Mutex::default);
    let mut files = FILES.lock().unwrap();
    let lines = files.entry(demand.line.file()).or_insert_with(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(demand.line.file());
        fs::read_to_string(path).unwrap().lines().map(|line| line.trim().to_string()).collect()
    });
    lines[demand.line.line() as usize - 1].clone()
}

/// The line of a demand behind the name of its file and what it asks for.
pub fn named(demand: &Demand) -> String {
    let path = Path::new(demand.line.file());
    // A file `mod.rs` has the name of its folder.
    let module = if path.ends_with("mod.rs") { path.parent().unwrap() } else { path };
    format!("{}.rs: {:?}: {}", module.file_stem().unwrap().to_string_lossy(), demand.asked, source(demand))
}

/// How it is known that a demand is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    /// It alone refuses some lie that states something else than the data.
    Needed,
    /// That something is a bit which is also the count of a row of tuples: the row demands the same.
    Count,
    /// One side of a set: honest witnesses are refused without it.
    Side,
    /// Without it nothing else can be stated: see the list of arguments.
    Argued,
    /// It alone refuses some lie, which states what the data say.
    Alone,
    /// No lie is known that it alone refuses.
    Open,
}

/// The demands of all circuits so far, and those that a lie needs.
#[derive(Default)]
pub struct Report {
    /// Lines that other lines make redundant, as [`named`] writes them, with the reason.
    argued: &'static [(&'static str, &'static str)],
    all: BTreeSet<Demand>,
    /// Demands that alone refuse a lie; true if one of the lies states something else than the data.
    found: BTreeMap<Demand, bool>,
    /// Demands that in some circuit no row demands by a count.
    uncounted: BTreeSet<Demand>,
    /// Without these demands honest witnesses are refused.
    sets: BTreeSet<Demand>,
    /// Lies that the line for which they were made does not alone refuse.
    pub failed: Vec<String>,
}

impl Report {
    /// No demands yet, and the arguments.
    pub fn new(argued: &'static [(&'static str, &'static str)]) -> Self {
        Self { argued, ..Self::default() }
    }
    /// Adds the demands of a circuit.
    pub fn of(&mut self, subject: &Subject) {
        self.of_file(subject, "");
    }
    /// Adds the demands of a circuit whose file has this in its path.
    pub fn of_file(&mut self, subject: &Subject, path: &str) {
        // Lines of tests that compare what a slot offers are not part of a circuit.
        let own = |demand: &Demand| !demand.line.file().ends_with("tests.rs") && demand.line.file().contains(path);
        let all = subject.circuit.demands().iter().map(|(.., demand)| *demand);
        let all: BTreeSet<Demand> = all.filter(own).collect();
        self.uncounted.extend(&all - &subject.circuit.bits_of_counts());
        self.sets.extend(subject.sound.sets_without(&subject.circuit));
        self.all.extend(all);
    }
    /// Adds demands that alone refuse a lie.
    pub fn add(&mut self, found: impl IntoIterator<Item = Found>) {
        for (demand, other) in found {
            *self.found.entry(demand).or_default() |= other;
        }
    }
    /// Adds the demands that alone refuse one changed element of the free data.
    pub fn search(&mut self, subject: &Subject) {
        let free = &subject.free;
        let lies: Vec<_> = (0..free.len()).flat_map(|at| others(free[at]).into_iter().map(move |x| (at, x))).collect();
        let found = lies.into_par_iter().flat_map_iter(|(at, x)| Lie::new(subject).set(at, &[x]).alone());
        self.add(found.collect::<Vec<_>>());
    }
    fn status(&self, demand: &Demand) -> Status {
        let found = self.found.get(demand);
        if found == Some(&true) {
            Status::Needed
        } else if !self.uncounted.contains(demand) {
            Status::Count
        } else if self.sets.contains(demand) {
            Status::Side
        } else if self.argued.iter().any(|(line, _)| *line == named(demand)) {
            Status::Argued
        } else if found.is_some() {
            Status::Alone
        } else {
            Status::Open
        }
    }
    /// Demands that each lie was refused by the line for which it was made, and that each argument is about one demand.
    ///
    /// # Panics
    /// If this does not hold.
    pub fn check(&self) {
        assert!(self.failed.is_empty(), "{:#?}", self.failed);
        for (line, _) in self.argued {
            let argued = self.all.iter().filter(|demand| self.status(demand) == Status::Argued);
            assert_eq!(argued.filter(|demand| named(demand) == *line).count(), 1, "one argued demand: {line}");
        }
    }
    /// How many demands stand in each way, and the line of each demand.
    pub fn text(&self) -> String {
        let mut lines: BTreeMap<(Status, String), usize> = BTreeMap::new();
        for demand in &self.all {
            let line = format!("{}: {:?}: {}", demand.line.file(), demand.asked, source(demand));
            *lines.entry((self.status(demand), line)).or_default() += 1;
        }
        let all = [Status::Needed, Status::Count, Status::Side, Status::Argued, Status::Alone, Status::Open];
        let count = |status: Status| self.all.iter().filter(|demand| self.status(demand) == status).count();
        let mut text: String = all.iter().map(|&status| format!("{status:?}: {}\n", count(status))).collect();
        for ((status, line), count) in lines {
            text +=
                &format!("{status:?}: {line}{}\n", if count > 1 { format!(" ({count} times)") } else { String::new() });
        }
        text
    }
}

/// Other values of an element.
pub fn others(x: Goldilocks) -> BTreeSet<Goldilocks> {
    [x + ONE, ONE - x, Goldilocks::new(2)].into_iter().filter(|other| *other != x).collect()
}
