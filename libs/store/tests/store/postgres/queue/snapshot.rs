//! Rows that are gone, but are kept for a snapshot that somebody holds.

use store::queue::Work;

use super::super::log::{beside, world};
use crate::suite::task_scene::{Chores, done};

/// Runs that are claimed and ended.
const RUNS: usize = 30_000;
const BATCH: u32 = 500;
/// Runs behind what was claimed last that a claim looks at.
const BEHIND: usize = 1000;

/// One owner's tasks with a run each that is ready, in another order than they lie in, or pages would not say how many rows were looked at.
const FILL: &str = "
INSERT INTO tasks (id, owner_id, name, timezone, anchor, action, is_active, cost, max_runtime_ms, retries, misfire)
SELECT gen_random_uuid(), id, 'x', 'UTC', now(), '{\"kind\": \"system\", \"name\": \"noop\"}', true, 4, 1000, 1, 'once'
FROM users, generate_series(1, 30000);
INSERT INTO task_queue (id, task_id, owner_id, chain_id, state, trigger, cost, turn, due_at, scheduled_for)
SELECT gen_random_uuid(), id, owner_id, gen_random_uuid(), 'ready', 'manual', 4, 4 * place, now(), now()
FROM (SELECT *, row_number() OVER (ORDER BY random()) AS place FROM tasks) AS placed ORDER BY id";

/// It does nothing for as long as a busy machine takes, which the server would end.
const HOLD: &str =
    "SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1";

/// A claim looks at no more rows at the end than at the beginning, though none of those before may be removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_do_not_slow_down_under_a_held_snapshot() {
    let (world, database) = world().await;
    let chores = Chores::new(world).await;
    let (holder, observer) = (beside(&database).await, beside(&database).await);
    observer.batch_execute(FILL).await.expect("filled");
    holder.batch_execute(HOLD).await.expect("held");
    let session = chores.worker().await;
    let (mut finished, mut turns, mut looks) = (Vec::new(), Vec::new(), Vec::new());
    let explain =
        format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF) EXECUTE claim('{session}', {BATCH}, $1)");
    let claim = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/postgres/queue/claim.sql"));
    observer.batch_execute(&format!("PREPARE claim AS {claim}")).await.expect("prepared");
    loop {
        let floor = turns.len().checked_sub(BEHIND).map_or(0, |behind| turns[behind]);
        if turns.len() % 5000 == 0 {
            let explain = explain.replace("$1", &floor.to_string());
            observer.batch_execute("BEGIN").await.expect("begun");
            let plan = observer.query(&explain, &[]).await.expect("explained");
            observer.batch_execute("ROLLBACK").await.expect("undone");
            let sorts = plan.iter().any(|row| row.get::<_, &str>(0).contains("Sort Key: task_queue.turn"));
            assert!(!sorts, "a claim reads and sorts all that is ready");
            let pages = plan.iter().find_map(|row| pages(row.get(0))).expect("pages");
            looks.push(pages);
        }
        let work = Work { finished: &finished, budget: BATCH, floor };
        let claimed = chores.store.work(session, work).await.expect("an answer").claimed;
        if claimed.is_empty() {
            break;
        }
        turns.extend(claimed.iter().map(|run| run.turn));
        finished = claimed.iter().map(done).collect();
    }
    assert_eq!(turns.len(), RUNS);
    let ready = &looks[..looks.len() - 1];
    let (first, last) = (ready[0], ready[ready.len() - 1]);
    assert!(last < first * 2, "pages of a claim, in the course of time: {looks:?}");
    holder.batch_execute("COMMIT").await.expect("released");
}

/// The pages that a plan looked at, by the line of its topmost node.
fn pages(line: &str) -> Option<u64> {
    let counts = line.trim().strip_prefix("Buffers: shared ")?;
    let count = |name| {
        let counted = counts.split(' ').find_map(|part| part.strip_prefix(name)).unwrap_or("0");
        counted.parse::<u64>().expect("a number")
    };
    Some(count("hit=") + count("read="))
}
