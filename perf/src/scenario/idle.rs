//! Resident memory of a gateway for each idle connection.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;
use client::{Api, Socket};
use domain::DeviceKind;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Serialize;

use crate::cluster::Shape;
use crate::ground::Ground;
use crate::people::{self, Person};
use crate::report::{Report, Unit};
use crate::whole::{COUNT, PAUSE, whole};
use crate::{Failure, usage};

/// Connections before those that count: what a node takes for its first ones is not a cost of each.
const FIRST: usize = 100;

/// Files that a process has open beside its connections.
const OTHER_FILES: usize = 300;

/// Devices of one person.
const EACH: usize = 10;

/// What is measured.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct Settings {
    /// Connections, growing; each number is looked at.
    #[arg(long, value_delimiter = ',', default_value = "1000,5000,10000,20000", value_parser = whole::<usize>(COUNT))]
    connections: Vec<usize>,
    /// How long nothing happens before memory is read, in seconds.
    #[arg(long, default_value_t = 5, value_parser = whole::<u64>(PAUSE))]
    settle: u64,
}

/// Measures memory, step by step on one gateway.
pub(crate) async fn idle(ground: &Ground, settings: &Settings, report: &mut Report) -> Result<(), Failure> {
    ground.program()?;
    let shape = Shape {
        api: 1,
        gateway: 1,
        worker: 1,
        settings: vec![
            ("SWITCHBOARD__GATEWAY__MAX_CONNECTIONS", "1000000".to_owned()),
            // Nothing is sent meanwhile, so that nothing but being there is measured.
            ("SWITCHBOARD__GATEWAY__HEARTBEAT_INTERVAL", "5m".to_owned()),
        ],
    };
    ground
        .on_cluster(&shape, async |cluster| {
            let gateway = &cluster.gateway[0];
            let api = Api::new(&cluster.api[0].url)?;
            let mut open: Vec<Socket> = connect(cluster, &api, FIRST).await?;
            let before = usage::resident(gateway.pid)?;
            // More and more of them, in whatever order they were given.
            let steps: BTreeSet<usize> = settings.connections.iter().copied().collect();
            for connections in &steps {
                let most = most_connections();
                if *connections > most {
                    let why =
                        format!("{most} instead: a process may open {} files here", usage::open_files());
                    report.note(format!("{connections} idle connections"), why);
                }
                let connections = &most.min(*connections);
                eprintln!("{connections} connections are made ...");
                let missing = (connections + FIRST).saturating_sub(open.len());
                open.extend(connect(cluster, &api, missing).await?);
                tokio::time::sleep(Duration::from_secs(settings.settle)).await;
                let resident = usage::resident(gateway.pid)?.saturating_sub(before);
                let each = resident as f64 / *connections as f64;
                let what =
                    format!("resident bytes of a gateway per idle connection, {connections} connections");
                report.figure(format!("c{connections}.bytes"), what, each, Unit::Bytes);
            }
            drop(open);
            Ok(())
        })
        .await
}

/// What the limit of open files leaves, of this process and of the gateway alike.
fn most_connections() -> usize {
    let files = usize::try_from(usage::open_files()).unwrap_or(usize::MAX);
    files.saturating_sub(FIRST + OTHER_FILES)
}

/// So many more connections, of people with several devices each.
async fn connect(cluster: &crate::cluster::Cluster, api: &Api, count: usize) -> Result<Vec<Socket>, Failure> {
    let one = async |size: usize| {
        let person = cluster.person_by(api, DeviceKind::Web).await?;
        people::room(&[&person]).await?;
        let mut open = vec![people::connect(&person, &cluster.gateway[0].url, person.device).await?];
        for _ in 1..size {
            let Person { device, .. } = people::again(&person.api, DeviceKind::Web).await?;
            open.push(people::connect(&person, &cluster.gateway[0].url, device).await?);
        }
        Ok::<_, Failure>(open)
    };
    let sizes = (0..count).step_by(EACH).map(|first| EACH.min(count - first));
    let open: Vec<Vec<Socket>> = stream::iter(sizes).map(one).buffer_unordered(16).try_collect().await?;
    Ok(open.into_iter().flatten().collect())
}
