//! Stands for the `switchboard` binary in the tests of the cluster: makes the roles but migrates nothing, is ready while it reaches its
//! database as a user of its role, ends on SIGTERM.
#![allow(clippy::expect_used)]

use std::env;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Other tests on the same server may be at it, too.
const ROLES: &str = "
    DO $$
    DECLARE
        name text;
    BEGIN
        FOREACH name IN ARRAY ARRAY['switchboard_api', 'switchboard_gateway', 'switchboard_worker'] LOOP
            BEGIN
                EXECUTE format('CREATE ROLE %I', name);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
        END LOOP;
    END
    $$";

fn setting(key: &str) -> String {
    env::var(format!("SWITCHBOARD__{key}")).unwrap_or_default()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["migrate", "--create-roles"] => {
            localpg::query(&setting("DATABASE__URL"), ROLES).await.expect("a database");
        }
        ["node", role] => {
            let users = localpg::query(&setting("DATABASE__URL"), "SELECT current_user").await;
            let user = users.ok().and_then(|rows| rows.into_iter().flatten().flatten().next());
            println!("{role} works as {}", user.unwrap_or_default());
            println!("{role} starts, {} {}", setting("CLUSTER__MODE"), setting("GREETING__TEXT"));
            let mut term = signal(SignalKind::terminate()).expect("a signal");
            tokio::select! {
                () = serve(role) => {}
                _ = term.recv() => println!("{role} drained"),
            }
        }
        ["--no-demo"] => {
            println!("all starts in {}", env::current_dir().expect("a directory").display());
            serve("all").await;
        }
        _ => std::process::exit(2),
    }
}

async fn serve(role: &str) {
    assert_eq!(!setting("HTTP__LISTEN").is_empty(), role == "api" || role == "all");
    assert_eq!(!setting("GATEWAY__LISTEN").is_empty(), role == "gateway");
    assert!(setting("GREETING__TEXT") != "wrong", "this node never starts");
    let admin = TcpListener::bind(setting("ADMIN__LISTEN")).await.expect("the admin address");
    loop {
        let (mut stream, _) = admin.accept().await.expect("a connection");
        let mut request = [0; 1024];
        let read = stream.read(&mut request).await.unwrap_or_default();
        let is_good = role == "all" || localpg::query(&setting("DATABASE__URL"), "SELECT 1").await.is_ok();
        let status = if is_good { "200 OK" } else { "503 Service Unavailable" };
        let path = String::from_utf8_lossy(&request[..read]);
        let path = path.split(' ').nth(1).unwrap_or_default();
        drop(stream.write_all(format!("HTTP/1.0 {status}\r\n\r\n{role} {path}").as_bytes()).await);
    }
}
