//! `switchboard agent`, and what both agents need.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bridge::{Bridge, BridgeSettings, Model, ModelSettings, Patience, Tools};
use client::consumer::{self, Work};
use client::session::StopReason;
use client::{Api, ConsumerSettings};
use domain::NodeId;
use node::Settings;
use process::telemetry::{self, TelemetrySettings};
use protocol::CloseCode;
use tokio_util::sync::CancellationToken;

use crate::cli::{AgentAccess, AgentArgs};
use crate::commands::{Failure, say};
use crate::signals::Signals;

/// Where the token of an agent may stand.
const TOKEN: &str = "SWITCHBOARD_AGENT_TOKEN";
/// Where the key of the model's API may stand. Ours first: it is meant for us.
const KEYS: [&str; 2] = ["SWITCHBOARD_OPENAI_API_KEY", "OPENAI_API_KEY"];
/// How long runs may go on when the agent is told to stop.
const GRACE: Duration = Duration::from_secs(20);

pub(super) async fn run(arguments: AgentArgs, settings: Settings) -> Result<(), Failure> {
    let access = Access::of(&arguments.access)?;
    let key = match &arguments.api_key_file {
        Some(file) => Some(secret_of(file)?),
        None => KEYS.iter().find_map(|name| variable(name)),
    };
    let model = Model::new(ModelSettings {
        base_url: arguments.openai_base_url,
        model: arguments.model,
        key,
        stall_timeout: arguments.stall_timeout,
        patience: Patience::default(),
    })?;
    let tools = match &arguments.tools {
        Some(file) => Tools::parse(&read(file)?).map_err(|error| format!("{}: {error}", file.display()))?,
        None => Tools::default(),
    };
    let how = BridgeSettings {
        system: arguments.system,
        history: arguments.history.into(),
        tools,
        ..BridgeSettings::default()
    };
    let bridge = Bridge::new(access.api.clone(), model, how);
    serve(&access, arguments.consumer, bridge, &settings).await
}

/// How an agent gets in.
pub(super) struct Access {
    api: Api,
    gateways: Vec<String>,
    token: String,
}

impl Access {
    pub(super) fn of(arguments: &AgentAccess) -> Result<Self, Failure> {
        let token = match &arguments.token_file {
            Some(file) => secret_of(file)?,
            None => variable(TOKEN).ok_or_else(|| {
                format!(
                    "there is no token: put the agent's into {TOKEN}, or into a file that --token-file names"
                )
            })?,
        };
        let api = Api::new(&arguments.url)?.with_token(token.clone());
        let gateways = match arguments.gateway_url.as_slice() {
            [] => vec![gateway_at(api.base())],
            given => given.to_vec(),
        };
        Ok(Self { api, gateways, token })
    }
}

/// The gateway at the address of an API: `https://h` is `wss://h/v1/gateway`.
fn gateway_at(api: &str) -> String {
    // "http" is "ws", and "https" is "wss".
    format!("{}/v1/gateway", api.trim_end_matches('/').replacen("http", "ws", 1))
}

/// Serves as an agent until a signal comes. A second one does not wait for runs that are worked on.
pub(super) async fn serve(
    access: &Access,
    name: String,
    work: impl Work,
    settings: &Settings,
) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    // A client like others: the traces that begin with it are begun by the nodes.
    let untraced = TelemetrySettings::default();
    telemetry::init(&settings.log, &untraced, "agent", NodeId::new())?.finish();
    let me = access.api.own_agent().await.map_err(|error| format!("{}: {error}", access.api.base()))?;
    say(format_args!("{} (@{}, agent {}) works; ctrl-c stops it", me.display_name, me.handle, me.id))?;
    let settings = ConsumerSettings::new(access.gateways.clone(), access.token.clone(), name);
    let stop = CancellationToken::new();
    let mut serving = std::pin::pin!(consumer::serve(settings, Arc::new(work), stop.clone(), GRACE));
    let why = tokio::select! {
        why = &mut serving => why,
        _ = signals.next() => {
            stop.cancel();
            tokio::select! {
                why = serving => why,
                _ = signals.next() => StopReason::Asked,
            }
        }
    };
    match why {
        StopReason::Asked => Ok(()),
        StopReason::Closed { code: CloseCode::ConsumerTakenOver, .. } => {
            Err("another process took this consumer over: give each a name of its own with --consumer".into())
        }
        StopReason::Closed { code: CloseCode::SignInEnded | CloseCode::SignInFailed, .. } => {
            Err("the token is not good, or not any more: it was rotated, or the agent revoked".into())
        }
        other => Err(other.to_string().into()),
    }
}

fn secret_of(file: &Path) -> Result<String, Failure> {
    let secret = read(file)?.trim().to_owned();
    if secret.is_empty() { Err(format!("{} is empty", file.display()).into()) } else { Ok(secret) }
}

fn read(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| format!("can't read {}: {error}", file.display()).into())
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gateway_is_at_the_address_of_the_api() {
        assert_eq!(gateway_at("http://127.0.0.1:8080/"), "ws://127.0.0.1:8080/v1/gateway");
        assert_eq!(gateway_at("https://http.example.com/x"), "wss://http.example.com/x/v1/gateway");
    }

    #[test]
    fn a_secret_is_the_text_of_a_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("token");
        fs::write(&file, "swa_x\n").expect("written");
        assert_eq!(secret_of(&file).expect("there"), "swa_x");
        fs::write(&file, "\n").expect("written");
        assert!(secret_of(&file).expect_err("empty").to_string().ends_with("is empty"));
        assert!(secret_of(&dir.path().join("no")).expect_err("gone").to_string().starts_with("can't read"));
    }
}
