//! Tests of the loader: order of sources, and errors that name key, source and what is allowed.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::*;
use crate::telemetry::{LogFormat, LogSettings, TelemetrySettings};

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    log: LogSettings,
    telemetry: TelemetrySettings,
    gateway: Gateway,
    secrets: Secrets,
    database: Database,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Gateway {
    listen: SocketAddr,
    max_connections: u32,
    enabled: bool,
    ratio: f64,
    allowed_origins: Vec<String>,
    shards: Option<u16>,
    peers: Option<Vec<String>>,
    #[serde(with = "domain::duration")]
    timeout: Duration,
}

impl Default for Gateway {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            max_connections: 10,
            enabled: true,
            ratio: 0.5,
            allowed_origins: vec!["https://example.com".to_owned()],
            shards: None,
            peers: None,
            timeout: Duration::from_secs(30),
        }
    }
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Secrets {
    seal_key: Option<String>,
    pins: Vec<u32>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Database {
    url: String,
    token_ttl: u32,
}

impl Default for Database {
    fn default() -> Self {
        Self { url: "postgres://localhost/switchboard".to_owned(), token_ttl: 5 }
    }
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("temporary file");
    std::fs::write(file.path(), text).expect("written");
    file
}

fn loaded(loader: &Loader) -> Settings {
    loader.load().expect("good settings").settings
}

fn refused(loader: &Loader) -> String {
    loader.load::<Settings>().expect_err("must be refused").to_string()
}

#[test]
fn without_sources_the_defaults() {
    let loaded = Loader::new().load::<Settings>().expect("defaults");
    assert_eq!(loaded.settings, Settings::default());
    assert_eq!(loaded.source("gateway.listen"), Source::Default);
}

#[test]
fn each_source_overrules_the_one_before() {
    let file = file("[gateway]\nmax_connections = 1\nratio = 0.1\nenabled = false\n\n[log]\n");
    let loader = Loader::new().file(Some(file.path()));
    let settings = loaded(&loader);
    assert_eq!((settings.gateway.max_connections, settings.gateway.ratio), (1, 0.1));
    assert!(!settings.gateway.enabled);

    let loader = loader.environment([
        ("SWITCHBOARD__GATEWAY__MAX_CONNECTIONS", "2"),
        ("SWITCHBOARD__GATEWAY__RATIO", "0.2"),
        ("SWITCHBOARD_CONFIG", "not a setting"),
        ("PATH", "not a setting"),
    ]);
    let loader = loader.flag("gateway.max_connections", "3").flag("log.format", "json");
    let loaded = loader.load::<Settings>().expect("good settings");
    let Settings { gateway, log, .. } = &loaded.settings;
    assert_eq!((gateway.max_connections, gateway.ratio, gateway.enabled), (3, 0.2, false));
    assert_eq!(log.format, LogFormat::Json);
    assert_eq!(loaded.source("gateway.max_connections"), Source::Flag("gateway.max_connections".to_owned()));
    assert_eq!(loaded.source("gateway.ratio"), Source::Variable("SWITCHBOARD__GATEWAY__RATIO".to_owned()));
    assert_eq!(loaded.source("gateway.enabled"), Source::File(file.path().to_owned()));
}

#[test]
fn text_becomes_what_the_key_takes() {
    let settings = loaded(&Loader::new().lists(["gateway.peers"]).environment([
        ("SWITCHBOARD__GATEWAY__ALLOWED_ORIGINS", "https://a.example.com, https://b.example.com,"),
        ("SWITCHBOARD__GATEWAY__PEERS", "one,two"),
        ("SWITCHBOARD__GATEWAY__SHARDS", "7"),
        ("SWITCHBOARD__GATEWAY__TIMEOUT", "1500ms"),
        ("SWITCHBOARD__GATEWAY__LISTEN", "[::1]:9000"),
        ("SWITCHBOARD__GATEWAY__ENABLED", "false"),
        ("SWITCHBOARD__SECRETS__SEAL_KEY", "007"),
        ("SWITCHBOARD__SECRETS__PINS", "1,2"),
    ]));
    assert_eq!(settings.gateway.allowed_origins, ["https://a.example.com", "https://b.example.com"]);
    assert_eq!(settings.gateway.peers, Some(vec!["one".to_owned(), "two".to_owned()]));
    assert_eq!(settings.gateway.shards, Some(7));
    assert_eq!(settings.gateway.timeout, Duration::from_millis(1500));
    assert_eq!(settings.gateway.listen, SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 9000)));
    assert!(!settings.gateway.enabled);
    assert_eq!(settings.secrets.seal_key.as_deref(), Some("007"), "text that looks like a number stays text");
    assert_eq!(settings.secrets.pins, [1, 2]);
}

#[test]
fn empty_text_unsets_what_is_unset_by_default_and_empties_lists() {
    let settings =
        loaded(&Loader::new().environment([
            ("SWITCHBOARD__GATEWAY__SHARDS", ""),
            ("SWITCHBOARD__GATEWAY__ALLOWED_ORIGINS", ""),
        ]));
    assert_eq!(settings.gateway.shards, None);
    assert!(settings.gateway.allowed_origins.is_empty());
    let message = refused(&Loader::new().environment([("SWITCHBOARD__GATEWAY__MAX_CONNECTIONS", "")]));
    assert!(message.contains("gateway.max_connections"), "{message}");
}

#[test]
fn unknown_keys_are_named_with_their_source_and_the_nearest_known_key() {
    let file = file("[gateway]\nmax_conections = 1\n");
    let message = refused(&Loader::new().file(Some(file.path())));
    let path = file.path().display().to_string();
    for part in ["gateway.max_conections", &path, "did you mean gateway.max_connections?"] {
        assert!(message.contains(part), "{message}");
    }
    let message = refused(&Loader::new().environment([("SWITCHBOARD__GATWAY__LISTEN", "x")]));
    for part in ["gatway.listen", "SWITCHBOARD__GATWAY__LISTEN", "did you mean gateway.listen?"] {
        assert!(message.contains(part), "{message}");
    }
    let message = refused(&Loader::new().flag("entirely.else", "x"));
    assert!(message.contains("entirely.else") && message.contains("command line"), "{message}");
    assert!(message.contains("docs/configuration.md"), "{message}");
    let message = refused(&Loader::new().flag("gateway", "x"));
    assert!(message.contains("unknown setting gateway in"), "a section is no key: {message}");
}

#[test]
fn bad_values_are_named_with_their_source_and_what_is_allowed() {
    let cases = [
        ("SWITCHBOARD__GATEWAY__MAX_CONNECTIONS", "many", "a whole number from 0 to 4294967295"),
        ("SWITCHBOARD__GATEWAY__ENABLED", "perhaps", "a boolean"),
        ("SWITCHBOARD__GATEWAY__TIMEOUT", "5 weeks", "units ms, s, m, h, d"),
        ("SWITCHBOARD__GATEWAY__LISTEN", "nowhere", "such as 127.0.0.1:8080"),
        ("SWITCHBOARD__GATEWAY__SHARDS", "-1", "a whole number from 0 to 65535"),
        ("SWITCHBOARD__GATEWAY__RATIO", "half", "allowed is a number"),
        ("SWITCHBOARD__LOG__FORMAT", "xml", "`text` or `json`"),
    ];
    for (name, value, allowed) in cases {
        let message = refused(&Loader::new().environment([(name, value)]));
        let key = name[PREFIX.len()..].to_lowercase().replace("__", ".");
        for part in [&key, name, value, allowed] {
            assert!(message.contains(part), "{message} lacks {part}");
        }
    }
    let file = file("[gateway]\nmax_connections = 5000000000\n");
    let message = refused(&Loader::new().file(Some(file.path())));
    assert!(message.contains("gateway.max_connections") && message.contains("5000000000"), "{message}");
    let file = self::file("[gateway]\nallowed_origins = [\"https://example.com\", [1]]\n");
    let message = refused(&Loader::new().file(Some(file.path())));
    assert!(message.contains("gateway.allowed_origins:"), "{message}");
    let file = self::file("gateway = 5\n");
    let message = refused(&Loader::new().file(Some(file.path())));
    assert!(message.contains("gateway"), "{message}");
}

#[test]
fn secrets_are_never_shown() {
    let file = file("[secrets]\npins = \"hunter2\"\n");
    let message = refused(&Loader::new().file(Some(file.path())));
    assert!(message.contains("secrets.pins") && !message.contains("hunter2"), "{message}");

    let message = refused(&Loader::new().environment([("SWITCHBOARD__SECRETS__PINS", "1,hunter2")]));
    assert!(message.contains("secrets.pins") && message.contains("a list"), "{message}");
    assert!(!message.contains("hunter2"), "{message}");

    let loaded =
        Loader::new().flag("database.url", "postgres://alex:hunter2@db").load::<Settings>().expect("good");
    let message = loaded.refuse("database.url", "one host").to_string();
    assert!(message.contains("database.url") && message.contains("one host"), "{message}");
    assert!(!message.contains("hunter2"), "{message}");

    let broken = self::file("[secrets]\nseal_key = \"hunter2\n");
    let message = refused(&Loader::new().file(Some(broken.path())));
    assert!(message.contains("line 2") && !message.contains("hunter2"), "{message}");

    let message = refused(&Loader::new().flag("database.token_ttl", "soon"));
    assert!(message.contains("soon"), "a number is no secret, whatever its name: {message}");
}

#[test]
fn a_password_in_a_url_is_never_shown_whatever_the_key_is() {
    let url = "https://alex:hunter2@collector.example.com:4318";
    let loaded = Loader::new().flag("telemetry.otlp_endpoint", url).load::<Settings>().expect("text");
    let message = loaded.refuse("telemetry.otlp_endpoint", "a URL without a password").to_string();
    assert!(message.contains("not shown") && !message.contains("hunter2"), "{message}");
    for value in [url, "alex:hunter2@collector.example.com", "postgres://alex:hunter2@db/x,y"] {
        for key in [
            "log.format",
            "log.filter",
            "gateway.listen",
            "gateway.timeout",
            "gateway.allowed_origins",
            "gateway.shards",
            "gateway.ratio",
            "gateway.max_connections",
        ] {
            let loader = Loader::new().flag(key, value);
            let message = match loader.load::<Settings>() {
                Err(error) => error.to_string(),
                Ok(loaded) => loaded.refuse(key, "something else").to_string(),
            };
            assert!(message.contains(key) && !message.contains("hunter2"), "{message}");
        }
    }
    let loaded =
        Loader::new().flag("log.filter", "mailto:alex@example.com").load::<Settings>().expect("text");
    let message = loaded.refuse("log.filter", "something else").to_string();
    assert!(message.contains("mailto:alex@example.com"), "an address is no secret: {message}");
    for text in [
        "[secrets]\nseal_key = hunter2\n",
        "[secrets]\nseal_key = \"hunter2\n",
        "[secrets]\nseal_key = 'hunter2\n",
        "[database]\nurl = postgres://alex:hunter2@db.example.com/chat\n",
        "[database]\nurl = \"postgres://alex:hunter2\\q@db.example.com\"\n",
        "[secrets]\nseal_key = [\"hunter2\"\n",
        "[secrets]\nseal_key = \"a\"\nseal_key = \"hunter2\"\n",
        "[secrets]\nseal_key = \"a\" \"hunter2\"\n",
        "[secrets]\nseal_key = { hunter2 }\n",
        "[secrets]\nseal_key_file = [\"hunter2\"]\n",
        "[secrets]\nseal_key = { a = \"hunter2\" }\n",
        "[secrets]\npins = [\"hunter2\"]\n",
        "[secrets]\nseal_key \"hunter2\"\n",
        "secrets = \"hunter2\"\n",
        "database = \"postgres://alex:hunter2@db.example.com/chat\"\n",
    ] {
        let file = file(text);
        let message = refused(&Loader::new().file(Some(file.path())));
        assert!(!message.contains("hunter2"), "{text}: {message}");
    }
}

#[test]
fn an_empty_value_is_shown_it_is_no_secret() {
    let loaded = Loader::new().flag("secrets.seal_key", "").load::<Settings>().expect("unset");
    let message = loaded.refuse("secrets.seal_key", "a key").to_string();
    assert!(message.contains("secrets.seal_key: \"\" in the command line"), "{message}");
}

#[test]
fn another_key_that_the_value_does_not_fit_is_told_with_its_source() {
    let other = "SWITCHBOARD__GATEWAY__SHARDS";
    let loader = Loader::new().environment([(other, "7"), ("SWITCHBOARD__SECRETS__SEAL_KEY", "hunter2")]);
    let loaded = loader.load::<Settings>().expect("good alone");
    let allowed = "at least gateway.shards. Without log.filter and gateway.shards_too";
    let message = loaded.refuse("gateway.max_connections", allowed).to_string();
    let told = format!("; gateway.shards is \"7\" in the environment variable {other}");
    assert!(message.ends_with(&told), "{message}");
    let message = loaded.refuse("log.filter", "less, where there is secrets.seal_key").to_string();
    assert!(message.contains("SWITCHBOARD__SECRETS__SEAL_KEY") && !message.contains("hunter2"), "{message}");
}

#[test]
fn a_variable_with_one_underscore_too_few_is_no_silent_nothing() {
    for (name, meant) in [
        ("SWITCHBOARD_GATEWAY__LISTEN", "SWITCHBOARD__GATEWAY__LISTEN"),
        ("SWITCHBOARD_SECRETS__SEAL_KEY_FILE", "SWITCHBOARD__SECRETS__SEAL_KEY_FILE"),
        ("SWITCHBOARD_GATEWAY__LISTN", "SWITCHBOARD__GATEWAY__LISTN"),
    ] {
        let message = refused(&Loader::new().environment([(name, "hunter2")]));
        for part in [name, meant] {
            assert!(message.contains(part), "{message} lacks {part}");
        }
        assert!(!message.contains("hunter2"), "{message}");
    }
    // Names of other things: what Kubernetes sets for a service, and what is of other programs.
    loaded(&Loader::new().environment([
        ("SWITCHBOARD_CONFIG", "x"),
        ("SWITCHBOARD_AGENT_TOKEN", "x"),
        ("SWITCHBOARD_GATEWAY_PORT_8081_TCP", "x"),
        ("SWITCHBOARD_GATEWAY_SERVICE_HOST", "x"),
        ("SWITCHBOARD_ELSEWHERE__LISTEN", "x"),
        ("SWITCHBOARD_GATEWAY", "x"),
        ("SWITCHBOARDS_GATEWAY__LISTEN", "x"),
    ]));
}

#[test]
fn a_combination_is_refused_with_value_and_source() {
    let loaded = Loader::new().flag("gateway.enabled", "false").load::<Settings>().expect("good alone");
    let message = loaded.refuse("gateway.enabled", "true while gateway.shards is set").to_string();
    for part in ["gateway.enabled", "\"false\"", "command line", "true while"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_missing_file_is_named_with_who_named_it() {
    let message = refused(&Loader::new().file(Some(Path::new("no-such-file.toml"))));
    assert!(message.contains("no-such-file.toml") && message.contains("--config"), "{message}");
}

#[test]
fn a_value_is_read_from_the_file_that_is_named() {
    let (seal, pins) = (file("hunter2\r\n\n"), file("1,2"));
    let listen = file("127.0.0.1:7");
    let settings = file(&format!(
        "[secrets]\nseal_key_file = {:?}\n[gateway]\nlisten_file = {:?}\n",
        seal.path().display().to_string(),
        listen.path().display().to_string()
    ));
    let pins_path = pins.path().display().to_string();
    let loader = Loader::new().file(Some(settings.path())).environment([
        ("SWITCHBOARD__SECRETS__PINS_FILE", pins_path.as_str()),
        // As a compose file leaves what is not set.
        ("SWITCHBOARD__LOG__FILTER_FILE", ""),
        // Overrules the file.
        ("SWITCHBOARD__GATEWAY__LISTEN", "127.0.0.1:8"),
    ]);
    let loaded = loader.load::<Settings>().expect("good settings");
    let Settings { secrets, gateway, log, .. } = &loaded.settings;
    assert_eq!((secrets.seal_key.as_deref(), secrets.pins.as_slice()), (Some("hunter2"), &[1, 2][..]));
    assert_eq!((gateway.listen.port(), log), (8, &LogSettings::default()));
    let variable = Source::Variable("SWITCHBOARD__SECRETS__PINS_FILE".to_owned());
    let from = Source::Content { path: pins.path().to_owned(), named_by: Box::new(variable) };
    assert_eq!(loaded.source("secrets.pins"), from);
}

#[test]
fn a_file_that_holds_no_value_is_named_with_who_named_it() {
    let (empty, binary) = (file("\n"), tempfile::NamedTempFile::new().expect("temporary file"));
    std::fs::write(binary.path(), b"hunter2\xff").expect("written");
    let directory = tempfile::tempdir().expect("a directory");
    for (path, reason) in [
        (Path::new("no-such-secret"), "can't be read: No such file"),
        (directory.path(), "can't be read: Is a directory"),
        (Path::new("/dev/zero"), "is longer than"),
        (empty.path(), "is empty"),
        (binary.path(), "is no UTF-8"),
    ] {
        let shown = path.display().to_string();
        let variable = "SWITCHBOARD__SECRETS__SEAL_KEY_FILE";
        let message = refused(&Loader::new().environment([(variable, shown.as_str())]));
        for part in ["secrets.seal_key", variable, &shown, reason] {
            assert!(message.contains(part), "{message} lacks {part}");
        }
        assert!(!message.contains("hunter2"), "{message}");
    }
}

#[test]
fn what_a_file_holds_is_never_shown() {
    let secret = file("hunter2\n");
    let path = secret.path().display().to_string();
    for key in ["gateway.shards", "gateway.listen", "log.format", "secrets.pins"] {
        let message = refused(&Loader::new().flag(format!("{key}_file"), &path));
        assert!(message.contains(key) && message.contains(&path), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
    }
}

#[test]
fn a_value_and_a_file_of_the_same_rank_are_refused() {
    let secret = file("hunter2\n");
    let path = secret.path().display().to_string();
    let (plain, named) = ("SWITCHBOARD__SECRETS__SEAL_KEY", "SWITCHBOARD__SECRETS__SEAL_KEY_FILE");
    for variables in [[(plain, "x"), (named, &path)], [(named, &path), (plain, "x")]] {
        let message = refused(&Loader::new().environment(variables));
        for part in ["secrets.seal_key", plain, named, "give one of them"] {
            assert!(message.contains(part), "{message} lacks {part}");
        }
    }
    let both = file(&format!("[secrets]\nseal_key = \"x\"\nseal_key_file = {path:?}\n"));
    assert!(refused(&Loader::new().file(Some(both.path()))).contains("give one of them"));
}

#[test]
fn only_keys_with_a_value_can_be_read_from_a_file() {
    let message = refused(&Loader::new().flag("database.tken_ttl_file", "x"));
    assert!(message.contains("did you mean database.token_ttl_file?"), "{message}");
    let message = refused(&Loader::new().flag("database_file", "x"));
    assert!(message.contains("unknown setting database_file"), "{message}");
    let number = file("[secrets]\nseal_key_file = 5\n");
    let message = refused(&Loader::new().file(Some(number.path())));
    assert!(message.contains("secrets.seal_key_file") && message.contains("the path of a file"), "{message}");
}

#[test]
fn the_reference_lists_every_key_with_its_default() {
    let reference = reference::<Settings>().expect("a tree");
    let default_of =
        |key: &str| reference.iter().find(|(k, _)| k == key).map(|(_, default)| default.as_str());
    assert_eq!(reference.len(), 16);
    assert_eq!(default_of("gateway.timeout"), Some("30s"));
    assert_eq!(default_of("gateway.allowed_origins"), Some("https://example.com"));
    assert_eq!(default_of("gateway.shards"), Some(""));
    assert_eq!(default_of("log.format"), Some("text"));
}
