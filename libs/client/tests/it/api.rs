//! REST calls against an API that remembers what it was asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use client::api::{
    AgentSettings, MemberId, NewAgent, NewDevice, NewMessage, NewRoom, PushKeys, PushTarget, Range,
    ReadNotifications, ToolStatus,
};
use client::{Api, ApiError};
use domain::notification::{Preferences, Reason};
use domain::{
    AgentId, DeviceId, DeviceKind, ErrorKind, EventId, NotificationId, RoomId, RunId, RunStatus, ToolCallId,
    UserId,
};
use parking_lot::Mutex;
use protocol::frame::{RawJson, ToolOutcome};
use tokio::net::TcpListener;
use uuid::Uuid;

const ID: &str = "0190b4a5-0000-7000-8000-00000000000a";

fn event() -> String {
    format!(
        r#"{{"stream":"room:{ID}","seq":7,"id":"{ID}","kind":"message.created","at":"2026-11-30T12:00:00Z","sender":{{"kind":"user","id":"{ID}"}},"data":{{"body":"hi"}}}}"#
    )
}

fn signed_in(access: &str) -> String {
    format!(
        r#"{{"user":{{"id":"{ID}","handle":"sam","display_name":"Sam","role":"user"}},"device_id":"{ID}","access_token":"{access}","refresh_token":"refresh-{access}","expires_in":900}}"#
    )
}

/// Serves answers by a function of method, path with query, token and body.
async fn serve(answer: impl Fn(&str, &str, &str) -> (u16, String) + Send + Sync + 'static) -> (Api, Asked) {
    let asked = Asked::default();
    let (seen, answer) = (asked.clone(), Arc::new(answer));
    let handler = move |request: Request<Body>| {
        let (seen, answer) = (seen.clone(), Arc::clone(&answer));
        async move {
            let (parts, body) = request.into_parts();
            let header = |name: &str| {
                parts.headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
            };
            let body = String::from_utf8(to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap();
            let target = format!("{} {}", parts.method, parts.uri);
            let (status, text) = answer(&target, &header("authorization"), &body);
            seen.0.lock().push((target, body));
            Response::builder().status(status).header("retry-after", "3").body(Body::from(text)).unwrap()
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(handler);
    tokio::spawn(async move { axum::serve(listener, router).await });
    (Api::new(&base).unwrap(), asked)
}

#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<(String, String)>>>);

impl Asked {
    fn last(&self) -> (String, String) {
        self.0.lock().last().cloned().unwrap()
    }
}

#[tokio::test]
async fn sign_in_is_kept_and_shared_with_other_nodes() {
    let (api, asked) = serve(|target, authorization, _| match target {
        "POST /v1/auth/register" | "POST /v1/auth/login" => (200, signed_in("one")),
        "GET /v1/users/me" if authorization == "Bearer one" => {
            (200, format!(r#"{{"id":"{ID}","handle":"sam","display_name":"Sam","role":"user"}}"#))
        }
        "POST /v1/auth/logout" => (204, String::new()),
        _ => (401, r#"{"code":"unauthenticated"}"#.to_owned()),
    })
    .await;
    let elsewhere = api.at(api.base()).unwrap();
    assert_eq!(elsewhere.me().await.unwrap_err().kind(), ErrorKind::Unauthenticated);
    let device = NewDevice { kind: DeviceKind::Web, name: "browser".into() };
    let signed_in = api.register("sam", "correct horse", None, Some(&device)).await.unwrap();
    assert_eq!(signed_in.expires_in, Duration::from_secs(900));
    assert!(!format!("{signed_in:?}").contains("one"), "no token in logs");
    let (_, body) = asked.last();
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["device"]["kind"], "web");
    assert_eq!(elsewhere.me().await.unwrap().handle, "sam");
    assert!(api.signed_out().me().await.is_err());
    api.logout().await.unwrap();
    assert!(elsewhere.access_token().is_none());
}

#[tokio::test]
async fn a_token_past_its_time_is_refreshed_once_for_all() {
    let refreshed = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&refreshed);
    let (api, _) = serve(move |target, authorization, body| match target {
        "POST /v1/auth/login" => (200, signed_in("old")),
        "POST /v1/auth/refresh" => {
            assert_eq!(body, r#"{"refresh_token":"refresh-old"}"#);
            counted.fetch_add(1, Ordering::SeqCst);
            (200, signed_in("new"))
        }
        _ if authorization == "Bearer new" => {
            (200, r#"{"ticket":"abc","expires_at":"2026-11-30T12:00:00Z"}"#.to_owned())
        }
        _ => (401, r#"{"code":"token_expired","detail":"refresh it"}"#.to_owned()),
    })
    .await;
    api.login("sam", "correct horse", None).await.unwrap();
    let (one, two, three) = tokio::join!(api.ticket(), api.ticket(), api.ticket());
    assert!(one.unwrap().ticket == "abc" && two.is_ok() && three.is_ok());
    assert_eq!(refreshed.load(Ordering::SeqCst), 1);
    // An agent's token can't be refreshed.
    let agent = api.with_token("agent").ticket().await.unwrap_err();
    assert_eq!((agent.status(), agent.code()), (Some(401), "token_expired"));
}

#[tokio::test]
async fn routes_are_those_of_the_contract() {
    let (api, asked) = serve(|target, _, _| {
        let room = format!(
            r#"{{"id":"{ID}","kind":"dm","name":null,"members":[{{"user_id":"{ID}","role":"owner"}},{{"agent_id":"{ID}","role":"member"}}],"head":2,"floor":0,"last_read":1,"muted":false}}"#
        );
        match target {
            "POST /v1/rooms" => (201, room),
            target if target.starts_with("POST") && target.ends_with("/members") => (201, room),
            target if target.ends_with("/settings") => (200, room),
            target if target.ends_with("/read") => (200, format!(r#"{{"room_id":"{ID}","seq":8}}"#)),
            target if target.starts_with("GET /v1/rooms?") => (200, format!(r#"{{"items":[{room}],"next":"x"}}"#)),
            target if target.ends_with("/messages") => (201, format!(r#"{{"event":{}}}"#, event())),
            target if target.starts_with("PATCH") => (200, format!(r#"{{"event":{}}}"#, event())),
            target if target.contains("/events") => {
                (200, format!(r#"{{"items":[{}],"next":null,"floor":0,"head":7}}"#, event()))
            }
            _ => (204, String::new()),
        }
    })
    .await;
    let (room, message) = (RoomId(ID.parse::<Uuid>().unwrap()), EventId(ID.parse::<Uuid>().unwrap()));
    let user = UserId(ID.parse::<Uuid>().unwrap());

    let created = api.create_room(&NewRoom::dm(user), Some("key")).await.unwrap();
    assert!(matches!(created.members[0].id, MemberId::User(id) if id == user));
    assert!(matches!(created.members[1].id, MemberId::Agent(_)));
    assert_eq!(asked.last().1, format!(r#"{{"kind":"dm","members":["{ID}"]}}"#));
    assert_eq!(api.rooms(Some("a b")).await.unwrap().next.as_deref(), Some("x"));
    assert_eq!(asked.last().0, "GET /v1/rooms?cursor=a+b");

    let sent = api.send_message(room, &NewMessage::new("hi")).await.unwrap();
    assert!(sent.is_new && sent.event.seq == 7 && sent.event.data.get() == r#"{"body":"hi"}"#);
    assert!(api.edit_message(room, message, "ho").await.unwrap().is_some());
    assert!(api.delete_message(room, message).await.unwrap().is_none());
    api.add_reaction(room, message, "\u{1f44d}/?").await.unwrap();
    let path = format!("PUT /v1/rooms/{ID}/messages/{ID}/reactions/%F0%9F%91%8D%2F%3F");
    assert_eq!(asked.last().0, path);
    let page = api.events(room, &Range::After(3), Some(9)).await.unwrap();
    assert_eq!((page.items.len(), page.floor, page.head), (1, 0, 7));
    assert_eq!(asked.last().0, format!("GET /v1/rooms/{ID}/events?limit=9&after=3"));
    api.events(room, &Range::Next("c".into()), None).await.unwrap();
    assert_eq!(asked.last().0, format!("GET /v1/rooms/{ID}/events?cursor=c"));
    assert_eq!(api.read(room, 9).await.unwrap(), 8);
    assert_eq!(asked.last(), (format!("PUT /v1/rooms/{ID}/read"), r#"{"seq":9}"#.to_owned()));
    api.typing(room).await.unwrap();
    api.mute(room, true).await.unwrap();
    assert_eq!(asked.last(), (format!("PUT /v1/rooms/{ID}/settings"), r#"{"muted":true}"#.to_owned()));
    api.rename(room, "Lunch").await.unwrap();
    api.add_members(room, &[user]).await.unwrap();
    let body = format!(r#"{{"members":["{ID}"]}}"#);
    assert_eq!(asked.last(), (format!("POST /v1/rooms/{ID}/members"), body));
    api.remove_member(room, user).await.unwrap();
    assert_eq!(asked.last().0, format!("DELETE /v1/rooms/{ID}/members/{ID}"));
}

#[tokio::test]
async fn failures_say_what_they_are() {
    let (api, _) = serve(|target, _, _| match target {
        "GET /v1/users/me" => (429, r#"{"code":"rate_limited","detail":"slower"}"#.to_owned()),
        "POST /v1/ws/ticket" => (502, "<html>bad gateway".to_owned()),
        _ => (200, "{}".to_owned()),
    })
    .await;
    let limited = api.me().await.unwrap_err();
    assert!(matches!(limited, ApiError::Refused { retry_after: Some(after), .. } if after.as_secs() == 3));
    assert_eq!((limited.kind(), limited.code()), (ErrorKind::RateLimited, "rate_limited"));
    let proxy = api.ticket().await.unwrap_err();
    assert_eq!((proxy.kind(), proxy.code()), (ErrorKind::Unavailable, ""));
    assert!(proxy.to_string().contains("bad gateway"), "{proxy}");
    let odd = api.rooms(None).await.unwrap_err();
    assert!(matches!(odd, ApiError::Unreadable { status: 200, .. }), "{odd}");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let gone = api.at(&gone).unwrap().me().await.unwrap_err();
    assert!(gone.kind() == ErrorKind::Unavailable && gone.to_string().contains("refused"), "{gone}");
    assert!(Api::new("localhost").is_err() && Api::new("ws://localhost").is_err());
}

#[tokio::test]
async fn agents_and_runs_are_asked_for_as_the_contract_says() {
    let agent = format!(
        r#""id":"{ID}","handle":"helper","display_name":"Helper","owner_id":"{ID}","max_runs":4,"revoked":false"#
    );
    let room = format!(
        r#"{{"id":"{ID}","kind":"group","name":"Lunch","head":1,"floor":0,"last_read":0,"muted":false}}"#
    );
    let run = format!(
        r#"{{"id":"{ID}","room_id":"{ID}","agent_id":"{ID}","input":"hi","status":"waiting","epoch":2,"version":9,"doc":{{"items":[]}}}}"#
    );
    let (api, asked) = serve(move |target, _, _| {
        let path = target.split(' ').nth(1).unwrap();
        let body = match path.split('/').nth(2).unwrap() {
            "rooms" if path.ends_with("members") => room.clone(),
            "rooms" | "runs" => run.clone(),
            "tool-calls" => "{}".to_owned(),
            _ if path.ends_with("token") => r#"{"token":"secret"}"#.to_owned(),
            _ => format!(r#"{{{agent},"token":"secret"}}"#),
        };
        (200, body)
    })
    .await;
    let (agent, room, id) =
        (AgentId(ID.parse().unwrap()), RoomId(ID.parse().unwrap()), RunId(ID.parse().unwrap()));
    let expect = |method: &str, path: &str, body: &str| {
        assert_eq!(asked.last(), (format!("{method} {path}"), body.to_owned()));
    };
    let made = api.create_agent(&NewAgent::new("helper"), None).await.unwrap();
    assert_eq!((made.agent.id, made.token.as_deref()), (agent, Some("secret")));
    assert!(!format!("{made:?}").contains("secret"));
    expect("POST", "/v1/agents", r#"{"handle":"helper"}"#);
    assert_eq!(api.own_agent().await.unwrap().handle, "helper");
    expect("GET", "/v1/agents/me", "");
    assert_eq!(api.rotate_agent_token(agent).await.unwrap().token, "secret");
    expect("POST", &format!("/v1/agents/{ID}/token"), "");
    let wider = AgentSettings { max_runs: Some(4), ..AgentSettings::default() };
    assert_eq!(api.set_agent(agent, &wider).await.unwrap().max_runs, 4);
    expect("PATCH", &format!("/v1/agents/{ID}"), r#"{"max_runs":4}"#);
    assert!(!api.agent(agent).await.unwrap().revoked);
    expect("GET", &format!("/v1/agents/{ID}"), "");
    api.add_agent(room, agent).await.unwrap();
    expect("POST", &format!("/v1/rooms/{ID}/members"), &format!(r#"{{"agent_id":"{ID}"}}"#));
    api.remove_agent(room, agent).await.unwrap();
    expect("DELETE", &format!("/v1/rooms/{ID}/members/{ID}"), "");
    api.revoke_agent(agent).await.unwrap();
    expect("DELETE", &format!("/v1/agents/{ID}"), "");
    let asked_for = api.request_run(room, agent, &"hi".into(), Some("n1")).await.unwrap();
    assert_eq!((asked_for.status, asked_for.epoch, asked_for.version), (RunStatus::Waiting, 2, 9));
    let body = format!(r#"{{"agent_id":"{ID}","input":"hi","nonce":"n1"}}"#);
    expect("POST", &format!("/v1/rooms/{ID}/runs"), &body);
    assert_eq!(api.run(id).await.unwrap(), asked_for);
    expect("GET", &format!("/v1/runs/{ID}"), "");
    api.cancel_run(id).await.unwrap();
    expect("POST", &format!("/v1/runs/{ID}/cancel"), "");
    let outcome = ToolOutcome::Result(RawJson::new("[1]").unwrap());
    api.answer_tool(ToolCallId(ID.parse().unwrap()), &outcome).await.unwrap();
    expect("POST", &format!("/v1/tool-calls/{ID}/result"), r#"{"result":[1]}"#);
}

#[tokio::test]
async fn runs_and_calls_are_listed_and_commands_completed() {
    let (api, asked) = serve(|target, _, _| {
        let call = format!(
            r#"{{"id":"{ID}","call_id":"{ID}","run_id":"{ID}","room_id":"{ID}","agent_id":"{ID}","user_id":"{ID}","tool":"open_page","args":{{}},"status":"answered","deadline":"2026-11-30T12:00:00.000000Z","result":{{"title":"Menu"}},"error":null}}"#
        );
        let body = match target {
            "GET /v1/tool-calls?status=pending" => format!(r#"{{"items":[{call}],"next":null}}"#),
            target if target.contains("/tool-calls/") => call,
            target if target.ends_with("/autocomplete") => {
                r#"{"choices":[{"value":"soup","label":"Soup"},{"value":"salad"}]}"#.to_owned()
            }
            _ => r#"{"items":[],"next":"x"}"#.to_owned(),
        };
        (200, body)
    })
    .await;
    let (agent, room) = (AgentId(ID.parse().unwrap()), RoomId(ID.parse().unwrap()));
    assert_eq!(api.runs(room, Some("c"), Some(9)).await.unwrap().next.as_deref(), Some("x"));
    assert_eq!(asked.last().0, format!("GET /v1/rooms/{ID}/runs?cursor=c&limit=9"));
    assert_eq!(api.pending_tools().await.unwrap().items[0].tool, "open_page");
    let call = api.tool_call(ToolCallId(ID.parse().unwrap())).await.unwrap();
    assert_eq!((call.status, &call.result["title"]), (ToolStatus::Answered, &"Menu".into()));
    assert_eq!(asked.last().0, format!("GET /v1/tool-calls/{ID}"));
    let choices = api.autocomplete(agent, room, "lunch", "s").await.unwrap();
    assert_eq!((choices[0].label.as_deref(), choices[1].value.as_str()), (Some("Soup"), "salad"));
    let body = format!(r#"{{"command":"lunch","input":"s","room_id":"{ID}"}}"#);
    assert_eq!(asked.last(), (format!("POST /v1/agents/{ID}/autocomplete"), body));
}

#[tokio::test]
async fn notifications_are_listed_read_and_traced() {
    let id = NotificationId(ID.parse().unwrap());
    let notification = format!(
        r#"{{"id":"{ID}","kind":"mention","room_id":"{ID}","seq":7,"source_id":"{ID}","sender":{{"kind":"user","id":"{ID}"}},"sender_name":"Sam","title":"Sam in Lunch","body":"Soup?","created_at":"2026-11-30T12:00:00Z","read":false,"decision":"gateway"}}"#
    );
    let unread = format!(r#"{{"total":1,"rooms":[{{"room_id":"{ID}","count":1}}]}}"#);
    let page = format!(r#"{{"items":[{notification}],"next":"x","unread":{unread}}}"#);
    let trace = format!(
        r#"{{"notification":{notification},"steps":[{{"at":"2026-11-30T12:00:00Z","step":"decided","reason":"gateway","node_id":"{ID}","device_id":null,"detail":null}}]}}"#
    );
    let preferences = r#"{"mentions":true,"runs":false,"dnd":{"until":null,"hours":null}}"#;
    let (api, asked) = serve(move |target, _, _| match target {
        "GET /v1/notifications?unread=true&cursor=c&limit=2" => (200, page.clone()),
        "POST /v1/notifications/read" => (200, format!(r#"{{"unread":{unread}}}"#)),
        target if target.ends_with("/trace") => (200, trace.clone()),
        "GET /v1/notifications/preferences" | "PUT /v1/notifications/preferences" => {
            (200, preferences.into())
        }
        _ => (404, r#"{"code":"not_found"}"#.to_owned()),
    })
    .await;
    let listed = api.notifications(true, Some("c"), Some(2)).await.unwrap();
    assert_eq!((listed.items[0].id, listed.items[0].decision), (id, Some(Reason::Gateway)));
    assert_eq!((listed.unread.total, listed.unread.rooms[0].count), (1, 1));
    let room_id = Some(RoomId(ID.parse().unwrap()));
    for (what, body) in [
        (ReadNotifications::These { ids: vec![id] }, format!(r#"{{"ids":["{ID}"]}}"#)),
        (ReadNotifications::UpTo { room_id, up_to: None }, format!(r#"{{"room_id":"{ID}"}}"#)),
        (ReadNotifications::UpTo { room_id: None, up_to: Some(id) }, format!(r#"{{"up_to":"{ID}"}}"#)),
        (ReadNotifications::UpTo { room_id: None, up_to: None }, "{}".to_owned()),
    ] {
        assert_eq!(api.read_notifications(&what).await.unwrap().total, 1);
        assert_eq!(asked.last().1, body);
    }
    let traced = api.notification_trace(id).await.unwrap();
    assert_eq!((traced.notification.id, &*traced.steps[0].step), (id, "decided"));
    assert_eq!(asked.last().0, format!("GET /v1/notifications/{ID}/trace"));
    let preferences = api.notification_preferences().await.unwrap();
    assert!(preferences.mentions && preferences.previews && !preferences.runs);
    assert_eq!(api.set_notification_preferences(&preferences).await.unwrap(), preferences);
    assert_eq!(serde_json::from_str::<Preferences>(&asked.last().1).unwrap(), preferences);
}

#[tokio::test]
async fn devices_subscribe_to_pushes() {
    let subscription = format!(
        r#"{{"device_id":"{ID}","driver":"web_push","origin":"https://push.example.com","created_at":"2026-11-30T12:00:00Z","failures":1,"last":{{"at":"2026-11-30T12:00:00Z","result":"503"}}}}"#
    );
    let (api, asked) = serve(move |target, _, _| match target {
        "GET /v1/push/key" => (200, r#"{"public_key":"BCVx"}"#.to_owned()),
        target if target.starts_with("DELETE ") => (204, String::new()),
        target if target.ends_with("/push/test") => (202, String::new()),
        target if target.ends_with("/push") => (200, subscription.clone()),
        _ => (404, r#"{"code":"not_found"}"#.to_owned()),
    })
    .await;
    assert_eq!(api.push_key().await.unwrap(), "BCVx");
    let device = DeviceId(ID.parse().unwrap());
    let keys = PushKeys { p256dh: "BCVx".to_owned(), auth: "BTBZ".to_owned() };
    let browser = PushTarget::WebPush { endpoint: "https://push.example.com/1".to_owned(), keys };
    let relay = PushTarget::Webhook { token: "token".to_owned() };
    for (target, body) in [
        (browser, r#"{"endpoint":"https://push.example.com/1","keys":{"auth":"BTBZ","p256dh":"BCVx"}}"#),
        (relay, r#"{"driver":"webhook","token":"token"}"#),
    ] {
        let subscribed = api.set_push(device, &target).await.unwrap();
        assert_eq!((subscribed.failures, &*subscribed.last.unwrap().result), (1, "503"));
        assert_eq!(asked.last(), (format!("PUT /v1/devices/{ID}/push"), body.to_owned()));
        let shown = format!("{target:?}");
        assert!(!shown.contains("example.com") && !shown.contains("token"), "{shown}");
    }
    assert_eq!(api.push(device).await.unwrap().origin.as_deref(), Some("https://push.example.com"));
    api.test_push(device).await.unwrap();
    assert_eq!(asked.last().0, format!("POST /v1/devices/{ID}/push/test"));
    api.remove_push(device).await.unwrap();
}
