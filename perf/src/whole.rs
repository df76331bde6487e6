//! Whole numbers of the command line, each with the range in which a measurement makes sense.

use std::ops::RangeInclusive;

/// Seconds that something takes. More than an hour is a slip of the finger.
pub(crate) const SECONDS: RangeInclusive<u64> = 1..=3600;
/// Seconds that may be left out.
pub(crate) const PAUSE: RangeInclusive<u64> = 0..=3600;
/// What is done in a second.
pub(crate) const RATE: RangeInclusive<u64> = 1..=100_000;
/// What is done one after the other, or made once.
pub(crate) const COUNT: RangeInclusive<u64> = 1..=1_000_000;
/// Clients with a connection each.
pub(crate) const CLIENTS: RangeInclusive<u64> = 1..=100_000;

/// Reads a number of this range.
pub(crate) fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let given = text.parse().ok().filter(|number| range.contains(number));
        given.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            format!("a whole number from {least} to {most} is allowed")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_or_no_number_is_told_what_is_allowed() {
        let read = whole::<u32>(1..=50);
        assert_eq!((read("1"), read("50")), (Ok(1), Ok(50)));
        for bad in ["0", "51", "-1", "", "1.5", "ten", "99999999999999999999999"] {
            assert_eq!(read(bad), Err("a whole number from 1 to 50 is allowed".to_owned()), "{bad}");
        }
    }
}
