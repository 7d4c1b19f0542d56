//! Dates and points in time as text, in the proleptic Gregorian calendar and UTC.

use alloc::format;
use alloc::string::String;
use core::ops::RangeInclusive;

/// Microseconds of a day.
pub const DAY: i64 = 86_400_000_000;
/// The years of dates and timestamps.
pub const YEARS: RangeInclusive<i64> = 1..=9999;
/// The dates: days from 1970-01-01 to 0001-01-01 and 9999-12-31.
pub const DATES: RangeInclusive<i64> = -719_162..=2_932_896;
/// The timestamps: microseconds of these days.
pub const TIMESTAMPS: RangeInclusive<i64> = -719_162 * DAY..=(2_932_896 + 1) * DAY - 1;

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DATE_FORM: &str = "a date is YYYY-MM-DD";
const TIME_FORM: &str = "a time of day is HH:MM:SS with up to 6 decimal places";
const ZONE_FORM: &str = "a time zone is Z, or an offset +HH:MM or -HH:MM below 24 hours";

/// Days from 1970-01-01 to the first day of a year, for any year that the range of dates can refer to.
pub const fn year_start(year: i64) -> i64 {
    month_start(year, 1)
}

/// Days from 1970-01-01 to the first day of a month, 1 to 12 (Hinnant, "chrono-compatible low-level date algorithms").
pub const fn month_start(year: i64, month: i64) -> i64 {
    // Years begin in March, so the leap day is the last day.
    let year = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of a date.
pub const fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + (month <= 2) as i64, month, day)
}

/// The first day of the month after this one.
pub const fn month_end(year: i64, month: i64) -> i64 {
    if month == 12 { month_start(year + 1, 1) } else { month_start(year, month + 1) }
}

/// The days from 1970-01-01 to a date `YYYY-MM-DD`, or the fault of the text.
pub fn parse_date(text: &[u8]) -> Result<i64, &'static str> {
    let &[y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = text else { return Err(DATE_FORM) };
    let year = digits(&[y0, y1, y2, y3]).ok_or(DATE_FORM)?;
    let (month, day) = (digits(&[m0, m1]).ok_or(DATE_FORM)?, digits(&[d0, d1]).ok_or(DATE_FORM)?);
    if !YEARS.contains(&year) {
        return Err("years are 0001 to 9999");
    }
    if !(1..=12).contains(&month) {
        return Err("months are 01 to 12");
    }
    let first = month_start(year, month);
    if (1..=month_end(year, month) - first).contains(&day) {
        Ok(first + day - 1)
    } else {
        Err("the month has no such day")
    }
}

/// `YYYY-MM-DD`.
pub fn format_date(days: i64) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The microseconds from 1970-01-01T00:00:00Z to a point in time, or the fault of the text.
///
/// A date, `T` or a space, and a time of day with optional seconds, followed by an optional `Z` or offset. Without
/// these it is UTC. A date alone is its midnight.
pub fn parse_timestamp(text: &[u8]) -> Result<i64, &'static str> {
    let Some((date, rest)) = text.split_at_checked(10) else { return Err(DATE_FORM) };
    let start = parse_date(date)? * DAY;
    let Some((separator, rest)) = rest.split_first() else { return Ok(start) };
    if !matches!(separator, b'T' | b't' | b' ') {
        return Err("between date and time stands T or a space");
    }
    let (time, rest) = clock(rest)?;
    let point = start + time - offset(rest)?;
    if TIMESTAMPS.contains(&point) { Ok(point) } else { Err("years are 0001 to 9999, in UTC") }
}

/// `YYYY-MM-DDTHH:MM:SSZ`, with 3 or 6 decimal places of a second that is not a whole one.
pub fn format_timestamp(micros: i64) -> String {
    let (date, time) = (format_date(micros.div_euclid(DAY)), micros.rem_euclid(DAY));
    let (hour, minute, second) = (time / HOUR, time % HOUR / MINUTE, time % MINUTE / SECOND);
    let fraction = match time % SECOND {
        0 => String::new(),
        micros if micros % 1000 == 0 => format!(".{:03}", micros / 1000),
        micros => format!(".{micros:06}"),
    };
    format!("{date}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// Microseconds of a time of day, and the rest of the text.
fn clock(text: &[u8]) -> Result<(i64, &[u8]), &'static str> {
    let &[h0, h1, b':', m0, m1, ref rest @ ..] = text else { return Err(TIME_FORM) };
    let (hour, minute) = (digits(&[h0, h1]).ok_or(TIME_FORM)?, digits(&[m0, m1]).ok_or(TIME_FORM)?);
    let (second, rest) = match *rest {
        [b':', s0, s1, ref rest @ ..] => (digits(&[s0, s1]).ok_or(TIME_FORM)?, rest),
        [b':', ..] => return Err(TIME_FORM),
        _ => (0, rest),
    };
    if hour > 23 || minute > 59 || second > 59 {
        return Err("hours are 00 to 23, minutes and seconds 00 to 59");
    }
    let (micros, rest) = match rest {
        [b'.', rest @ ..] => fraction(rest)?,
        _ => (0, rest),
    };
    Ok((hour * HOUR + minute * MINUTE + second * SECOND + micros, rest))
}

fn fraction(text: &[u8]) -> Result<(i64, &[u8]), &'static str> {
    let length = text.iter().take_while(|c| c.is_ascii_digit()).count();
    let (places, rest) = text.split_at(length);
    if places.is_empty() {
        return Err(TIME_FORM);
    }
    let (kept, beyond) = places.split_at(length.min(6));
    if beyond.iter().any(|c| *c != b'0') {
        return Err("it has parts of a microsecond");
    }
    let micros = kept.iter().chain(b"000000").take(6).fold(0, |x, c| 10 * x + i64::from(c - b'0'));
    Ok((micros, rest))
}

/// Microseconds by which a time zone is ahead of UTC.
fn offset(text: &[u8]) -> Result<i64, &'static str> {
    let (sign, hours, minutes) = match *text {
        [] | [b'Z' | b'z'] => return Ok(0),
        [sign, h0, h1] => (sign, [h0, h1], [b'0'; 2]),
        [sign, h0, h1, m0, m1] | [sign, h0, h1, b':', m0, m1] => (sign, [h0, h1], [m0, m1]),
        _ => return Err(ZONE_FORM),
    };
    let (hours, minutes) = (digits(&hours).ok_or(ZONE_FORM)?, digits(&minutes).ok_or(ZONE_FORM)?);
    match sign {
        _ if hours > 23 || minutes > 59 => Err(ZONE_FORM),
        b'+' => Ok(hours * HOUR + minutes * MINUTE),
        b'-' => Ok(-(hours * HOUR + minutes * MINUTE)),
        _ => Err(ZONE_FORM),
    }
}

fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |x, c| c.is_ascii_digit().then(|| 10 * x + i64::from(c - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_date_is_a_day_after_the_one_before() {
        let mut expected = (1, 1, 1);
        for days in DATES {
            assert_eq!(civil(days), expected);
            let (year, month, day) = expected;
            assert_eq!(month_start(year, month) + day - 1, days);
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + i64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            expected = match (month, day == length) {
                (12, true) => (year + 1, 1, 1),
                (_, true) => (year, month + 1, 1),
                (_, false) => (year, month, day + 1),
            };
        }
        assert_eq!(expected, (10_000, 1, 1));
    }

    #[test]
    fn dates_are_read_and_printed() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("2024-02-29", 19_782),
            ("0001-01-01", *DATES.start()),
            ("9999-12-31", *DATES.end()),
        ] {
            assert_eq!(parse_date(text.as_bytes()), Ok(days), "{text}");
            assert_eq!(format_date(days), text);
        }
        for text in ["2023-02-29", "1900-02-29", "2023-04-31", "2023-01-00", "2023-13-01", "2023-00-10", "0000-01-01"] {
            assert!(parse_date(text.as_bytes()).is_err(), "{text}");
        }
        for text in
            ["", "2023-1-01", "2023/01/01", "20230101", "12023-01-01", "2023-01-01 ", "+023-01-01", "2023-01-0x"]
        {
            assert_eq!(parse_date(text.as_bytes()), Err(DATE_FORM), "{text}");
        }
    }

    #[test]
    fn timestamps_have_one_printed_form() {
        for (text, printed) in [
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
            ("2024-01-31 12:34:56", "2024-01-31T12:34:56Z"),
            ("2024-01-31 12:34", "2024-01-31T12:34:00Z"),
            ("2024-01-31", "2024-01-31T00:00:00Z"),
            ("2024-01-31 12:34:56.7", "2024-01-31T12:34:56.700Z"),
            ("2024-01-31T12:34:56.789z", "2024-01-31T12:34:56.789Z"),
            ("2024-01-31t12:34:56.000001Z", "2024-01-31T12:34:56.000001Z"),
            ("2024-01-31T12:34:56.123456000Z", "2024-01-31T12:34:56.123456Z"),
            ("2024-01-31T23:30:00-01:00", "2024-02-01T00:30:00Z"),
            ("2024-03-01T00:30:00+01:00", "2024-02-29T23:30:00Z"),
            ("2024-01-31 12:00:00+0530", "2024-01-31T06:30:00Z"),
            ("2024-01-31 12:00:00+02", "2024-01-31T10:00:00Z"),
            ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
        ] {
            let micros = parse_timestamp(text.as_bytes()).unwrap();
            assert_eq!(format_timestamp(micros), printed, "{text}");
            assert_eq!(parse_timestamp(printed.as_bytes()), Ok(micros));
        }
        assert_eq!(parse_timestamp(b"1969-12-31T23:59:59.999999Z"), Ok(-1));
        for text in [
            "2023-02-29T00:00:00Z",
            "2024-01-31T24:00:00Z",
            "2024-01-31T12:60:00Z",
            "2024-06-30T23:59:60Z",
            "2024-01-31T12:34:56.Z",
            "2024-01-31T12:34:56.1234567Z",
            "2024-01-31T12:34:56ZZ",
            "2024-01-31T12:34:56 UTC",
            "2024-01-31T12:34:56+24:00",
            "2024-01-31T12:34:56*01:00",
            "2024-01-31T",
            "2024-01-31_12:34:56",
            "2024-01-31T12:34:",
            "2024-01-31T1:34:56",
            "0001-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "",
        ] {
            assert!(parse_timestamp(text.as_bytes()).is_err(), "{text}");
        }
    }
}
