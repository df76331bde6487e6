//! The first conversation with a server that just started, to be pasted into a shell.

use domain::AgentId;

/// How Alex gets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entrance {
    /// Registration is open.
    Open,
    /// Whoever runs the server adds people.
    Closed,
}

/// Commands that make an account, connect to the gateway, and send a message that arrives there.
pub(crate) fn text(api: &str, gateway: &str, entrance: Entrance) -> String {
    // With the number of the shell, since the data of an earlier run may be there.
    let credentials =
        r#"{"handle":"alex'$$'","password":"correct horse","device":{"kind":"desktop","name":"shell"}}"#;
    let (before, path) = match entrance {
        Entrance::Open => ("", "register"),
        Entrance::Closed => (
            "  echo 'correct horse' | switchboard user add alex$$ --password-stdin --database-url ...\n",
            "login",
        ),
    };
    format!(
        r#"Try it (with curl, and websocat for the socket):

  post() {{ curl -sS "$1" -H "authorization: Bearer $token" -H 'content-type: application/json' -d "$2"; }}
  field() {{ sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }}
{before}  alex=$(post {api}/v1/auth/{path} '{credentials}')
  token=$(echo "$alex" | field access_token) device=$(echo "$alex" | field device_id)
  room=$(post {api}/v1/rooms '{{"kind":"group","name":"Hello","members":[]}}' | field id)
  ticket=$(post {api}/v1/ws/ticket '' | field ticket)
  (echo '{{"op":"identify","device_id":"'$device'"}}'; while sleep 15; do echo '{{"op":"ping"}}'; done) |
    websocat "{gateway}?ticket=$ticket" &
  sleep 1; post {api}/v1/rooms/$room/messages '{{"body":"Hello!","nonce":"n1"}}'"#
    )
}

/// Commands that go on from those of [`text`]: the agent joins the room, and is asked for something that takes a while.
pub(crate) fn with_agent(api: &str, agent: AgentId, handle: &str) -> String {
    format!(
        r#"The demo agent is @{handle}. Let it into the room and ask it (or: what time is it):

  post {api}/v1/rooms/$room/members '{{"agent_id":"{agent}"}}'
  post {api}/v1/rooms/$room/messages '{{"body":"@{handle} count to 10 slowly","nonce":"n2"}}'"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_in_is_the_one_that_is_open() {
        let open = text("http://h", "ws://h/v1/gateway", Entrance::Open);
        assert!(open.contains("http://h/v1/auth/register") && !open.contains("user add"), "{open}");
        let closed = text("http://h", "ws://h/v1/gateway", Entrance::Closed);
        assert!(closed.contains("http://h/v1/auth/login") && closed.contains("user add alex$$"), "{closed}");
        assert!(closed.contains(r#"websocat "ws://h/v1/gateway?ticket=$ticket""#), "{closed}");
    }

    #[test]
    fn the_agent_is_let_in_before_it_is_asked() {
        let id = AgentId::new();
        let text = with_agent("http://h", id, "demo");
        let (join, ask) =
            (text.find(&format!(r#""agent_id":"{id}""#)), text.find("@demo count to 10 slowly"));
        assert!(join.is_some() && join < ask, "{text}");
    }
}
