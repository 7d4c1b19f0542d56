//! The enum in the header equals that of the library.

use evergrove_verifier::verify::Code;

#[test]
fn the_header_has_the_codes_with_their_numbers() {
    let header = include_str!("../../include/evergrove.h");
    let lines = header.lines().filter_map(|line| line.trim().strip_prefix("EVG_CODE_")?.strip_suffix(','));
    let found: Vec<(String, u32)> = lines
        .map(|line| {
            let (name, number) = line.split_once(" = ").expect("a number");
            (name.to_lowercase().replace('_', "-"), number.parse().expect("a number"))
        })
        .collect();
    let expected: Vec<(String, u32)> = Code::ALL.iter().map(|code| (code.name().into(), *code as u32)).collect();
    assert_eq!(found, expected);
}
