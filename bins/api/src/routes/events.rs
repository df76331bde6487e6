//! `/v1/rooms/{id}/events`: the log of a room.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use store::log::{Page, Range};
use utoipa::{IntoParams, ToSchema};

use crate::extract::cursor::{self, MAX_EVENTS};
use crate::extract::{Caller, Path, Query};
use crate::problem::Problem;
use crate::routes::rooms::RoomPath;
use crate::shapes::EventShape;
use crate::state::Api;

/// Which part: one of `after`, `before` and `cursor`; the newest events when there is none.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventsQuery {
    /// Events above this seq, the oldest of them.
    after: Option<u64>,
    /// Events below this seq, the newest of them.
    before: Option<u64>,
    /// `next` of the page before.
    #[param(min_length = 1)]
    cursor: Option<String>,
    /// Events of the page.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

impl EventsQuery {
    fn range(&self) -> Result<Range, Problem> {
        match (self.after, self.before, self.cursor.as_deref()) {
            (None, None, None) => Ok(Range::Before(u64::MAX)),
            (Some(seq), None, None) => Ok(Range::After(seq)),
            (None, Some(seq), None) => Ok(Range::Before(seq)),
            (None, None, Some(cursor)) => cursor::decode_range(cursor),
            (Some(_), Some(_), _) => Err(Problem::field("before", "can't stand beside after")),
            _ => Err(Problem::field("cursor", "can't stand beside after or before")),
        }
    }
}

/// A page of a room's log.
#[derive(Serialize, ToSchema)]
#[schema(as = EventPage)]
pub struct EventPageShape {
    /// The events, ascending by seq.
    items: Vec<EventShape>,
    /// What to pass as `cursor` for the next page in the same direction; null after the last.
    next: Option<String>,
    /// Seq of the newest event that is no longer kept; 0 while all are.
    floor: u64,
    /// Seq of the newest event.
    head: u64,
}

/// Reads the log of a room.
#[utoipa::path(
    get,
    path = "/v1/rooms/{id}/events",
    operation_id = "listEvents",
    tag = "messages",
    params(RoomPath, EventsQuery),
    responses((status = 200, description = "A page of events", body = EventPageShape))
)]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<RoomPath>,
    Query(query): Query<EventsQuery>,
) -> Result<Json<EventPageShape>, Problem> {
    let (range, limit) = (query.range()?, cursor::limit(query.limit, MAX_EVENTS)?);
    let page = api.store().page(caller.principal(), path.id.into(), clamp(range), limit).await?;
    let page = page.ok_or_else(|| Problem::not_found("room"))?;
    let next = next(range, &page).map(cursor::encode_range);
    let items = page.events.into_iter().map(EventShape::from).collect();
    Ok(Json(EventPageShape { items, next, floor: page.floor, head: page.head }))
}

/// Seqs are signed in databases; nothing has one that high.
fn clamp(range: Range) -> Range {
    const HIGHEST: u64 = i64::MAX.unsigned_abs();
    match range {
        Range::After(seq) => Range::After(seq.min(HIGHEST)),
        Range::Before(seq) => Range::Before(seq.min(HIGHEST)),
    }
}

/// Where the next page in the same direction begins, if there is one.
fn next(range: Range, page: &Page) -> Option<Range> {
    match range {
        Range::After(_) => {
            page.events.last().filter(|last| last.seq < page.head).map(|e| Range::After(e.seq))
        }
        Range::Before(_) => {
            page.events.first().filter(|first| first.seq > page.floor + 1).map(|e| Range::Before(e.seq))
        }
    }
}
