//! What is not imported, and leaves the database as it was.

use super::*;
use crate::transfer::manifest::MANIFEST;

/// The words of a refusal.
#[track_caller]
fn words<T: std::fmt::Debug>(outcome: Result<T, TransferError>) -> String {
    match outcome {
        Err(TransferError::Refused(words)) => words,
        other => panic!("not refused: {other:?}"),
    }
}

fn change(dir: &Path, name: &str, from: &str, to: &str) {
    let path = dir.join(name);
    let text = fs::read_to_string(&path).expect("a file");
    assert!(text.contains(from), "{from} in {text}");
    fs::write(path, text.replacen(from, to, 1)).expect("written");
}

#[tokio::test]
async fn a_folder_that_is_no_whole_export_is_refused() {
    let (source, target) = (Source::new(), Target::new().await);
    let dir = source.export("export").dir().to_owned();
    assert!(words(Export::open(&dir.join("nowhere"))).contains("there is no folder"));
    let manifest = fs::read(dir.join(MANIFEST)).expect("a manifest");

    fs::rename(dir.join(MANIFEST), dir.join("manifest.json.part")).expect("renamed");
    assert!(words(Export::open(&dir)).contains("no finished export"));
    for (from, to, part) in [
        ("\"format\": 1", "\"format\": 2", "of form 2, this release reads form 1"),
        ("\"migration\": ", "\"migration\": 9", "import with the release that exported"),
        ("\"users\"", "\"people\"", "does not list the tables"),
        ("\"rows\": ", "\"rows\": x", "damaged"),
    ] {
        fs::write(dir.join(MANIFEST), &manifest).expect("written");
        change(&dir, MANIFEST, from, to);
        let refused = words(Export::open(&dir));
        assert!(refused.contains(part), "{refused}");
    }
    fs::write(dir.join(MANIFEST), &manifest).expect("written");
    let export = Export::open(&dir).expect("whole again");

    change(&dir, "rooms.ndjson", "Lunch", "Punch");
    let refused = words(target.import(&export).await);
    assert!(refused.contains("rooms.ndjson is not what was exported"), "{refused}");
    fs::remove_file(dir.join("rooms.ndjson")).expect("removed");
    assert!(words(target.import(&export).await).contains("rooms.ndjson is missing"));
    target.untouched().await;
    // Nor is it finished before it was begun.
    assert!(words(finish_import(&target.settings, &export, &[]).await).contains("not everything is loaded"));
}

#[tokio::test]
async fn other_files_are_compared_and_must_lie_below() {
    let (source, target) = (Source::new(), Target::new().await);
    let dir = source.folder.path().join("export");
    fs::create_dir_all(dir.join("keys")).expect("a folder");
    fs::write(dir.join("keys/one.pem"), "a key").expect("written");
    source.export_into(&dir).expect("exported");
    let export = Export::open(&dir).expect("an export");
    assert_eq!(export.manifest().files[0].path, "keys/one.pem");
    export.check().expect("whole");
    fs::write(dir.join("keys/one.pem"), "another").expect("written");
    assert!(words(target.import(&export).await).contains("keys/one.pem is not what was exported"));
    change(&dir, MANIFEST, "keys/one.pem", "../switchboard.db");
    let refused = words(target.import(&Export::open(&dir).expect("read")).await);
    assert!(refused.contains("not below the export"), "{refused}");
    target.untouched().await;
}

#[tokio::test]
async fn a_database_that_is_not_empty_or_not_at_the_migration_is_refused() {
    let (source, target) = (Source::new(), Target::new().await);
    let export = source.export("export");
    target.database.query("INSERT INTO streams (id, kind) VALUES (gen_random_uuid(), 'user')").await;
    let refused = words(target.import(&export).await);
    assert!(refused.contains("already (streams)") && refused.contains("new database"), "{refused}");
    target.database.query("DELETE FROM streams").await;

    target.database.query("UPDATE signing_manifest SET revision = 1").await;
    assert!(words(target.import(&export).await).contains("(signing_manifest)"));
    target.database.query("UPDATE signing_manifest SET revision = 0").await;

    target
        .database
        .query("INSERT INTO nodes (id, role, name, version) VALUES (gen_random_uuid(), 'api', 'chat-1', '0')")
        .await;
    let refused = words(target.import(&export).await);
    assert!(refused.contains("nodes work on this database (api chat-1)"), "{refused}");
    target.database.query("UPDATE nodes SET seen_at = now() - interval '2 minutes'").await;
    target.untouched().await;

    let newest = crate::postgres::MIGRATIONS.last().expect("a migration").version;
    let noted = target
        .database
        .query(&format!("DELETE FROM schema_migrations WHERE version = {newest} RETURNING name, checksum"))
        .await;
    let refused = words(target.import(&export).await);
    assert!(refused.contains("run `switchboard migrate`"), "{refused}");
    target.untouched().await;
    let (name, checksum) = (noted[0][0].as_deref().expect("a name"), noted[0][1].as_deref().expect("bytes"));
    target
        .database
        .query(&format!("INSERT INTO schema_migrations VALUES ({newest}, '{name}', '{checksum}', now())"))
        .await;
    target.import(&export).await.expect("imported");
    // And again there is nothing to do; for another one it is not empty.
    target.import(&export).await.expect("it is there");
    let other = Source::new();
    assert!(words(target.import(&other.export("export")).await).contains("of its own already"));
}

#[tokio::test]
async fn a_row_that_postgres_would_not_take_is_refused_by_the_export() {
    for (sql, part) in [
        ("UPDATE rooms SET name = 'hunter2' || char(0) WHERE kind = 'group'", "rooms.name has a zero"),
        ("UPDATE users SET failed_logins = 3000000000 WHERE handle = 'user4'", "failed_logins is Integer"),
        ("UPDATE users SET created_at = 999999999999999999", "users.created_at is no time"),
        ("PRAGMA foreign_keys = off; UPDATE devices SET id = x'01' WHERE id = id(15)", "id is Blob"),
    ] {
        let source = Source::new();
        source.sql(sql);
        let dir = source.folder.path().join("export");
        fs::create_dir(&dir).expect("a folder");
        let refused = words(source.export_into(&dir));
        assert!(refused.contains(part) && !refused.contains("hunter2"), "{refused}");
        assert!(words(Export::open(&dir)).contains("no finished export"));
    }
}
