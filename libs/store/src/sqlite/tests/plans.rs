//! How statements are worked on: by an index, however large the tables get.

use super::*;

/// The subjects that are looked at.
const SUBJECTS: &[&str] = &[
    "agents",
    "consumers",
    "messages",
    "notifications",
    "presence",
    "push",
    "queue",
    "reap",
    "retention",
    "rooms",
    "runs",
    "tasks",
    "tools",
];

/// What is looked at as a whole: a parameter, a made row, a page of this size, or a table that stays small.
const SMALL: &[&str] = &[
    "asked",
    "rarray",
    "one",
    "CONSTANT ROW",
    "next",
    "left_over",
    "patched",
    "run_patches",
    "nodes",
    "patch",
    "log_state",
    "(subquery",
    "agent_presence USING INDEX agent_presence_seen",
    "presence_epoch",
    "near",
    "own",
    "room",
    // Only the first one.
    "notification_queue USING COVERING INDEX notification_queue_due",
    // A row for each connection of this process.
    "gateway_presence USING INDEX gateway_presence_user",
    "line",
    "newest",
    "shown",
    "task_queue USING COVERING INDEX task_queue_due",
    "task_queue USING INDEX task_queue_due",
    "task_run_documents",
    "task_turn",
    "task_workers",
    "worker",
];

#[tokio::test]
async fn statements_scan_no_table() {
    let Fresh { store: _kept, folder, .. } = fresh();
    let connection = open::writer(&file(&folder)).expect("a connection");
    let mut scanning = Vec::new();
    for statement in statement::all() {
        let subject = statement.name.split('/').next().unwrap_or_default();
        if !SUBJECTS.contains(&subject) {
            continue;
        }
        let mut explained =
            connection.prepare(&format!("EXPLAIN QUERY PLAN {}", statement.sql)).expect("a plan");
        let mut steps = explained.raw_query();
        while let Some(step) = steps.next().expect("a step") {
            let step: String = step.get("detail").expect("a text");
            let scans =
                step.strip_prefix("SCAN ").is_some_and(|of| !SMALL.iter().any(|small| of.starts_with(small)));
            // The edits of a message are few; what was said in its room may be millions.
            let by_room = step.ends_with("sqlite_autoindex_events_1 (stream_id=?)")
                || (step.starts_with("SEARCH edit ") && !step.contains("events_about"));
            if scans || by_room {
                scanning.push(format!("{}: {step}", statement.name));
            }
        }
    }
    assert!(scanning.is_empty(), "{scanning:#?}");
}
