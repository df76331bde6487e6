//! The first conversation with a server that just started, to be pasted into a terminal.

/// Commands that make an account, sign in at the gateway and send a message.
pub(crate) fn text(api: &str, gateway: &str) -> String {
    format!(
        r#"Try it (curl, and websocat for the socket):

  field() {{ sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }}
  json='content-type: application/json'
  alex=$(curl -s {api}/v1/auth/register -H "$json" -d '{{"handle":"alex","password":"a password","device":{{"kind":"web","name":"terminal"}}}}')
  bearer="authorization: Bearer $(echo "$alex" | field access_token)"
  room=$(curl -s {api}/v1/rooms -H "$bearer" -H "$json" -d '{{"kind":"group","name":"Hello","members":[]}}' | field id)

  ticket=$(curl -s -X POST {api}/v1/ws/ticket -H "$bearer" | field ticket)
  websocat "{gateway}?ticket=$ticket"

and there, with the device_id of: echo "$alex" | field device_id

  {{"op":"identify","device_id":"..."}}

then, from a second terminal with the same variables, watch this arrive:

  curl -s {api}/v1/rooms/$room/messages -H "$bearer" -H "$json" -d '{{"body":"Hello!","nonce":"1"}}'"#
    )
}
