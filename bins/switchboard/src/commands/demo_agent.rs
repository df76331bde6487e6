//! `switchboard demo-agent`.

use bridge::Demo;
use node::Settings;

use crate::cli::DemoAgentArgs;
use crate::commands::Failure;
use crate::commands::agent::{Access, serve};

pub(super) async fn run(arguments: DemoAgentArgs, settings: Settings) -> Result<(), Failure> {
    let access = Access::of(&arguments.access)?;
    serve(&access, arguments.consumer, Demo::default(), &settings).await
}
