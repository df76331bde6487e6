//! Where scenarios run: on a cluster of their own, on one that they share, or on a deployment that is there.

use std::path::PathBuf;

use crate::cluster::{Cluster, Shape, Target};
use crate::database::Database;
use crate::failure::{Failure, Unusable};

/// Where scenarios run.
pub(crate) enum Ground {
    /// Each on a cluster of its own: what one leaves behind must not weigh on the next. The path is that of `switchboard`.
    Own(PathBuf),
    /// All on one, to see that they run; what they find is worth nothing. The path is that of `switchboard`.
    Shared(PathBuf, Box<Cluster>),
    /// On one that runs already.
    There(Target),
}

impl Ground {
    /// The `switchboard` program.
    pub(crate) fn program(&self) -> Result<&PathBuf, Failure> {
        match self {
            Self::Own(program) | Self::Shared(program, _) => Ok(program),
            Self::There(_) => {
                let why = "--target-api, --target-gateway: this scenario needs processes of its own, without them it starts some";
                Err(Unusable::because(why))
            }
        }
    }

    /// Runs it on a cluster of this shape, or on that which is there.
    pub(crate) async fn on_cluster(
        &self,
        shape: &Shape,
        measured: impl AsyncFnOnce(&Cluster) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::Own(program) => {
                let cluster = Cluster::start(program, shape).await?;
                let done = measured(&cluster).await;
                let stopped = cluster.stop().await;
                done.and(stopped)
            }
            Self::Shared(_, cluster) => measured(cluster).await,
            Self::There(target) => measured(&Cluster::at(target)?).await,
        }
    }

    /// A server for those that are measured without a cluster.
    pub(crate) async fn database(&self) -> Result<Database, Failure> {
        match self {
            Self::Own(_) | Self::There(_) => Database::start().await,
            Self::Shared(_, cluster) => Ok(Database::beside(cluster.database_url()?)),
        }
    }

    /// Stops what is shared.
    pub(crate) async fn stop(self) -> Result<(), Failure> {
        match self {
            Self::Shared(_, cluster) => cluster.stop().await,
            Self::Own(_) | Self::There(_) => Ok(()),
        }
    }
}
