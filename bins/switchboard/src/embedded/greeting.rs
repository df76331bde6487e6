//! What is said once everything serves.

use std::fmt::Write as _;

use super::{Demo, Folder};

/// What there is, how to sign in, and what to try: for a person at a terminal.
pub(crate) fn greeting(
    folder: &Folder,
    demo: Option<&Demo>,
    address: &str,
    health: &str,
    version: &str,
) -> String {
    let api = format!("http://{address}");
    let found = if folder.was_there() { "found" } else { "new" };
    let mut text = format!(
        "Switchboard {version} serves {api}\n\n  \
         data     {} ({found})\n  \
         API      {api}/v1/openapi.json\n  \
         sockets  ws://{address}/v1/gateway\n  \
         health   http://{health}/healthz/ready, /metrics\n",
        folder.file().display(),
    );
    match demo {
        Some(demo) => with_demo(&mut text, folder, demo, &api),
        None => text.push_str("  people   add one: switchboard user add alex\n"),
    }
    text.push_str("\nCtrl-C stops it.");
    text
}

fn with_demo(text: &mut String, folder: &Folder, demo: &Demo, api: &str) {
    let Demo { password, room, .. } = demo;
    // Writing into a String does not fail.
    let _ = write!(
        text,
        r#"  people   alex, sam and robin; the password of each is {password} (kept in {})
  agent    @demo, in their room

Try it, with curl: Alex signs in, follows everything, and asks the agent.

  field() {{ sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }}
  alex=$(curl -sS {api}/v1/auth/login -H 'content-type: application/json' -d '{{"handle":"alex","password":"{password}","device":{{"kind":"web","name":"shell"}}}}')
  token=$(echo "$alex" | field access_token) device=$(echo "$alex" | field device_id)
  curl -sSN "{api}/v1/stream?device_id=$device" -H "authorization: Bearer $token" & sleep 1
  curl -sS {api}/v1/rooms/{room}/messages -H "authorization: Bearer $token" -H 'content-type: application/json' -d '{{"body":"@demo count to 5 slowly","nonce":"'$(date +%s)'"}}'
"#,
        folder.demo_password().path().display()
    );
}
