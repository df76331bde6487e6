//! What is moved, table by table, and what stays behind.
//!
//! Tables stand in the order in which they are loaded: what others refer to comes first. A test holds this against the schemas of both databases:
//! each table and each column is either here or among those that are left behind, with the reason.
//!
//! Work in hand moves as it stands, with its leases: for the cluster it is the work of a process that died. Leases run out within a minute or
//! so, and what they held is taken up as after any death.

/// A table that is moved.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name in both databases.
    pub name: &'static str,
    /// Its columns, in the order in which a line has them.
    pub columns: &'static [Column],
    /// The columns by which its rows are in order; no two rows that differ are alike in them.
    pub key: &'static [&'static str],
    /// Which of its rows are moved.
    pub(crate) rows: Rows,
}

/// A column that is moved.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name in both databases.
    pub name: &'static str,
    /// What is in it.
    pub kind: Kind,
}

/// What is in a column: how each database keeps it, and how a line shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `uuid`, a BLOB of 16 bytes; shown as UUIDs are.
    Id,
    /// `bytea`, a BLOB; shown in base64.
    Bytes,
    /// `text` in both.
    Text,
    /// `json`, TEXT; shown as a text, since it is kept as it was written.
    Json,
    /// `integer`, INTEGER.
    Integer,
    /// `bigint`, INTEGER.
    Long,
    /// `boolean`, 0 or 1.
    Bool,
    /// `timestamptz`, microseconds; shown as RFC 3339 in UTC with six digits, or `infinity` and `-infinity`.
    Time,
}

/// Which rows of a table are moved, and how they come into the target, where not simply all of them are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// All; the target has none.
    All,
    /// All; the target has one to begin with, which they replace.
    Replacing,
    /// All; not in the WAL of the target, which forgets them when it crashes.
    Unlogged,
    /// Those of which this is true in SQLite, and this in PostgreSQL: the migrations have put others there, which are no content.
    Where(&'static str, &'static str),
    /// The one number that a sequence of PostgreSQL has.
    Sequence,
}

macro_rules! tables {
    ($($name:ident by $($key:ident)+, $rows:expr => { $($column:ident: $kind:ident,)+ })+) => {
        /// The tables that are moved, in the order in which they are loaded.
        pub const TABLES: &[Table] = &[$(Table {
            name: stringify!($name),
            columns: &[$(Column { name: stringify!($column), kind: Kind::$kind }),+],
            key: &[$(stringify!($key)),+],
            rows: $rows,
        }),+];
    };
}

tables! {
    users by id, Rows::All => {
        id: Id, handle: Text, display_name: Text, role: Text, password_hash: Text, failed_logins: Integer, locked_until: Time,
        disabled_at: Time, created_at: Time,
    }
    devices by id, Rows::All => { id: Id, user_id: Id, kind: Text, name: Text, created_at: Time, }
    device_slots by device_id, Rows::All => {
        device_id: Id, user_id: Id, session_id: Id, connection_id: Id, node_id: Id, epoch: Long, taken_at: Time,
    }
    auth_sessions by id, Rows::All => {
        id: Id, user_id: Id, device_id: Id, created_at: Time, expires_at: Time, ended_at: Time,
    }
    refresh_tokens by hash, Rows::All => { hash: Bytes, session_id: Id, expires_at: Time, used_at: Time, }
    idempotency_keys by user_id key, Rows::All => {
        user_id: Id, key: Text, subject: Text, created_id: Id, created_at: Time,
    }
    streams by id, Rows::All => { id: Id, kind: Text, head: Long, floor: Long, }
    rooms by id, Rows::All => {
        id: Id, kind: Text, name: Text, dm_pair: Text, created_by: Id, created_at: Time,
    }
    members by room_id member_id, Rows::All => {
        room_id: Id, member_id: Id, member_kind: Text, role: Text, last_read: Long, muted: Bool, joined_at: Time,
    }
    events by stream_id seq, Rows::All => {
        stream_id: Id, seq: Long, id: Id, kind: Text, at: Time, sender_kind: Text, sender_id: Id, nonce: Text, data: Json,
        trace: Text,
    }
    reactions by event_id user_id emoji, Rows::All => { event_id: Id, user_id: Id, emoji: Text, }
    handles by handle, Rows::All => { handle: Text, owner_id: Id, }
    agents by id, Rows::All => {
        id: Id, owner_id: Id, handle: Text, display_name: Text, token_hash: Bytes, token_id: Id, max_runs: Integer,
        created_at: Time, revoked_at: Time,
    }
    agent_consumer_cursors by id, Rows::All => {
        id: Id, agent_id: Id, name: Text, cursor: Long, epoch: Long, holder_session_id: Id, connection_id: Id, node_id: Id,
        taken_at: Time, live_until: Time,
    }
    agent_presence by agent_id, Rows::All => { agent_id: Id, status: Text, version: Long, }
    runs by id, Rows::All => {
        id: Id, room_id: Id, agent_id: Id, requester_kind: Text, requester_id: Id, cause: Text, input: Json, message_id: Id,
        hops: Integer, status: Text, reason: Text, error: Text, epoch: Long, attempts: Integer, version: Long, doc: Text,
        doc_version: Long, holder_session_id: Id, lease_until: Time, offered_at: Time, cancel_requested_at: Time,
        created_at: Time, started_at: Time, finished_at: Time,
    }
    run_patches by run_id version, Rows::Unlogged => { run_id: Id, version: Long, epoch: Long, ops: Text, }
    tool_calls by id, Rows::All => {
        id: Id, run_id: Id, epoch: Long, room_id: Id, agent_id: Id, user_id: Id, nonce: Text, tool: Text, args: Json,
        status: Text, deadline: Time, result: Json, error: Text, created_at: Time, resolved_at: Time,
    }
    tasks by id, Rows::All => {
        id: Id, owner_id: Id, name: Text, schedule: Text, timezone: Text, anchor: Time, action: Json, room_id: Id,
        is_active: Bool, cost: Long, max_runtime_ms: Long, retries: Integer, misfire: Text, version: Long, planned_by: Long,
        planned_for: Time, hook_hash: Bytes, hook_signature: Text, hook_key: Bytes, webhook_key: Bytes, forgotten_runs: Long,
        created_at: Time, updated_at: Time, deleted_at: Time,
    }
    // Whom runs are given to that hang has a row in each database from the beginning.
    task_workers by id, Rows::Where(
        "id <> zeroblob(16)", "id <> '00000000-0000-0000-0000-000000000000'"
    ) => { id: Id, node_id: Id, lease_until: Time, started_at: Time, }
    // PostgreSQL's is filled up with rows that are never due.
    task_queue by id, Rows::Where("true", "scheduled_for < 'infinity'") => {
        id: Id, task_id: Id, owner_id: Id, chain_id: Id, state: Text, trigger: Text, cost: Long, turn: Long, attempt: Integer,
        epoch: Long, worker_id: Id, due_at: Time, scheduled_for: Time, created_at: Time, started_at: Time,
        cancel_requested_at: Time, delivery_id: Text, input: Bytes, trace: Text,
    }
    task_turn by turn, Rows::Sequence => { turn: Long, }
    task_runs by id, Rows::All => {
        id: Id, task_id: Id, chain_id: Id, status: Text, trigger: Text, attempt: Integer, epoch: Long, node_id: Id,
        scheduled_for: Time, created_at: Time, started_at: Time, finished_at: Time, delivery_id: Text, error: Text,
        output: Text,
    }
    task_deliveries by task_id delivery_id, Rows::All => { task_id: Id, delivery_id: Text, run_id: Id, created_at: Time, }
    cluster_switches by name, Rows::All => { name: Text, enabled: Bool, changed_by: Id, changed_at: Time, }
    user_presence by user_id, Rows::All => { user_id: Id, status: Text, version: Long, }
    notifications by id, Rows::All => {
        id: Id, user_id: Id, kind: Text, room_id: Id, seq: Long, source_id: Id, sender_kind: Text, sender_id: Id,
        created_at: Time, read_at: Time, withdrawn_at: Time, decision: Text, decided_at: Time,
    }
    notification_queue by notification_id, Rows::All => {
        notification_id: Id, user_id: Id, due_at: Time, push_at: Time, claim: Id,
    }
    notification_steps by notification_id at step reason node_id device_id detail, Rows::All => {
        notification_id: Id, at: Time, step: Text, reason: Text, node_id: Id, device_id: Id, detail: Text,
    }
    notification_preferences by user_id, Rows::All => { user_id: Id, preferences: Json, }
    push_subscriptions by device_id, Rows::All => {
        device_id: Id, user_id: Id, session_id: Id, driver: Text, address: Text, p256dh: Text, auth: Text, created_at: Time,
        next_at: Time, not_before: Time, claim: Id, claimed_at: Time, test_at: Time, failures: Integer, last_at: Time,
        last_result: Text,
    }
    push_deliveries by device_id notification_id, Rows::All => {
        device_id: Id, notification_id: Id, room_id: Id, reason: Text, attempts: Integer,
    }
    signing_manifest by only_row, Rows::Replacing => { only_row: Bool, revision: Long, written_at: Time, }
    signing_keys by kid, Rows::All => {
        kid: Text, created_at: Time, signs_from: Time, withdrawn: Bool, retired_at: Time, token_life: Long, made_by: Text,
        sealed: Bytes,
    }
}

/// The tables that are not moved, and why.
pub const LEFT_BEHIND: &[(&str, &str)] = &[
    ("log_state", "the epoch of the log is in the manifest; the rest names the database itself"),
    ("schema_migrations", "the target has its own; the manifest says which it must be"),
    ("tickets", "good for seconds: clients fetch others"),
    ("rate_buckets", "they fill up within a minute"),
    ("nodes", "those of the cluster are others"),
    ("autocomplete_requests", "they wait for seconds, and whoever asked asks again"),
    ("gateway_presence", "connections end with their process"),
    ("presence_epoch", "it is about gateway_presence"),
];

/// Columns of SQLite alone: made from others, or always the same.
#[cfg(test)]
pub(crate) const DERIVED: &[(&str, &str)] = &[
    ("task_turn", "only_row"),
    ("users", "handle_lower"),
    ("users", "display_name_lower"),
    ("events", "about_id"),
    ("events", "asked_run_id"),
];

impl Table {
    /// The file that its rows are in.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{}.ndjson", self.name)
    }

    /// Its columns as a list of SQL.
    pub(crate) fn listed(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|column| quoted(column.name)).collect();
        names.join(", ")
    }

    /// Its rows in order, for SQLite.
    pub(crate) fn of_sqlite(&self) -> String {
        let only = if let Rows::Where(only, _) = self.rows { only } else { "true" };
        let order: Vec<String> = self.key.iter().map(|key| quoted(key)).collect();
        self.select(&self.listed(), only, &order.join(", "))
    }

    /// Its rows in order, for PostgreSQL. Texts are in the order of their bytes and nothing comes first, as SQLite has it.
    pub(crate) fn of_postgres(&self) -> String {
        if self.rows == Rows::Sequence {
            return format!("SELECT last_value FROM {}", quoted(self.name));
        }
        // Only where all columns are needed to tell rows apart may they be null; elsewhere the key's index has the order.
        let nulls = if self.key.len() == self.columns.len() { " NULLS FIRST" } else { "" };
        let order = self.key.iter().map(|key| {
            let is_text = self.columns.iter().any(|column| column.name == *key && column.kind == Kind::Text);
            format!("{}{}{nulls}", quoted(key), if is_text { " COLLATE \"C\"" } else { "" })
        });
        self.select(&self.listed(), self.only_postgres(), &order.collect::<Vec<_>>().join(", "))
    }

    /// Whether PostgreSQL has rows that would be moved.
    pub(crate) fn any_of_postgres(&self) -> String {
        let only = if self.rows == Rows::Replacing { "revision > 0" } else { self.only_postgres() };
        format!("SELECT EXISTS (SELECT FROM {} WHERE {only})", quoted(self.name))
    }

    fn only_postgres(&self) -> &'static str {
        if let Rows::Where(_, only) = self.rows { only } else { "true" }
    }

    fn select(&self, what: &str, only: &str, order: &str) -> String {
        format!("SELECT {what} FROM {} WHERE {only} ORDER BY {order}", quoted(self.name))
    }
}

/// A name of the list above as SQL has it; some of them are words of the language.
fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}
