//! The queue of runs in PostgreSQL: plans that were made for another size, and rows that can't be removed yet.

use std::path::Path;

use testkit::postgres::TestDatabase;
use tokio_postgres::Client;

use super::log::{beside, world};
use crate::suite::task_scene::{Chores, done};

mod in_place;
mod snapshot;
mod waiting;

/// Statements that run all the time, with the parameters of an everyday call. `{worker}`, `{task}`, `{tasks}`, `{run}`, `{runs}` and arrays of
/// as many elements as there are runs are filled in.
const HOT: [(&str, &str); 20] = [
    ("queue/claim", "{worker}, 200, 0"),
    (
        "queue/finish",
        "{runs}, {tasks}, {of worker}, {of 1::bigint}, {of 'succeeded'::text}, {of null::text}, {of null::text}, {of 1::bigint}, \
         {fresh}, {of 0::bigint}, {of null::uuid}, {of null::timestamptz}, true",
    ),
    ("queue/promote", "60000000, 200"),
    ("queue/unblock", "{tasks}"),
    ("queue/hold", "{worker}, {run}, 1"),
    ("queue/next_due", ""),
    ("queue/late", "60000000, 100"),
    ("queue/lost", "100"),
    ("queue/advance", ""),
    ("queue/evict", "60000000"),
    ("queue/hand_back_unknown", "{worker}, {runs}"),
    ("queue/cancelled", "{runs}"),
    ("queue/renew", "{worker}, 60000000"),
    ("tasks/queue_run", "gen_random_uuid(), {task}, 'webhook', gen_random_uuid()::text, null, 100, null"),
    ("tasks/stop_run", "{run}"),
    ("tasks/stop_all", "{task}"),
    ("tasks/drop_queued", "{task}"),
    ("tasks/cancel_queued", "{run}, 1, null, null"),
    ("tasks/unplan", "{task}"),
    ("tasks/hook", "'\\x00'"),
];

/// What people look at; the history may be read through until the database has counted it.
const READ: [(&str, &str); 3] =
    [("tasks/runs", "{task}, null, 50"), ("tasks/found", "{run}"), ("tasks/read", "{owner}, {task}")];

/// What a statement may look at: much less than a whole table, or one state of it.
const MOST_ROWS: f64 = 3500.0;

/// Tasks with one run each, of which many are ready, running, and due, and others that are blocked.
const FILL: &str = "
INSERT INTO tasks (id, owner_id, name, timezone, anchor, action, is_active, cost, max_runtime_ms, retries, misfire)
SELECT gen_random_uuid(), (SELECT owner_id FROM tasks LIMIT 1), 'x', 'UTC', now(), '{}', true, 4, 1000, 1, 'once'
FROM generate_series(1, 20000);
INSERT INTO task_queue (id, task_id, owner_id, chain_id, state, trigger, cost, turn, due_at, scheduled_for, worker_id, epoch)
SELECT gen_random_uuid(), id, owner_id, gen_random_uuid(), state, 'manual', 4, n * 4, now() - interval '1 s', now(),
    CASE state WHEN 'running' THEN (SELECT id FROM task_workers WHERE lease_until > now()) END, 1
FROM (
    SELECT *, CASE WHEN n <= 1500 THEN 'running' WHEN n <= 13000 THEN 'ready' ELSE 'waiting' END AS state
    FROM (SELECT *, row_number() OVER (ORDER BY random()) AS n FROM tasks) AS numbered
) AS task
ON CONFLICT DO NOTHING;
INSERT INTO task_queue (id, task_id, owner_id, chain_id, state, trigger, cost, due_at, scheduled_for)
SELECT gen_random_uuid(), task_id, owner_id, gen_random_uuid(), 'blocked', 'manual', 4, now(), now()
FROM task_queue, generate_series(1, 3) WHERE state = 'running';
SELECT setval('task_turn', (SELECT max(turn) FROM task_queue WHERE state = 'running'));
INSERT INTO task_runs (id, task_id, chain_id, status, trigger, attempt, epoch, scheduled_for, created_at)
SELECT gen_random_uuid(), task_id, chain_id, 'succeeded', 'manual', 1, 1, now(), now() FROM task_queue";

/// The values that are filled in, of what is in the tables.
async fn filled(client: &Client, parameters: &str) -> String {
    let sql = "
        SELECT quote_literal(owner) AS owner, quote_literal(worker) AS worker, quote_literal(coalesce(task, gen_random_uuid())) AS task,
            quote_literal(coalesce(run, gen_random_uuid())) AS run,
            quote_literal(coalesce(runs, '{}')) AS runs, quote_literal(coalesce(tasks, '{}')) AS tasks,
            coalesce(cardinality(runs), 0) AS many
        FROM (SELECT id AS worker FROM task_workers WHERE lease_until > now()) AS worker,
            (SELECT owner_id AS owner FROM tasks LIMIT 1) AS owner,
            (SELECT (array_agg(id))[1] AS run, (array_agg(task_id))[1] AS task, array_agg(id) AS runs, array_agg(task_id) AS tasks
             FROM (SELECT * FROM task_queue WHERE state = 'running' LIMIT 200) AS picked) AS active";
    let row = client.query_one(sql, &[]).await.expect("values");
    let many: i32 = row.get("many");
    let of = |value: &str| format!("array_fill({value}, ARRAY[{many}])");
    let worker: String = row.get("worker");
    let mut filled = parameters.to_owned();
    for name in ["owner", "worker", "task", "run", "runs", "tasks"] {
        filled = filled.replace(&format!("{{{name}}}"), row.get(name));
    }
    filled = filled.replace("{of worker}", &of(&format!("{worker}::uuid")));
    let fresh: Vec<_> = (0..many).map(|_| "gen_random_uuid()").collect();
    filled = filled.replace("{fresh}", &format!("ARRAY[{}]::uuid[]", fresh.join(", ")));
    for value in
        ["1::bigint", "0::bigint", "'succeeded'::text", "null::text", "null::uuid", "null::timestamptz"]
    {
        filled = filled.replace(&format!("{{of {value}}}"), &of(value));
    }
    filled
}

/// The most rows that a node of a plan looked at.
fn looked_at(plan: &[String]) -> f64 {
    let number = |text: &str, name: &str| -> Option<f64> {
        let rest = text.split_once(name)?.1;
        let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        digits.parse().ok()
    };
    let mut most = 0.0_f64;
    let mut loops = 1.0;
    for line in plan {
        if let (Some(rows), Some(times)) = (number(line, "rows="), number(line, "loops=")) {
            loops = times;
            most = most.max(rows * times);
        }
        for removed in
            ["Rows Removed by Filter: ", "Rows Removed by Join Filter: ", "Rows Removed by Index Recheck: "]
        {
            most = most.max(number(line, removed).unwrap_or(0.0) * loops);
        }
    }
    most
}

/// Prepares everything, and runs it often enough that the database keeps the plans.
async fn prepare(client: &Client, statements: &[(&str, &str)]) {
    for (name, parameters) in statements {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("sql/postgres/{name}.sql"));
        let sql = std::fs::read_to_string(file).expect("a statement");
        let prepared = name.replace('/', "_");
        client.batch_execute(&format!("PREPARE {prepared} AS {sql}")).await.expect(name);
        let execute = execute(name, &filled(client, parameters).await);
        for _ in 0..8 {
            client.batch_execute(&format!("BEGIN; {execute}; ROLLBACK")).await.expect(name);
        }
    }
}

fn execute(name: &str, parameters: &str) -> String {
    let prepared = name.replace('/', "_");
    if parameters.is_empty() {
        format!("EXECUTE {prepared}")
    } else {
        format!("EXECUTE {prepared}({parameters})")
    }
}

async fn nothing_reads_all(client: &Client, statements: &[(&str, &str)], when: &str) {
    for (name, parameters) in statements {
        let execute = execute(name, &filled(client, parameters).await);
        client.batch_execute("BEGIN").await.expect("begun");
        let explain = format!("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) {execute}");
        let plan = client.query(&explain, &[]).await.expect(name);
        client.batch_execute("ROLLBACK").await.expect("undone");
        let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
        let whole = plan.iter().any(|line| {
            ["tasks", "task_queue", "task_runs", "task_deliveries"]
                .iter()
                .any(|table| line.contains(&format!("Seq Scan on {table} ")))
        });
        let rows = looked_at(&plan);
        assert!(!whole && rows <= MOST_ROWS, "{name} looks at {rows} rows, {when}:\n{}", plan.join("\n"));
        // A list that is searched once for each run makes a batch cost the square of its size.
        let searched = plan.iter().any(|line| line.contains("= ANY ("));
        assert!(*name != "queue/finish" || !searched, "{name} searches a list, {when}:\n{}", plan.join("\n"));
    }
}

/// A person with a few tasks, a worker, and connections beside the store's.
async fn small() -> (Chores, TestDatabase, Client, Client) {
    let (world, database) = world().await;
    let chores = Chores::new(world).await;
    let session = chores.worker().await;
    for _ in 0..5 {
        let task = chores.task().await;
        chores.ask(task).await;
    }
    for run in chores.claim(session, 3).await {
        chores.finish(session, &done(&run)).await;
    }
    let (one, two) = (beside(&database).await, beside(&database).await);
    // What the database counts is said here, not by its own rhythm.
    one.batch_execute(
        "ALTER TABLE task_queue SET (autovacuum_enabled = off); ALTER TABLE tasks SET (autovacuum_enabled = off);
        ALTER TABLE task_runs SET (autovacuum_enabled = off)",
    )
    .await
    .expect("altered");
    (chores, database, one, two)
}

/// Plans are kept until the database counts again. Made while there is little, they must do for much.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_made_for_little_do_for_much() {
    for (when, before) in [
        ("never counted", "SELECT 1"),
        ("counted with little", "VACUUM ANALYZE"),
        (
            "counted when nothing was queued",
            "DELETE FROM task_queue WHERE due_at < 'infinity'; VACUUM ANALYZE",
        ),
    ] {
        let (_chores, _database, client, other) = small().await;
        for statement in before.split("; ") {
            client.batch_execute(statement).await.expect(statement);
        }
        prepare(&client, &HOT).await;
        other.batch_execute(FILL).await.expect("filled");
        nothing_reads_all(&client, &HOT, when).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_made_for_much_do_not_read_it_all() {
    let (_chores, _database, client, other) = small().await;
    other.batch_execute(FILL).await.expect("filled");
    for mode in ["auto", "force_generic_plan", "force_custom_plan"] {
        for counted in ["SELECT 1", "VACUUM ANALYZE"] {
            client
                .batch_execute(&format!("DEALLOCATE ALL; SET plan_cache_mode = {mode}"))
                .await
                .expect("set");
            client.batch_execute(counted).await.expect("counted");
            let all: Vec<_> = HOT.into_iter().chain(READ).collect();
            prepare(&client, &all).await;
            nothing_reads_all(&client, &all, &format!("{mode}, {counted}")).await;
        }
    }
}
