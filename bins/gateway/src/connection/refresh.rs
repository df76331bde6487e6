//! `refresh`: a connection goes on with a newer access token.

use std::time::Duration;

use domain::ErrorCode;
use protocol::ServerFrame;
use protocol::frame::{Refresh, RefreshAsked, Refreshed};
use realtime::{Connection, Term};

use crate::connection::answer::About;
use crate::gateway::Gateway;

/// Asks the client for a newer token.
pub(super) fn asked(within: Duration) -> ServerFrame {
    ServerFrame::Refresh(RefreshAsked { within_ms: millis(within) })
}

/// Takes a newer token. It must be of the same sign-in: that is what the connection ends with when it is revoked.
pub(super) async fn handle(
    gateway: &Gateway,
    connection: &Connection,
    term: &mut Term,
    refresh: &Refresh,
) -> ServerFrame {
    let sign_in = match gateway.parts.identity.authenticate(&refresh.access_token).await {
        Ok(sign_in) => sign_in,
        Err(error) if error.code() == ErrorCode::Unauthenticated => {
            let why = "access_token is no good one; get one by POST /v1/auth/refresh";
            return About::default().error(error.code(), why.to_owned());
        }
        Err(error) => return About::default().error(error.code(), error.public_message()),
    };
    let meta = &connection.meta;
    if (sign_in.principal, sign_in.session) != (meta.principal, meta.session) {
        return About::default().forbidden("the token is of another sign-in; connect anew with it");
    }
    match sign_in.expires_at {
        Some(expires_at) => {
            ServerFrame::Refreshed(Refreshed { expires_in_ms: millis(term.renew(expires_at)) })
        }
        None => About::default().forbidden("tokens of agents do not end by themselves"),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
