//! `/v1/tasks/preview`.

use domain::Schedule;
use jiff::Timestamp;
use serde_json::json;

use super::at;
use crate::app::{Person, TestApp};

/// The next times of a schedule, by the route.
async fn preview(app: &TestApp, person: &Person, schedule: &str, zone: &str, count: usize) -> Vec<Timestamp> {
    let body = json!({ "schedule": schedule, "timezone": zone, "count": count });
    let answer = app.post("/v1/tasks/preview").by(person).json(&body).expect(200).await;
    assert_eq!((answer.text("schedule"), answer.text("timezone")), (schedule.to_owned(), zone.to_owned()));
    answer.body["times"].as_array().unwrap().iter().map(at).collect()
}

#[tokio::test]
async fn a_preview_shows_five_times_unless_told_otherwise() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let body = json!({ "schedule": "@hourly" });
    let hourly = app.post("/v1/tasks/preview").by(&alex).json(&body).expect(200).await.body;
    assert_eq!((&hourly["timezone"], hourly["times"].as_array().unwrap().len()), (&json!("UTC"), 5));
    let before = Timestamp::now();
    let times = preview(&app, &alex, "every 90s", "UTC", 100).await;
    let after = Timestamp::now();
    assert_eq!(times.len(), 100);
    let first = times[0].as_millisecond() - 90_000;
    assert!((before.as_millisecond()..=after.as_millisecond()).contains(&first), "it begins now");
    assert!(times.windows(2).all(|two| two[1].duration_since(two[0]).as_secs() == 90));
    app.post("/v1/tasks/preview").json(&body).refused(401, "unauthenticated").await;
    app.stop().await;
}

/// What is shown is what a task that is made is planned for, also where the clocks change.
#[tokio::test]
async fn a_preview_shows_the_times_that_a_task_has_also_where_clocks_change() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    for (schedule, count) in [
        // The last Sundays of March and October are in these.
        ("30 2 * 3 *", 62),
        ("30 2 * 10 *", 62),
        ("*/30 1-3 25-31 3 sun", 60),
        ("*/30 1-3 25-31 10 sun", 60),
    ] {
        let now = Timestamp::now();
        let times = preview(&app, &alex, schedule, "Europe/Berlin", count).await;
        let rule = Schedule::parse(schedule, "Europe/Berlin").unwrap();
        let mut last = now;
        for time in &times {
            assert_eq!(Some(*time), rule.next_after(last), "{schedule}");
            last = *time;
        }
        let body = json!({ "name": "Tick", "schedule": schedule, "timezone": "Europe/Berlin", "hook": null,
            "action": { "kind": "webhook", "url": "https://example.com" } });
        let task = app.post("/v1/tasks").by(&alex).json(&body).expect(201).await;
        assert_eq!(at(&task.body["next_run_at"]), times[0], "{schedule}");
    }
    // 2027: the hour from two to three is missing on 28 March and comes twice on 31 October.
    let spring = preview(&app, &alex, "30 2 28 3 *", "Europe/Berlin", 1).await;
    let autumn = preview(&app, &alex, "30 2 31 10 *", "Europe/Berlin", 2).await;
    if Timestamp::now() < "2027-03-01T00:00:00Z".parse().unwrap() {
        assert_eq!(spring, ["2027-03-28T01:00:00Z".parse().unwrap()], "right after the gap");
        let expected = ["2027-10-31T00:30:00Z", "2028-10-31T01:30:00Z"];
        assert_eq!(autumn, expected.map(|time| time.parse().unwrap()), "the first of both, once");
    }
    app.stop().await;
}
