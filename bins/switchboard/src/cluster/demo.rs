//! The demo agent of a local cluster: made once, and run by the process of the cluster itself.
//!
//! It belongs to a person `demo-owner`, whose password nobody knows. Its token lies in the data directory, 0600, so that it is the
//! same after a restart; a token that is lost, or of another database, is replaced.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use auth::{AuthSettings, NewPerson, Passwords, create_user};
use bridge::Demo;
use client::ConsumerSettings;
use client::consumer::serve;
use client::session::StopReason;
use domain::{AgentId, Role, UserId};
use store::Store;
use store::postgres::{DatabaseSettings, Postgres};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::home::Home;
use super::report;
use crate::demo::{self, HANDLE};

const OWNER: &str = "demo-owner";
/// How long its runs may go on when the cluster stops.
const GRACE: Duration = Duration::from_secs(1);

/// The agent while the cluster runs.
pub(super) struct DemoAgent {
    pub(super) id: AgentId,
    stop: CancellationToken,
    serving: Option<Pin<Box<dyn Future<Output = StopReason> + Send>>>,
}

impl DemoAgent {
    /// Makes the agent, or finds it, and prepares to connect it to these gateways. A cluster without it is told why, and runs.
    pub(super) async fn begin(
        database: &DatabaseSettings,
        auth: &AuthSettings,
        home: &Home,
        gateways: Vec<String>,
    ) -> Option<Self> {
        let made = async {
            let registry = prometheus::Registry::new();
            let store = Postgres::connect(database, &registry).await.map_err(|error| error.to_string())?;
            let owner = owner(&store, auth).await?;
            demo::agent(&store, owner, &home.demo_token()).await
        };
        match made.await {
            Ok((agent, token)) => {
                let stop = CancellationToken::new();
                let settings = ConsumerSettings::new(gateways, token, HANDLE);
                let serving = Box::pin(serve(settings, Arc::new(Demo::default()), stop.clone(), GRACE));
                Some(Self { id: agent.id, stop, serving: Some(serving) })
            }
            Err(why) => {
                report::say(&format!("no demo agent: {why}"));
                None
            }
        }
    }

    /// Works as long as this is polled; never ends.
    pub(super) async fn run(&mut self) {
        if let Some(serving) = &mut self.serving {
            let why = serving.await;
            self.serving = None;
            report::say(&format!("the demo agent stopped: {why}"));
        }
        std::future::pending::<()>().await;
    }

    /// Stops it.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        if let Some(serving) = self.serving {
            serving.await;
        }
    }
}

async fn owner(store: &dyn Store, auth: &AuthSettings) -> Result<UserId, String> {
    let known = store.credentials(OWNER).await.map_err(|error| error.to_string())?;
    if let Some(known) = known {
        return Ok(known.user.id);
    }
    let passwords = Passwords::new(auth).await.map_err(|error| error.to_string())?;
    // A version 4 UUID has 122 random bits of the operating system. Written nowhere: nobody signs in as this person.
    let password = Uuid::new_v4().to_string();
    let display_name = Some("Owner of the demo agent".to_owned());
    let person = NewPerson { handle: OWNER.to_owned(), password, display_name };
    let made = create_user(store, &passwords, &person, Role::User).await;
    made.map(|user| user.id).map_err(|error| error.to_string())
}
