//! The report of a verifier after it has accepted.

use core::fmt;

use super::{Claim, Hash, Header, Hex, Roots, SlotRule};

/// The source of the verifier's roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor<'a> {
    /// The roots themselves.
    Roots(&'a Roots),
    /// A header, which the verifier has hashed.
    Header(&'a Header),
    /// The hash of a block whose header is inside the proof.
    Block(&'a Hash),
}

/// The facts that an accepted proof shows. [`Display`](fmt::Display) prints them, one sentence on each line.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The anchor.
    pub anchor: Anchor<'a>,
    /// The claims whose canonical digest the verifier recomputed, each with the rule for its slot; `None` if it had no
    /// claims.
    pub claims: Option<&'a [(Claim, Option<SlotRule>)]>,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.claims {
            Some([_]) => f.write_str("1 claim is true ")?,
            Some(claims) => write!(f, "{} claims are true ", claims.len())?,
            None => f.write_str("some non-empty set of claims is true ")?,
        }
        match self.anchor {
            Anchor::Roots(roots) => {
                for (i, (tag, root)) in roots.iter().enumerate() {
                    write!(f, "{} {tag} root {}", if i == 0 { "in every trie with" } else { " and" }, Hex(root))?;
                }
                f.write_str("\nthat a block has these roots was not shown, nor which chain they belong to\n")?;
            }
            Anchor::Header(header) => {
                let Header { hash, number, time, .. } = header;
                write!(f, "in the block with hash {} (number {number}, time {time})\n{NOT_CANONICAL}", Hex(hash))?;
            }
            Anchor::Block(hash) => write!(f, "in the block with hash {}\n{NOT_CANONICAL}", Hex(hash))?,
        }
        let Some(claims) = self.claims else {
            return f.write_str("no claims were given: pass the claims to check which are proven\n");
        };
        claims.iter().try_for_each(|(claim, rule)| match rule {
            None => writeln!(f, "{claim}"),
            Some(rule) if matches!(claim, Claim::Slot { slot, .. } if *slot == rule.slot()) => {
                writeln!(f, "{claim}\n  slot by the rule: {rule}")
            }
            Some(rule) => writeln!(f, "{claim}\n  not the slot of the rule: {rule}"),
        })
    }
}

const NOT_CANONICAL: &str = "that this block is in the canonical chain was not shown, nor which chain that is\n";
