//! Records of separated values: csv and tsv texts, by RFC 4180.
//!
//! - A cell that begins with a quote ends with one. Within it a quote is written twice, and separators and ends of
//!   lines are content. If the text ends within it, or anything except a separator or an end of a line follows it, that
//!   is an error.
//! - A quote within a cell that begins with another character is an ordinary character: `5" pipe`.
//! - LF, CRLF and CR end a line, also within quotes. Empty lines are skipped. A byte order mark before the text is
//!   ignored.
//! - Spaces belong to cells, and cells may hold any bytes.

use alloc::vec::Vec;
use core::fmt;

/// The byte order mark in UTF-8.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text breaks the rules of quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvError {
    /// The text ends within a quoted cell.
    Unclosed {
        /// The line on which the cell begins, from 1.
        line: u64,
    },
    /// The quote that closes a cell is not followed by a separator or an end of a line.
    AfterQuote {
        /// The line, from 1.
        line: u64,
    },
}

impl CsvError {
    /// The line of the text with the fault, from 1.
    pub const fn line(&self) -> u64 {
        match self {
            Self::Unclosed { line } | Self::AfterQuote { line } => *line,
        }
    }
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unclosed { .. } => "the quote of a cell is not closed",
            Self::AfterQuote { .. } => "text behind the closing quote of a cell: write a quote within quotes twice",
        })
    }
}

impl core::error::Error for CsvError {}

/// The state of the reader.
///
/// ```text
///  Start --> Cell --> Plain --+
///    ^         |              |
///    |         +--> Quoted <--+--> Closed       (a quote in Quoted; a second one goes back)
///    +---- end of a line ----------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before a record.
    Start,
    /// Before a cell that is not the first.
    Cell,
    /// In a cell without quotes.
    Plain,
    /// In a quoted cell.
    Quoted,
    /// After a quote in a quoted cell.
    Closed,
}

/// Reads records from a text that comes in pieces of any size. Uses the memory of one record.
#[derive(Clone, Debug)]
pub struct CsvReader {
    separator: u8,
    state: State,
    /// The contents of the cells of the record, with some separators between them, and where each cell begins and ends.
    bytes: Vec<u8>,
    ends: Vec<(usize, usize)>,
    /// Where the current cell begins.
    cell: usize,
    /// The record is complete.
    complete: bool,
    /// The number of the current line, of that on which the record begins, and of that of the last opening quote.
    now: u64,
    line: u64,
    quote: u64,
    /// The last byte was a carriage return: a following line feed is part of the same end of a line.
    carriage: bool,
    /// Bytes of a mark that have come before the text; its length if no mark can come.
    mark: usize,
}

impl CsvReader {
    /// A reader of cells with this separator, which must not be a quote or the end of a line.
    pub const fn new(separator: u8) -> Self {
        Self {
            separator,
            state: State::Start,
            bytes: Vec::new(),
            ends: Vec::new(),
            cell: 0,
            complete: false,
            now: 1,
            line: 1,
            quote: 1,
            carriage: false,
            mark: 0,
        }
    }

    /// Takes bytes up to the end of a record. Returns their number, and whether a record is complete. If no record is
    /// complete, all bytes are taken.
    ///
    /// # Errors
    /// [`CsvError`]; the reader must not be used afterwards.
    pub fn feed(&mut self, text: &[u8]) -> Result<(usize, bool), CsvError> {
        self.clear();
        let mut at = 0;
        while let Some(byte) = text.get(at).copied() {
            if self.mark < BYTE_ORDER_MARK.len() {
                if byte == BYTE_ORDER_MARK[self.mark] {
                    (self.mark, at) = (self.mark + 1, at + 1);
                    continue;
                }
                self.unmark();
            }
            match self.state {
                State::Plain => {
                    let (taken, complete) = self.plain(&text[at..]);
                    at += taken;
                    if complete {
                        return Ok((at, true));
                    }
                    continue;
                }
                State::Quoted => {
                    let rest = &text[at..];
                    let length = rest.iter().position(|b| *b == b'"').unwrap_or(rest.len());
                    let (content, behind) = rest.split_at(length);
                    content.iter().for_each(|b| self.count(*b));
                    self.bytes.extend_from_slice(content);
                    at += length;
                    if !behind.is_empty() {
                        self.carriage = false;
                        self.state = State::Closed;
                        at += 1;
                    }
                    continue;
                }
                State::Start if matches!(byte, b'\n' | b'\r') => self.count(byte),
                State::Start | State::Cell if byte == b'"' => {
                    self.begin();
                    self.quote = self.now;
                    self.state = State::Quoted;
                }
                State::Start | State::Cell => {
                    // This byte is processed again: it may be a separator.
                    self.begin();
                    self.state = State::Plain;
                    continue;
                }
                State::Closed if byte == b'"' => {
                    self.bytes.push(byte);
                    self.state = State::Quoted;
                }
                State::Closed if byte == self.separator || matches!(byte, b'\n' | b'\r') => {
                    if self.end_cell(byte) {
                        return Ok((at + 1, true));
                    }
                }
                State::Closed => return Err(CsvError::AfterQuote { line: self.now }),
            }
            at += 1;
        }
        Ok((at, false))
    }

    /// Ends the text. Returns whether its last line is a record.
    ///
    /// # Errors
    /// [`CsvError`].
    pub fn finish(&mut self) -> Result<bool, CsvError> {
        self.clear();
        if (1..BYTE_ORDER_MARK.len()).contains(&self.mark) {
            self.unmark();
        }
        match self.state {
            State::Start => return Ok(false),
            State::Quoted => return Err(CsvError::Unclosed { line: self.quote }),
            State::Cell => self.ends.push((self.bytes.len(), self.bytes.len())),
            State::Plain | State::Closed => self.ends.push((self.cell, self.bytes.len())),
        }
        (self.state, self.complete) = (State::Start, true);
        Ok(true)
    }

    /// The cells of the complete record.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.ends.iter().map(|(start, end)| &self.bytes[*start..*end])
    }

    /// The line on which the record begins, from 1.
    pub const fn line(&self) -> u64 {
        self.line
    }

    /// The line on which the reader's current quoted cell begins.
    pub fn open_quote(&self) -> Option<u64> {
        (self.state == State::Quoted).then_some(self.quote)
    }

    /// Releases a complete record.
    fn clear(&mut self) {
        if core::mem::take(&mut self.complete) {
            self.bytes.clear();
            self.ends.clear();
        }
    }

    /// The text has no mark: the bytes that looked like one are content.
    fn unmark(&mut self) {
        let begun = core::mem::replace(&mut self.mark, BYTE_ORDER_MARK.len());
        if begun > 0 {
            self.cell = 0;
            self.bytes.extend_from_slice(&BYTE_ORDER_MARK[..begun]);
            self.state = State::Plain;
        }
    }

    /// A cell begins.
    fn begin(&mut self) {
        if self.state == State::Start {
            self.line = self.now;
        }
        self.carriage = false;
        self.cell = self.bytes.len();
    }

    /// Counts the end of a line, if this byte is one.
    fn count(&mut self, byte: u8) {
        self.now += u64::from(byte == b'\r' || (byte == b'\n' && !self.carriage));
        self.carriage = byte == b'\r';
    }

    /// Takes cells without quotes, the first of which has begun. Returns the number of bytes, and whether they end the
    /// record.
    fn plain(&mut self, text: &[u8]) -> (usize, bool) {
        let before = self.bytes.len();
        let mut at = 0;
        while let Some(byte) = text.get(at).copied() {
            if byte == self.separator {
                self.ends.push((self.cell, before + at));
                at += 1;
                self.cell = before + at;
                if text.get(at).is_none_or(|next| *next == b'"') {
                    self.state = State::Cell;
                    break;
                }
            } else if matches!(byte, b'\n' | b'\r') {
                self.bytes.extend_from_slice(&text[..at]);
                return (at + 1, self.end_cell(byte));
            } else {
                at += 1;
            }
        }
        self.bytes.extend_from_slice(&text[..at]);
        (at, false)
    }

    /// A separator or an end of a line ends a cell; true if it ends the record.
    fn end_cell(&mut self, byte: u8) -> bool {
        self.ends.push((self.cell, self.bytes.len()));
        if byte == self.separator {
            self.state = State::Cell;
            return false;
        }
        self.count(byte);
        (self.state, self.complete) = (State::Start, true);
        true
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    type Records = Vec<(u64, Vec<Vec<u8>>)>;

    /// The rules, applied byte by byte to a whole text.
    fn reference(text: &[u8], separator: u8) -> (Records, Option<CsvError>) {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let line_at = |at: usize| {
            let ends =
                (0..at).filter(|i| text[*i] == b'\r' || (text[*i] == b'\n' && (*i == 0 || text[i - 1] != b'\r')));
            1 + ends.count() as u64
        };
        let ends_line = |at: usize| matches!(text.get(at), Some(b'\n' | b'\r'));
        let (mut records, mut at) = (vec![], 0);
        while at < text.len() {
            if ends_line(at) {
                at += 1;
                continue;
            }
            let (line, mut cells) = (line_at(at), vec![]);
            loop {
                let mut cell = vec![];
                if text.get(at) == Some(&b'"') {
                    let opened = line_at(at);
                    at += 1;
                    loop {
                        match (text.get(at), text.get(at + 1)) {
                            (None, _) => return (records, Some(CsvError::Unclosed { line: opened })),
                            (Some(b'"'), Some(b'"')) => {
                                cell.push(b'"');
                                at += 2;
                            }
                            (Some(b'"'), _) => break,
                            (Some(byte), _) => {
                                cell.push(*byte);
                                at += 1;
                            }
                        }
                    }
                    at += 1;
                    if at < text.len() && text[at] != separator && !ends_line(at) {
                        return (records, Some(CsvError::AfterQuote { line: line_at(at) }));
                    }
                } else {
                    while at < text.len() && text[at] != separator && !ends_line(at) {
                        cell.push(text[at]);
                        at += 1;
                    }
                }
                cells.push(cell);
                if at == text.len() || text[at] != separator {
                    break;
                }
                at += 1;
            }
            records.push((line, cells));
        }
        (records, None)
    }

    /// The records that the reader finds in a text that comes in pieces of these lengths.
    fn read(text: &[u8], separator: u8, mut piece: impl FnMut() -> usize) -> (Records, Option<CsvError>) {
        let mut reader = CsvReader::new(separator);
        let (mut records, mut rest) = (vec![], text);
        loop {
            let now = &rest[..piece().max(1).min(rest.len())];
            let fed = if now.is_empty() { reader.finish().map(|more| (0, more)) } else { reader.feed(now) };
            match fed {
                Err(e) => return (records, Some(e)),
                Ok((_, true)) => records.push((reader.line(), reader.cells().map(<[u8]>::to_vec).collect())),
                Ok((_, false)) if now.is_empty() => return (records, None),
                Ok((taken, false)) => assert_eq!(taken, now.len()),
            }
            rest = &rest[fed.map_or(0, |(taken, _)| taken)..];
        }
    }

    fn fuzz(cases: u64) {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) % below
        };
        let alphabet = b"\"\"\"\",,;\n\n\r\rab \xef\xbb\xbf\0";
        for _ in 0..cases {
            let mut text = vec![];
            if random(4) == 0 {
                text.extend_from_slice(&BYTE_ORDER_MARK[..random(4) as usize]);
            }
            let length = random(24);
            text.extend((0..length).map(|_| match random(20) {
                0 => random(256) as u8,
                _ => alphabet[random(alphabet.len() as u64) as usize],
            }));
            let separator = if random(4) == 0 { b';' } else { b',' };
            let expected = reference(&text, separator);
            let most = 1 + random(text.len() as u64 + 1);
            let found = read(&text, separator, || random(most + 1) as usize);
            assert_eq!(found, expected, "{:?}", alloc::string::String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn random_texts_are_read_by_the_rules() {
        fuzz(20_000);
    }

    #[test]
    #[ignore = "slow: a million texts, a minute"]
    fn a_million_random_texts_are_read_by_the_rules() {
        fuzz(1_000_000);
    }

    #[test]
    fn quotes_are_strict_and_lines_are_right() {
        let read = |text: &str| read(text.as_bytes(), b',', || 7);
        let cells = |cells: &[&str]| cells.iter().map(|c| c.as_bytes().to_vec()).collect::<Vec<_>>();
        assert_eq!(
            read("\u{feff}\"a\",b\r\n\r\n\"x\r\ny\n\rz\",\"\"\"\"\n5\" pipe,\n"),
            (vec![(1, cells(&["a", "b"])), (3, cells(&["x\r\ny\n\rz", "\""])), (7, cells(&["5\" pipe", ""]))], None)
        );
        assert_eq!(read("a\n\"b\n\nc\n").1, Some(CsvError::Unclosed { line: 2 }));
        assert_eq!(read("a\n1,\"x\"y\n").1, Some(CsvError::AfterQuote { line: 2 }));
        assert_eq!(read("a\n\"x\n\" \n").1, Some(CsvError::AfterQuote { line: 3 }));
        assert_eq!(read("\u{feff}").0, vec![]);
        assert_eq!(read("a\rb\r").0, vec![(1, cells(&["a"])), (2, cells(&["b"]))]);
    }
}
