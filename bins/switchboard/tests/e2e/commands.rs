//! The commands of whoever runs a server, and what they say about a configuration that is not good.

use std::fs;
use std::process::Command;

use testkit::http::Request;
use testkit::postgres::{OwnServer, TestDatabase, url_of_role};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::program::{program, run, run_with};

/// A command on a database, with a key directory that is not there.
fn on(database: &TestDatabase, keys: &std::path::Path, arguments: &str) -> Command {
    let mut command = program(arguments);
    command
        .env("SWITCHBOARD__DATABASE__URL", database.url())
        .env("SWITCHBOARD__SECRETS__SIGNING_KEY_DIR", keys)
        .env("SWITCHBOARD__AUTH__ARGON2_MEMORY_KIB", "64");
    command
}

#[tokio::test]
async fn without_a_database_it_says_what_to_do() {
    let nowhere = tempfile::tempdir().expect("a directory");
    let there = |arguments: &str| {
        let mut command = program(arguments);
        command.current_dir(nowhere.path());
        command
    };
    for arguments in ["nodes", "migrate", "doctor", "user add alex"] {
        let parts = ["--database-url postgres://", "database.url", "--data-dir"];
        run(there(arguments)).await.refused(1, &parts);
    }
    run(there("backup copy")).await.refused(1, &["no embedded database", "embedded.file"]);
    let left = fs::read_dir(nowhere.path()).expect("readable").count();
    assert_eq!(left, 0, "nothing was made by looking");
}

#[tokio::test]
async fn a_bad_setting_is_told_with_its_key_and_its_source_by_every_command() {
    for arguments in ["", "cluster", "migrate", "doctor", "node api", "--check-config"] {
        let mut command = program(arguments);
        command.env("SWITCHBOARD__GATEWAY__HEARTBEAT_INTERVALL", "5s");
        let parts = [
            "gateway.heartbeat_intervall",
            "SWITCHBOARD__GATEWAY__HEARTBEAT_INTERVALL",
            "did you mean gateway.heartbeat_interval?",
        ];
        run(command).await.refused(2, &parts);
    }
    let mut command = program("cluster");
    command.env("SWITCHBOARD__RELAY__SHARDS", "0");
    run(command).await.refused(2, &["relay.shards", "\"0\"", "SWITCHBOARD__RELAY__SHARDS", "1 to 64"]);

    for (name, value, allowed) in [
        ("SWITCHBOARD__GATEWAY__ALLOWED_ORIGINS", "nowhere", "https://chat.example.com"),
        ("SWITCHBOARD__GATEWAY__ALLOWED_ORIGINS", "https://Chat.example.com", "lower case"),
        ("SWITCHBOARD__HTTP__ALLOWED_ORIGINS", "https://chat.example.com:443", "https://chat.example.com"),
        ("SWITCHBOARD__LOG__FILTER", "cluster=loud", "info,cluster=debug"),
        ("SWITCHBOARD__LOG__FILTER", "infoo", "info,cluster=debug"),
    ] {
        let key = name["SWITCHBOARD__".len()..].to_lowercase().replace("__", ".");
        for arguments in ["--check-config", "node gateway", "cluster", "nodes"] {
            let mut command = program(arguments);
            command.env(name, value);
            run(command).await.refused(2, &[&key, value, name, allowed]);
        }
    }

    run(program("doctor --database-url mysql://alex:hunter2@db.example.com"))
        .await
        .refused(2, &["database.url", "the command line", "postgres://"]);

    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("switchboard.toml");
    fs::write(&file, "[http]\nlisten = \"somewhere\"\n").expect("written");
    let mut command = program("--check-config");
    command.env("SWITCHBOARD_CONFIG", &file);
    let path = file.display().to_string();
    run(command).await.refused(2, &["http.listen", "somewhere", &path, "such as 127.0.0.1:8080"]);
    fs::write(&file, "[http]\nlisten = \"127.0.0.1:0\"\n").expect("written");
    let good = run(program(&format!("--check-config --config {path}"))).await.good();
    assert_eq!(good.out, "the configuration is good\n");
}

#[tokio::test]
async fn a_check_finds_what_the_start_of_the_role_would() {
    let database = ("SWITCHBOARD__DATABASE__URL", "postgres://alex@127.0.0.1:1/chat");
    let sealed = ("SWITCHBOARD__SIGNING_KEY__DRIVER", "postgres");
    let taken = ("SWITCHBOARD__ADMIN__LISTEN", "127.0.0.1:8081");
    let meant = ("SWITCHBOARD_HTTP__LISTEN", "127.0.0.1:0");
    for (role, settings, parts) in [
        ("api", &[][..], ["database.url", "postgres://"]),
        ("worker", &[][..], ["database.url", "postgres://"]),
        ("gateway", &[database, sealed][..], ["secrets.seal_key", sealed.0]),
        ("gateway", &[database, taken][..], ["admin.listen", "gateway.listen (127.0.0.1:8081)"]),
        ("worker", &[database, ("SWITCHBOARD__SCHEDULER__LEASE", "0s")][..], ["scheduler.lease", "1s to"]),
        ("worker", &[database, meant][..], [meant.0, "SWITCHBOARD__HTTP__LISTEN"]),
    ] {
        for more in ["--check-config", ""] {
            let mut command = program(&format!("node {role} {more}"));
            command.envs(settings.iter().copied());
            run(command).await.refused(2, &parts);
        }
    }
    let mut command = program("--check-config");
    command.envs([database, sealed]);
    run(command).await.refused(2, &["secrets.seal_key"]);
    for (role, settings) in [("worker", &[database, sealed]), ("api", &[database, taken])] {
        let mut command = program(&format!("node {role} --check-config"));
        command.envs(settings.iter().copied());
        assert_eq!(run(command).await.good().out, "the configuration is good\n");
    }
}

#[tokio::test]
async fn a_node_of_a_role_that_is_told_to_be_alone_warns() {
    for (role, mode, warned) in
        [("worker", "single", true), ("worker", "multi", false), ("api", "single", true)]
    {
        let mut command = program(&format!("node {role}"));
        command
            .env("SWITCHBOARD__DATABASE__URL", "postgres://alex@127.0.0.1:1/chat")
            .env("SWITCHBOARD__HTTP__LISTEN", "127.0.0.1:0")
            .env("SWITCHBOARD__ADMIN__LISTEN", "127.0.0.1:0")
            .env("SWITCHBOARD__CLUSTER__MODE", mode);
        let ran = run(command).await;
        let said = format!("{}{}", ran.out, ran.err);
        assert_eq!(said.contains("tells no other node and hears none"), warned, "{said}");
        assert_eq!(ran.code, 1, "its database is away: {said}");
    }
}

#[tokio::test]
async fn a_health_check_says_what_the_node_beside_it_says() {
    let node = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let listen = format!("0.0.0.0:{}", node.local_addr().expect("an address").port());
    let check = |arguments: &str| {
        let mut command = program(arguments);
        command.env("SWITCHBOARD__ADMIN__LISTEN", &listen);
        run(command)
    };
    let answer = async |target: &str, answer: &str| {
        let (mut stream, _) = node.accept().await.expect("a connection");
        let request = Request::read(&mut stream).await.expect("a request");
        assert!(request.target.starts_with(target), "{request:?}");
        stream.write_all(answer.as_bytes()).await.expect("sent");
    };
    let (ran, ()) =
        tokio::join!(check("healthcheck live"), answer("GET /healthz/live ", "HTTP/1.1 200 OK\r\n\r\n"));
    assert_eq!(ran.good().out, "live\n");
    let unready = "HTTP/1.1 503 Service Unavailable\r\n\r\n{\"draining\":\"the node was told to stop\"}";
    let (ran, ()) = tokio::join!(check("healthcheck"), answer("GET /healthz/ready ", unready));
    ran.refused(1, &[&listen, "is not ready", "503", "the node was told to stop"]);
    drop(node);
    check("healthcheck").await.refused(1, &[&listen, "refused"]);
}

#[tokio::test]
async fn a_secret_comes_from_a_file() {
    let database = TestDatabase::empty().await;
    let dir = tempfile::tempdir().expect("a directory");
    let (url, missing) = (dir.path().join("url"), dir.path().join("missing"));
    fs::write(&url, format!("{}\n", database.url())).expect("written");
    let with = |variable: &str, path: &std::path::Path| {
        let mut command = program("migrate");
        command.env(variable, path);
        run(command)
    };
    assert!(with("SWITCHBOARD__DATABASE__URL_FILE", &url).await.good().out.contains("applied 0001"));
    let variable = "SWITCHBOARD__DATABASE__PASSWORD_FILE";
    let parts = ["database.password", variable, &missing.display().to_string(), "No such file"];
    with(variable, &missing).await.refused(2, &parts);
}

#[tokio::test]
async fn secrets_of_the_command_line_are_not_shown() {
    let ran = run(program("doctor --database-url postgres://alex:hunter2@db.example.com/x?sslmode=y")).await;
    assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
    ran.refused(2, &["database.url", "verify-full"]);
    // Nobody listens there; the address may be told.
    let ran = run(program("doctor --database-url postgres://alex:hunter2@127.0.0.1:1/chat")).await;
    assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
    assert!(ran.out.contains("FAULT  database"), "{ran:?}");
    ran.refused(1, &["one thing is wrong"]);
}

#[tokio::test]
async fn a_database_that_can_not_be_used_is_named_with_what_its_server_said_and_what_to_do() {
    let (database, dir) = (TestDatabase::empty().await, tempfile::tempdir().expect("a directory"));
    let url = database.url();
    let (server, _) = url.rsplit_once('/').expect("a URL");
    let (login, host) = server.rsplit_once('@').expect("a URL");
    let password = login.rsplit_once(':').expect("a password").1;
    let missing = format!("{server}/nothing_here");
    let shut_out = format!("postgres://nobody:{password}@{host}/{}", database.name());
    let nobody_there = format!("postgres://alex:{password}@127.0.0.1:1/chat");
    let place = |database: &str| format!("{host}/{database}");
    for arguments in ["nodes", "user add alex", "migrate", "doctor", "cluster", "node api", ""] {
        for (url, parts) in [
            (&missing, [&place("nothing_here"), "database \"nothing_here\" does not exist", "createdb"]),
            (
                &shut_out,
                [
                    &place(database.name()),
                    "password authentication failed",
                    "the password there or in database.password",
                ],
            ),
            (&nobody_there, ["127.0.0.1:1/chat", "refused", "check database.url"]),
        ] {
            let mut command = program(arguments);
            command
                .current_dir(dir.path())
                .env("SWITCHBOARD__DATABASE__URL", url)
                .env("SWITCHBOARD__HTTP__LISTEN", "127.0.0.1:0")
                .env("SWITCHBOARD__ADMIN__LISTEN", "127.0.0.1:0");
            let ran = run(command).await;
            let said = format!("{}{}", ran.out, ran.err);
            assert_eq!(ran.code, 1, "{arguments}: {ran:?}");
            assert!(!said.contains(password), "{said}");
            for part in parts {
                assert!(said.contains(part), "{arguments}: {part:?} is missing in {said}");
            }
        }
    }
}

#[tokio::test]
async fn a_database_is_looked_into_migrated_and_filled() {
    let (database, dir) = (TestDatabase::empty().await, tempfile::tempdir().expect("a directory"));
    let keys = dir.path().join("keys");
    let on = |arguments| on(&database, &keys, arguments);

    let looked = run(on("doctor")).await;
    assert!(
        looked.out.contains("FAULT  migrations") && looked.out.contains("switchboard migrate"),
        "{looked:?}"
    );
    assert!(looked.out.contains("ok     listen") && looked.out.contains("ok     clocks"), "{looked:?}");
    looked.refused(1, &["one thing is wrong"]);
    run(on("nodes")).await.refused(1, &["switchboard migrate"]);

    let migrated = run(on("migrate")).await.good();
    assert!(migrated.out.starts_with("applied 0001 create_people\n"), "{migrated:?}");
    let again = run(on("migrate")).await.good();
    assert!(again.out.starts_with("nothing to do"), "{again:?}");
    let epochs = run(on("migrate --new-log-epoch")).await.good();
    let more = run(on("migrate --new-log-epoch")).await.good();
    let epoch = epochs.out.split("the log epoch is ").nth(1).and_then(|rest| rest.split(' ').next());
    assert!(more.out.contains(&format!("(it was {})", epoch.expect("an epoch"))), "{epochs:?} {more:?}");

    let looked = run(on("doctor")).await.good();
    assert!(!looked.out.contains("FAULT") && looked.out.lines().count() == 8, "{looked:?}");
    assert_eq!(run(on("nodes")).await.good().out, "no node runs on this database\n");

    people(&on).await;
    let none = run(on("keys list")).await.good();
    assert!(none.out.contains("there are no keys yet"), "{none:?}");
    assert!(!keys.exists(), "commands make no keys");
    fs::create_dir(&keys).expect("made");
    fs::write(keys.join("manifest.json"), "{").expect("written");
    let looked = run(on("doctor")).await;
    assert!(looked.out.contains("FAULT  keys") && looked.out.contains("chmod 0700"), "{looked:?}");
}

async fn people(on: &impl Fn(&'static str) -> Command) {
    let added =
        run_with(on("user add alex --display-name Alex --admin --password-stdin"), "correct horse\n").await;
    assert!(added.good().out.starts_with("added alex (admin), id "));
    run_with(on("user add alex --password-stdin"), "correct horse\n")
        .await
        .refused(1, &["this handle is taken"]);
    run_with(on("user add sam --password-stdin"), "short\n").await.refused(1, &["password", "10 to 256"]);
    run_with(on("user add sam --password-stdin"), "").await.refused(1, &["password"]);
    run(on("user add Sam")).await.refused(1, &["handle", "a-z"]);
    let made = run(on("user add sam")).await.good();
    assert!(made.out.contains("added sam (user)") && made.out.contains("the password, shown this once: "));
}

#[tokio::test]
async fn agents_say_what_they_lack_and_take_no_secret_as_an_argument() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("tools.json");
    fs::write(&file, "{}").expect("written");
    let agent = "agent --openai-base-url http://127.0.0.1:1/v1 --model m";
    for arguments in ["demo-agent", agent] {
        run(program(arguments)).await.refused(1, &["SWITCHBOARD_AGENT_TOKEN", "--token-file"]);
    }
    let with_token = |arguments: &str| {
        let mut command = program(arguments);
        command.env("SWITCHBOARD_AGENT_TOKEN", "swa_hunter2");
        command
    };
    let ran = run(with_token("demo-agent --url http://127.0.0.1:1")).await;
    assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
    ran.refused(1, &["http://127.0.0.1:1", "refused"]);
    for (more, parts) in [
        ("--openai-base-url x".to_owned(), ["the base URL", "without a base"]),
        (format!("{} --tools {}", &agent[6..], file.display()), ["tools.json", "no JSON array"]),
        (format!("{} --api-key-file {}/none", &agent[6..], dir.path().display()), ["can't read", "none"]),
    ] {
        let model = if more.contains("--model") { "" } else { "--model m" };
        run(with_token(&format!("agent {more} {model}"))).await.refused(1, &parts);
    }
    for bad in ["--history 0", "--stall-timeout soon", "--stall-timeout 0s", "--token swa_x", "--api-key x"] {
        let option = bad.split(' ').next().expect("an option");
        run(program(&format!("{agent} {bad}"))).await.refused(2, &[option]);
    }
}

#[tokio::test]
async fn doctor_changes_nothing_and_sees_what_migrate_would_refuse() {
    let server = OwnServer::fast().await;
    let owner = server.database("chat").await.expect("a database");
    let on = |arguments: &str| {
        let mut command = program(arguments);
        command.env("SWITCHBOARD__DATABASE__URL", &owner).env("SWITCHBOARD__SIGNING_KEY__DRIVER", "postgres");
        command.env("SWITCHBOARD__SECRETS__SEAL_KEY", "c2VhbGVkIGJ5IHRlc3RzIHRoYXQgcm90YXRlIGtleXM=");
        command
    };
    run(on("migrate --create-roles")).await.good();
    let mut of_a_worker = on("doctor --role worker");
    of_a_worker.env("SWITCHBOARD__DATABASE__URL", url_of_role(&owner, "worker").await);
    of_a_worker.env_remove("SWITCHBOARD__SECRETS__SEAL_KEY");
    run(of_a_worker).await.good();

    // As a dump that was restored into another server.
    localpg::query(&owner, "UPDATE log_state SET system_identifier = 'of another server'")
        .await
        .expect("moved");
    let epoch = localpg::query(&owner, "SELECT log_epoch FROM log_state").await.expect("an epoch");
    let epoch = epoch[0][0].clone().expect("an epoch");
    run(on("doctor")).await.good();
    let renewed = run(on("migrate --new-log-epoch")).await.good();
    assert!(renewed.out.contains(&format!("(it was {epoch})")), "{epoch}: {renewed:?}");
    let again = run(on("migrate --new-log-epoch")).await.good();
    assert!(!again.out.contains(&epoch) && again.out.contains("(it was "), "{again:?}");

    localpg::query(&owner, "UPDATE schema_migrations SET checksum = '' WHERE version = 3")
        .await
        .expect("changed");
    let looked = run(on("doctor")).await;
    assert!(
        looked.out.contains("FAULT  migrations") && looked.out.contains("another text of 0003"),
        "{looked:?}"
    );
}

#[tokio::test]
async fn users_of_nodes_may_do_what_their_role_does_and_nothing_else() {
    let server = OwnServer::fast().await;
    let owner = server.database("chat").await.expect("a database");
    let as_user = |url: &str, arguments: &str| {
        let mut command = program(arguments);
        command.env("SWITCHBOARD__DATABASE__URL", url).env("SWITCHBOARD__AUTH__ARGON2_MEMORY_KIB", "64");
        command
    };
    let migrated = run(as_user(&owner, "migrate")).await.good();
    assert!(!migrated.out.contains("switchboard_api"), "nobody asked for roles: {migrated:?}");
    let looked = run(as_user(&owner, "doctor --role api")).await;
    assert!(looked.out.contains("FAULT  rights") && looked.out.contains("is a superuser"), "{looked:?}");

    // Whoever may not make roles is told what somebody else can do.
    let make = "CREATE ROLE alex LOGIN PASSWORD 'hunter2'; GRANT pg_read_all_data TO alex";
    localpg::query(&owner, make).await.expect("a user");
    let (_, host) = owner.rsplit_once('@').expect("a URL");
    let alex = format!("postgres://alex:hunter2@{host}");
    run(as_user(&alex, "migrate --create-roles"))
        .await
        .refused(1, &["CREATEROLE", "CREATE ROLE switchboard_api; CREATE ROLE switchboard_gateway;"]);
    let looked = run(as_user(&alex, "doctor")).await;
    assert!(looked.out.contains("alex may not do what nodes do, of whatever role"), "{looked:?}");

    let made = run(as_user(&owner, "migrate --create-roles")).await.good();
    let rights = "switchboard_api, switchboard_gateway, switchboard_worker have the rights of this release";
    assert!(made.out.contains(rights), "{made:?}");
    for role in ["api", "gateway", "worker"] {
        let url = url_of_role(&owner, role).await;
        let looked = run(as_user(&url, &format!("doctor --role {role}"))).await.good();
        let good = format!("ok     rights      test_{role} may do what {role} nodes do, and nothing else");
        assert!(looked.out.contains(&good), "{looked:?}");
        let looked = run(as_user(&url, "doctor")).await.good();
        assert!(
            looked.out.contains(&format!("test_{role} may do what nodes do of role {role}\n")),
            "{looked:?}"
        );
        run(as_user(&url, "migrate")).await.refused(1, &["does not let its user do this"]);
    }
    let (api, gateway) = (url_of_role(&owner, "api").await, url_of_role(&owner, "gateway").await);
    let looked = run(as_user(&gateway, "doctor --role api")).await;
    assert!(looked.out.contains("FAULT  rights      test_gateway lacks what api nodes need: "), "{looked:?}");
    assert!(looked.out.contains("GRANT switchboard_api TO test_gateway"), "{looked:?}");
    run(as_user(&api, "user add sam")).await.good();
    run(as_user(&gateway, "user add robin")).await.refused(1, &["does not let its user do this"]);

    localpg::query(&owner, "GRANT TRUNCATE ON events TO test_gateway").await.expect("granted");
    let looked = run(as_user(&gateway, "doctor --role gateway")).await;
    assert!(looked.out.contains("may do more than gateway nodes need: TRUNCATE ON events\n"), "{looked:?}");
    looked.refused(1, &["one thing is wrong"]);
}
