//! `switchboard nodes`.

use node::Settings;

use crate::commands::{Failure, say, store};

/// Shows the nodes that the database knows, by role and start.
pub(super) async fn run(settings: Settings) -> Result<(), Failure> {
    let nodes = store(&settings).await?.nodes().await?;
    if nodes.is_empty() {
        return say("no node runs on this database");
    }
    say(format_args!("{:<8} {:<28} {:<9} {:<38} last heard of", "role", "name", "version", "id"))?;
    for node in nodes {
        let silent = node.silent_for.as_secs_f64();
        let (info, id) = (&node.info, node.info.id.to_string());
        say(format_args!(
            "{:<8} {:<28} {:<9} {id:<38} {silent:.1} s ago",
            info.role, info.name, info.version
        ))?;
    }
    Ok(())
}
