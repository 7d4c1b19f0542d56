//! Pages: subtrees of seven levels, the unit in which a tree is stored.

/// Levels of nodes in a page: 128 + 64 + ... + 2 = 254 nodes, the page's root excluded.
pub const PAGE_LEVELS: u8 = 7;

/// The nodes of a page that differ from the null digest of their level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {}
