//! `/v1/notifications/preferences`: what the caller wants of notifications.

use axum::Json as Answer;
use axum::extract::State;
use domain::notification::{DoNotDisturb, Preferences, QuietHours};
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::extract::{Json, Object, Person};
use crate::problem::Problem;
use crate::shapes::PreferencesShape;
use crate::state::Api;

/// What is wanted, as a whole: what is left out is as it is for who never said anything.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewNotificationPreferences)]
pub struct PreferencesBody {
    /// Hints and pushes of messages that name the caller; true when it is left out.
    mentions: Option<bool>,
    /// Of messages in rooms of two; true when it is left out.
    direct_messages: Option<bool>,
    /// Of the end of runs that the caller asked for; true when it is left out.
    runs: Option<bool>,
    /// Of tool calls that wait for the caller; true when it is left out.
    tool_calls: Option<bool>,
    /// Whether a push says what was written; true when it is left out.
    previews: Option<bool>,
    /// When the caller is not to be disturbed; never when it is left out.
    #[schema(value_type = Option<DndBody>)]
    dnd: Option<Object<DndBody>>,
}

/// Until a time, at certain hours, or both.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewDoNotDisturb)]
pub struct DndBody {
    /// Not before this time.
    #[schema(value_type = Option<String>, format = DateTime)]
    until: Option<String>,
    /// At these hours.
    #[schema(value_type = Option<HoursBody>)]
    hours: Option<Object<HoursBody>>,
}

/// Hours of the day: over midnight when `from` is the later one, the whole day when both are the same.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewQuietHours)]
pub struct HoursBody {
    /// From then.
    #[schema(example = "22:00")]
    from: String,
    /// Until before then.
    #[schema(example = "07:00")]
    to: String,
    /// The zone of the clock, of the IANA database.
    #[schema(example = "Europe/Berlin")]
    timezone: String,
    /// The days on which they begin, `mon` to `sun`; every day when they are left out.
    #[schema(max_items = 7)]
    days: Option<Vec<String>>,
}

impl PreferencesBody {
    fn read(self) -> Result<Preferences, Problem> {
        let default = Preferences::default();
        Ok(Preferences {
            mentions: self.mentions.unwrap_or(default.mentions),
            direct_messages: self.direct_messages.unwrap_or(default.direct_messages),
            runs: self.runs.unwrap_or(default.runs),
            tool_calls: self.tool_calls.unwrap_or(default.tool_calls),
            previews: self.previews.unwrap_or(default.previews),
            dnd: self.dnd.map_or(Ok(default.dnd), |Object(dnd)| dnd.read())?,
        })
    }
}

impl DndBody {
    fn read(self) -> Result<DoNotDisturb, Problem> {
        let until = self.until.as_deref().map(at).transpose()?;
        let hours = self.hours.map(|Object(hours)| hours.read()).transpose()?;
        Ok(DoNotDisturb { until, hours })
    }
}

impl HoursBody {
    fn read(self) -> Result<QuietHours, Problem> {
        let days = self.days.unwrap_or_default();
        let days: Vec<&str> = days.iter().map(String::as_str).collect();
        Ok(QuietHours::new(&self.from, &self.to, &self.timezone, &days)?)
    }
}

fn at(text: &str) -> Result<Timestamp, Problem> {
    let allowed = "a time by RFC 3339 such as 2026-12-24T18:00:00Z";
    text.parse().map_err(|_| domain::Invalid::new("dnd", text, allowed).inside(".until").into())
}

/// What the caller wants.
#[utoipa::path(
    get,
    path = "/v1/notifications/preferences",
    operation_id = "getNotificationPreferences",
    tag = "notifications",
    responses((status = 200, description = "What stands", body = PreferencesShape))
)]
pub async fn get(State(api): State<Api>, person: Person) -> Result<Answer<PreferencesShape>, Problem> {
    Ok(Answer(api.store().preferences(person.user()).await?.into()))
}

/// Notes what the caller wants, as a whole.
#[utoipa::path(
    put,
    path = "/v1/notifications/preferences",
    operation_id = "setNotificationPreferences",
    tag = "notifications",
    request_body = PreferencesBody,
    responses((status = 200, description = "What stands from now on", body = PreferencesShape))
)]
pub async fn put(
    State(api): State<Api>,
    person: Person,
    Json(body): Json<PreferencesBody>,
) -> Result<Answer<PreferencesShape>, Problem> {
    let preferences = body.read()?;
    api.operations().set_preferences(person.user(), &preferences).await?;
    Ok(Answer(preferences.into()))
}
