//! Pages: cursors that clients hand back as they got them, and limits.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use store::log::Range;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::problem::Problem;

/// Items of a page when no limit is given.
pub const DEFAULT_LIMIT: u32 = 50;
/// Items of a page at most.
pub const MAX_LIMIT: u32 = 200;
/// Events of a page at most.
pub const MAX_EVENTS: u32 = 1000;
/// Runs of a page at most: each has its document.
pub const MAX_RUNS: u32 = 50;

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// What to pass as `cursor` for the next page; null after the last.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// A page of at most `limit` items out of `limit + 1` that were read: the one too many says that there is
    /// a next page. `id` is what the list is ordered by.
    pub fn of<R>(mut rows: Vec<R>, limit: u32, id: impl Fn(&R) -> Uuid, shape: impl Fn(R) -> T) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|row| encode_id(id(row)));
        Self { items: rows.into_iter().map(shape).collect(), next }
    }
}

/// Checks a limit.
///
/// # Errors
///
/// Zero, or more than `max`.
pub fn limit(given: Option<u32>, max: u32) -> Result<u32, Problem> {
    match given {
        None => Ok(DEFAULT_LIMIT),
        Some(limit) if (1..=max).contains(&limit) => Ok(limit),
        Some(limit) => Err(Problem::field("limit", format!("{limit} is not allowed; allowed is 1 to {max}"))),
    }
}

fn encode_id(id: Uuid) -> String {
    URL_SAFE_NO_PAD.encode(id.as_bytes())
}

/// Reads the cursor of a list.
///
/// # Errors
///
/// What no list gave out.
pub fn decode_id<T: From<Uuid>>(cursor: Option<&str>) -> Result<Option<T>, Problem> {
    let Some(cursor) = cursor else { return Ok(None) };
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| Uuid::from_slice(&bytes).ok());
    bytes.map(|id| Some(id.into())).ok_or_else(refused)
}

/// Writes the cursor of a list of events.
#[must_use]
pub fn encode_range(range: Range) -> String {
    URL_SAFE_NO_PAD.encode(match range {
        Range::After(seq) => format!("a{seq}"),
        Range::Before(seq) => format!("b{seq}"),
    })
}

/// Reads the cursor of a list of events.
///
/// # Errors
///
/// What no list of events gave out.
pub fn decode_range(cursor: &str) -> Result<Range, Problem> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| refused())?;
    let text = String::from_utf8(bytes).map_err(|_| refused())?;
    let number = |digits: &str| digits.parse().map_err(|_| refused());
    if let Some(seq) = text.strip_prefix('a') {
        Ok(Range::After(number(seq)?))
    } else if let Some(seq) = text.strip_prefix('b') {
        Ok(Range::Before(number(seq)?))
    } else {
        Err(refused())
    }
}

fn refused() -> Problem {
    Problem::field("cursor", "is not one of this list; allowed is what `next` gave, unchanged")
}

#[cfg(test)]
mod tests {
    use domain::RoomId;

    use super::*;

    #[test]
    fn cursors_are_read_back() {
        let room = RoomId::new();
        assert_eq!(decode_id::<RoomId>(Some(&encode_id(room.0))).expect("good"), Some(room));
        for range in [Range::After(0), Range::Before(u64::MAX)] {
            assert_eq!(decode_range(&encode_range(range)).expect("good"), range);
        }
        for junk in ["", "x", "====", &encode_range(Range::After(1))] {
            assert!(decode_id::<RoomId>(Some(junk)).is_err(), "{junk}");
        }
        for junk in ["", "YQ", "YS0x", &encode_id(room.0)] {
            assert!(decode_range(junk).is_err(), "{junk}");
        }
    }

    #[test]
    fn the_item_too_many_makes_the_next_page() {
        let ids: Vec<Uuid> = (0..3).map(|_| Uuid::now_v7()).collect();
        let page = Page::of(ids.clone(), 2, |id| *id, |id| id);
        assert_eq!(page.items, ids[..2]);
        assert_eq!(decode_id(page.next.as_deref()).expect("good"), Some(ids[1]));
        assert!(Page::of(ids[..2].to_vec(), 2, |id| *id, |id| id).next.is_none());
        assert!(limit(Some(0), 200).is_err() && limit(Some(201), 200).is_err());
    }
}
