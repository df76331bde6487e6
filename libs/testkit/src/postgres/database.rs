//! A database of one test on the shared server.

use std::fmt::Display;
use std::future::Future;
use std::thread;

use super::shared::{Shared, shared};
use crate::workspace::{self, Hold, hash, lock};

/// A database that only this test knows; dropped with it.
#[derive(Debug)]
pub struct TestDatabase {
    server: &'static Shared,
    name: String,
}

impl TestDatabase {
    /// An empty database.
    ///
    /// # Panics
    ///
    /// When there is no PostgreSQL, with the reason.
    pub async fn empty() -> Self {
        Self::cloned("template1").await
    }

    /// A clone of the database that `migrate` made from an empty one. It is called with the URL, and only by the first
    /// test of all that names this `key`; what changes the outcome of `migrate` must change the key
    /// (a hash of the migrations).
    ///
    /// # Panics
    ///
    /// When there is no PostgreSQL, or `migrate` fails, with the reason.
    pub async fn from_template<M, F, E>(key: &str, migrate: M) -> Self
    where
        M: FnOnce(String) -> F,
        F: Future<Output = Result<(), E>>,
        E: Display,
    {
        let server = shared().await;
        let template = format!("template_{:016x}", hash(key));
        let turn = lock(workspace::server_dir().join(format!("{template}.lock")), Hold::Alone).await;
        let look = format!("SELECT 1 FROM pg_database WHERE datname = '{template}'");
        if run(server, &look).await.is_empty() {
            build(server, &template, migrate).await;
        }
        drop(turn);
        Self::cloned(&template).await
    }

    async fn cloned(template: &str) -> Self {
        let server = shared().await;
        let name = format!("t_{}_{}", std::process::id(), crate::random::letters(8));
        run(server, &format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
        Self { server, name }
    }

    /// Where to connect, as a superuser. Holds a password.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url_of(&self.name)
    }

    /// The database's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs SQL on a connection of its own and gives the rows as text.
    ///
    /// # Panics
    ///
    /// When PostgreSQL refuses.
    pub async fn query(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        localpg::query(&self.url(), sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }
}

/// Migrates under another name, which is given up once all is well: a template is whole or not there.
async fn build<M, F, E>(server: &Shared, template: &str, migrate: M)
where
    M: FnOnce(String) -> F,
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    let building = format!("{template}_building");
    run(server, &format!("DROP DATABASE IF EXISTS {building} WITH (FORCE)")).await;
    run(server, &format!("CREATE DATABASE {building}")).await;
    if let Err(error) = migrate(server.url_of(&building)).await {
        panic!("the template for tests cannot be migrated: {error}");
    }
    // A pool of the migration may still be closing its connections.
    let end =
        format!("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{building}'");
    run(server, &end).await;
    run(server, &format!("ALTER DATABASE {building} RENAME TO {template}")).await;
}

async fn run(server: &Shared, sql: &str) -> Vec<Vec<Option<String>>> {
    server.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (server, sql) = (self.server, format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
        // A runtime of its own: the test's may be the one that drops us, or gone. A database that stays is swept later.
        let dropped = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map(|runtime| runtime.block_on(async { server.run(&sql).await.is_ok() }))
        });
        drop(dropped.join());
        self.server.touch();
    }
}
