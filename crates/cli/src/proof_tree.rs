//! The proofs of a batch as a tree on the terminal, for `prove --watch`.

use std::collections::HashMap;

use evergrove::jobs::Event;
use evergrove::store::TreeNode;

/// The most proofs that are shown. Of more, those nearest to the root are.
pub(crate) const SHOWN: usize = 1 << 16;

/// The widest picture of a proof at the bottom, in columns.
const WIDEST: usize = 8;

/// The columns before the picture: a number of proofs and their kind.
const LABEL: usize = 14;

/// Says what the characters mean.
const LEGEND: &str = "█ proven  ▒ being proven  ░ to prove  ─ reused";

/// States of a proof. Where several proofs share a column, it shows the greatest of their states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Reused,
    Proven,
    Waiting,
    Proving,
}

impl State {
    fn symbol(self) -> char {
        match self {
            Self::Reused => '─',
            Self::Proven => '█',
            Self::Waiting => '░',
            Self::Proving => '▒',
        }
    }
}

/// The proofs of a batch, nearest to the root first, with their states in this run.
#[derive(Debug)]
pub(crate) struct Picture {
    nodes: Vec<TreeNode>,
    states: Vec<State>,
    /// The index of a proof in `nodes`, by its number.
    by_number: HashMap<usize, usize>,
    /// The proofs without a shown child that are below each proof, numbered from left to right: first, and one after the last.
    spans: Vec<(usize, usize)>,
    bottom: usize,
}

impl Picture {
    /// The proofs of a tree, in the order in which it gives them.
    pub(crate) fn new(nodes: Vec<TreeNode>) -> Self {
        let by_number: HashMap<usize, usize> = nodes.iter().enumerate().map(|(i, node)| (node.number, i)).collect();
        let mut spans: Vec<Option<(usize, usize)>> = vec![None; nodes.len()];
        let mut bottom = 0;
        // Children come before their parents, left before right.
        for (i, node) in nodes.iter().enumerate() {
            let (first, end) = *spans[i].get_or_insert_with(|| {
                bottom += 1;
                (bottom - 1, bottom)
            });
            if let Some(parent) = node.parent.and_then(|parent| by_number.get(&parent)) {
                let span = spans[*parent].get_or_insert((first, end));
                span.1 = end;
            }
        }
        let state = |node: &TreeNode| if node.is_stored { State::Reused } else { State::Waiting };
        let states = nodes.iter().map(state).collect();
        Self { states, by_number, spans: spans.into_iter().flatten().collect(), bottom, nodes }
    }

    /// Notes an event, and returns a line about the proof that it finishes.
    pub(crate) fn note(&mut self, event: &Event<'_>) -> Option<String> {
        let (id, state) = match event {
            Event::Started { id, .. } => (id, State::Proving),
            Event::Finished { id, .. } => (id, State::Proven),
            Event::Retrying { id, .. } | Event::Postponed { id, .. } | Event::Failed { id, .. } => (id, State::Waiting),
            _ => return None,
        };
        let at = *self.by_number.get(&id.0)?;
        self.states[at] = state;
        let Event::Finished { by, .. } = event else { return None };
        let TreeNode { kind, base, height, .. } = self.nodes[at];
        let last = base + ((1_u64 << height) - 1);
        let by = by.map(|by| format!(" by {}", crate::report::plain(by))).unwrap_or_default();
        Some(format!("{} of positions {base} to {last}: proven{by}", kind.name()))
    }

    /// The picture, and what its characters mean: at most `rows` lines of at most `columns` characters.
    pub(crate) fn lines(&self, columns: usize, rows: usize) -> Vec<String> {
        let depths = self.nodes.iter().map(|node| node.depth as usize + 1).max().unwrap_or(0);
        let mut levels: Vec<Vec<usize>> = vec![Vec::new(); depths.min(rows.saturating_sub(1))];
        for (i, node) in self.nodes.iter().enumerate() {
            if let Some(level) = levels.get_mut(node.depth as usize) {
                level.push(i);
            }
        }
        let room = columns.saturating_sub(LABEL).max(1);
        let width = if self.bottom * WIDEST <= room { self.bottom * WIDEST } else { room };
        let mut lines: Vec<String> = levels.iter().map(|level| self.line(level, width)).collect();
        lines.push(LEGEND.chars().take(columns).collect());
        lines
    }

    fn line(&self, level: &[usize], width: usize) -> String {
        let mut shown: Vec<Option<State>> = vec![None; width];
        for &i in level {
            let (first, end) = self.spans[i];
            let from = first * width / self.bottom;
            let to = (end * width / self.bottom).max(from + 1);
            // A gap separates neighbours.
            let to = if to - from > 2 { to - 1 } else { to };
            for place in &mut shown[from..to] {
                *place = (*place).max(Some(self.states[i]));
            }
        }
        let picture: String = shown.into_iter().map(|state| state.map_or(' ', State::symbol)).collect();
        let kind = level.first().map_or("", |&i| self.nodes[i].kind.name());
        format!("{:>5} {kind:<8}{}", level.len(), picture.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use evergrove::jobs::{Key, Task, TaskId};
    use evergrove::proof::NodeKind;

    use super::*;

    /// Four buckets, the first two below a merge, and the wrap: numbered as plans number them.
    fn picture() -> Picture {
        let node = |number, parent, depth, kind, height, base, is_stored| TreeNode {
            number,
            parent,
            depth,
            kind,
            height,
            base,
            members: 1,
            is_stored,
        };
        let nodes = vec![
            node(0, Some(2), 4, NodeKind::Bucket, 7, 0, true),
            node(1, Some(2), 4, NodeKind::Bucket, 7, 128, false),
            node(2, Some(4), 3, NodeKind::Merge, 8, 0, false),
            node(3, Some(4), 3, NodeKind::Bucket, 7, 256, true),
            node(4, Some(6), 2, NodeKind::Merge, 9, 0, false),
            node(5, Some(6), 2, NodeKind::Bucket, 7, 512, true),
            node(6, Some(7), 1, NodeKind::Merge, 10, 0, false),
            node(7, None, 0, NodeKind::Wrap, 10, 0, false),
        ];
        Picture::new(nodes)
    }

    #[test]
    fn a_tree_is_drawn_from_the_root_down() {
        let mut picture = picture();
        let task = Task { key: Key([0; 32]), kind: "bucket", priority: 0, deps: Vec::new() };
        let done = Event::Finished { id: TaskId(1), task: &task, bytes: 1, done: 1, by: Some("w1") };
        assert_eq!(picture.note(&done).unwrap(), "bucket of positions 128 to 255: proven by w1");
        assert_eq!(picture.note(&Event::Started { id: TaskId(2), task: &task, attempt: 1 }), None);
        let lines = picture.lines(80, 24);
        assert_eq!(
            lines,
            [
                "    1 wrap    ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░",
                "    1 merge   ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░",
                "    2 merge   ░░░░░░░░░░░░░░░░░░░░░░░ ───────",
                "    2 merge   ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ ───────",
                "    2 bucket  ─────── ███████",
                LEGEND,
            ]
        );
    }

    #[test]
    fn a_narrow_terminal_has_the_part_near_the_root() {
        let picture = picture();
        assert_eq!(picture.lines(16, 5)[3], "    2 merge   ░─");
        assert_eq!(picture.lines(16, 5).len(), 5);
        for (columns, rows) in [(0, 0), (1, 1), (14, 2), (200, 100)] {
            let lines = picture.lines(columns, rows);
            assert!(lines.len() <= rows.max(1), "{columns} {rows}");
            assert!(lines.iter().all(|line| line.chars().count() <= columns.max(LABEL + 1)), "{columns} {rows}");
        }
    }
}
