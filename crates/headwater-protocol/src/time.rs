//! Conversion between milliseconds since 1970 and ISO 8601 dates, which some dialects use.

/// Formats milliseconds since 1970 as `2026-01-11T18:22:00.000Z`.
///
/// ```
/// assert_eq!(headwater_protocol::rfc3339(0), "1970-01-01T00:00:00.000Z");
/// ```
#[must_use]
pub fn rfc3339(milliseconds: u64) -> String {
    let (days, ms) = (milliseconds / 86_400_000, milliseconds % 86_400_000);
    // Years begin on 1 March, so that the leap day is the last day of its year.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
    let (second, milli) = (ms / 1_000 % 60, ms % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Parses a UTC date in the format of [`rfc3339`], with or without fractional seconds, to milliseconds since
/// 1970.
///
/// ```
/// assert_eq!(headwater_protocol::parse_rfc3339("1970-01-01T00:00:01Z"), Some(1_000));
/// ```
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<u64> {
    let text = text.strip_suffix('Z')?;
    let (date, time) = text.split_once('T')?;
    let mut date = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut clock = time.split(':');
    let (hour, minute) = (clock.next()?.parse::<u64>().ok()?, clock.next()?.parse::<u64>().ok()?);
    let (second, fraction) = clock.next().map(|text| text.split_once('.').unwrap_or((text, "")))?;
    let second = second.parse::<u64>().ok()?;
    let milli = format!("{fraction:0<3}").get(..3)?.parse::<u64>().ok()?;
    let in_range = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !in_range || hour > 23 || minute > 59 || second > 60 || date.next().is_some() || clock.next().is_some()
    {
        return None;
    }
    let (year, shifted_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = days.checked_sub(719_468)?;
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1_000 + milli)
}

#[cfg(test)]
mod tests;
