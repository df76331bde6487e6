//! The services of a project, as processes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use localpg::tether::{self, OnParentDeath};
use rustix::process::{Pid, Signal, kill_process};
use testkit::nginx::Nginx;
use testkit::postgres::OwnServer;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::project::{Project, Service, text};
use crate::program::{program, run};

/// How long a service may take until it is well.
const PATIENCE: Duration = Duration::from_secs(90);

/// A project whose services run.
pub(crate) struct Stack {
    // Nodes end first, and the database last.
    nodes: BTreeMap<String, Child>,
    proxy: Option<Nginx>,
    database: Option<OwnServer>,
    project: Project,
    logs: PathBuf,
}

impl Stack {
    /// Starts every service after those that it waits for are well.
    pub(crate) async fn up(project: Project) -> Self {
        let logs = testkit::workspace::log_dir();
        let mut stack = Self { nodes: BTreeMap::new(), proxy: None, database: None, project, logs };
        let mut well: Vec<String> = Vec::new();
        loop {
            let next = stack.project.services().find(|service| {
                let is_well = |name: &str| well.iter().any(|well| well == name);
                !is_well(service.name) && service.dependencies().all(|(name, _)| is_well(name))
            });
            let Some(name) = next.map(|service| service.name.to_owned()) else { break };
            stack.start(&name).await;
            well.push(name);
        }
        assert_eq!(
            well.len(),
            stack.project.services().count(),
            "some wait for each other; well are {well:?}"
        );
        stack
    }

    /// Where clients come in.
    pub(crate) fn proxy(&self) -> SocketAddr {
        self.proxy.as_ref().expect("a proxy").addr()
    }

    /// A command in the container of a service.
    pub(crate) fn command(&self, service: &str, arguments: &[&str]) -> std::process::Command {
        let mut command = program(&arguments.join(" "));
        command.envs(self.project.places().environment(&self.project.service(service)));
        command
    }

    /// `docker compose kill`
    pub(crate) async fn kill(&mut self, name: &str) {
        self.nodes.remove(name).expect("a node that runs").kill().await.expect("killed");
    }

    /// Tells all nodes to stop, and waits as long as the compose file lets it; nobody may have written to what is read-only.
    pub(crate) async fn down(mut self) {
        for (name, child) in &self.nodes {
            let pid = child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
            kill_process(pid.unwrap_or_else(|| panic!("{name} ended by itself")), Signal::TERM)
                .expect("told");
        }
        for (name, mut child) in std::mem::take(&mut self.nodes) {
            let grace = text(&self.project.service(&name).json["stop_grace_period"]).to_owned();
            let ended = timeout(domain::duration::parse(&grace).expect("a time"), child.wait()).await;
            let ended = ended.unwrap_or_else(|_| panic!("{name} does not stop within {grace}"));
            assert!(ended.expect("an end").success(), "{name}");
            assert!(!self.project.places().read_only_root(&name).exists(), "{name} wrote to its root");
        }
    }

    async fn start(&mut self, name: &str) {
        let service = self.project.service(name);
        if service.image().starts_with("postgres:") {
            self.start_database().await;
        } else if service.image().starts_with("nginx:") {
            self.proxy = Some(self.start_proxy(&service).await);
        } else if service.ends() {
            let command = service.command();
            run(self.command(name, &command[1..])).await.good();
        } else {
            let child = self.spawn(&service).await;
            self.nodes.insert(name.to_owned(), child);
            self.until_well(name).await;
        }
    }

    /// As the image of PostgreSQL does on an empty volume: superuser and database of the environment, then the scripts.
    async fn start_database(&mut self) {
        let server = OwnServer::fast().await;
        self.project.places_mut().put("postgres", 5432, ([127, 0, 0, 1], server.port()).into());
        let service = self.project.service("postgres");
        let environment: BTreeMap<_, _> = self.project.places().environment(&service).into_iter().collect();
        let (user, database) = (&environment["POSTGRES_USER"], &environment["POSTGRES_DB"]);
        let password = fs::read_to_string(&environment["POSTGRES_PASSWORD_FILE"]).expect("a secret");
        let password = password.trim_end();
        let role = format!("CREATE ROLE {user} SUPERUSER LOGIN PASSWORD '{password}'");
        localpg::query(&server.url(), &role).await.expect("a superuser");
        server.database(database).await.expect("a database");
        let url = format!("postgres://{user}:{password}@127.0.0.1:{}/{database}", server.port());
        for (target, script) in self.project.mounted(&service) {
            let name = target.strip_prefix("/docker-entrypoint-initdb.d/").expect("a script");
            let file = self.project.dir().join(name);
            fs::write(&file, self.project.places().here(&service, &script)).expect("written");
            let mut psql = std::process::Command::new("psql");
            psql.args(["--no-psqlrc", "--set=ON_ERROR_STOP=1", "--file"]).arg(&file).arg(&url);
            run(psql).await.good();
        }
        self.database = Some(server);
    }

    /// What stands between the braces of `http`, with the hosts that the container is told of.
    async fn start_proxy(&self, service: &Service<'_>) -> Nginx {
        let places = self.project.places();
        places.are_right(&service.json["extra_hosts"]);
        let (_, whole) = self.project.mounted(service).next().expect("a configuration");
        let (_, http) = whole.split_once("\nhttp {\n").expect("an http block");
        let site = http.trim_end().strip_suffix('}').expect("its end");
        let target = service.json["ports"][0]["target"].as_u64().expect("a port");
        let listen = format!("listen {target};");
        assert_eq!(site.matches(&listen).count(), 1, "what is published is what is listened on");
        let site = places.here(service, site);
        Nginx::start(|addr| site.replace(&listen, &format!("listen {addr};"))).await
    }

    async fn spawn(&self, service: &Service<'_>) -> Child {
        let role = service.command()[0].strip_prefix("switchboard-").expect("a role binary");
        let log = File::create(self.logs.join(format!("{}.log", service.name))).expect("a log");
        let mut command = tether::command(env!("CARGO_BIN_EXE_switchboard"), OnParentDeath::Kill);
        without_own_settings(&mut command);
        command
            // What the role binaries do, of the one binary that a test of this crate has.
            .args(["node", role])
            .envs(self.project.places().environment(service))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("one more handle"))
            .stderr(log)
            .kill_on_drop(true);
        tether::spawn(command).await.expect("the program runs")
    }

    /// Runs the health check until it is content.
    async fn until_well(&mut self, name: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let check = self.project.service(name).health_check();
            let ran = run(self.command(name, &check[1..])).await;
            if ran.code == 0 {
                return;
            }
            let ended = self.nodes.get_mut(name).and_then(|child| child.try_wait().expect("a child of ours"));
            let log = self.logs.join(format!("{name}.log"));
            assert!(
                ended.is_none() && Instant::now() < deadline,
                "{name} is not well: {ran:?}\n{}",
                fs::read_to_string(&log).unwrap_or_default()
            );
            sleep(Duration::from_millis(200)).await;
        }
    }
}

/// Takes away what the shell of whoever runs the tests says about Switchboard.
fn without_own_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("SWITCHBOARD_")) {
            command.env_remove(name);
        }
    }
}
