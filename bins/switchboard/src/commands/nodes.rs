//! `switchboard nodes`.

use node::Settings;

use crate::commands::{Failure, store};

pub(super) async fn run(settings: Settings) -> Result<(), Failure> {
    let nodes = store(&settings).await?.nodes().await?;
    if nodes.is_empty() {
        println!("no node runs on this database");
        return Ok(());
    }
    println!("{:<8} {:<28} {:<9} {:<38} last heard of", "role", "name", "version", "id");
    for node in nodes {
        let silent = node.silent_for.as_secs_f64();
        println!(
            "{:<8} {:<28} {:<9} {:<38} {silent:.1} s ago",
            node.info.role,
            node.info.name,
            node.info.version,
            node.info.id.to_string()
        );
    }
    Ok(())
}
