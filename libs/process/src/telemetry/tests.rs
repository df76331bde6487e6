use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::*;

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logged(settings: &LogSettings, colour: Colour, log: impl FnOnce()) -> (NodeId, String) {
    let (sink, node) = (Sink::default(), NodeId::new());
    let (writer, origin) = (sink.clone(), Origin { role: "api", node });
    let contexts = Contexts::unrecorded();
    let subscriber =
        subscriber(settings, origin, contexts, move || writer.clone(), colour).expect("good settings");
    tracing::subscriber::with_default(subscriber, log);
    let bytes = sink.0.lock().clone();
    (node, String::from_utf8(bytes).expect("utf-8"))
}

fn objects(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn every_json_line_is_an_object_with_role_and_node() {
    let settings = LogSettings { format: LogFormat::Json, ..LogSettings::default() };
    let (node, text) = logged(&settings, Colour::Off, || {
        tracing::info!(room = "blue", "said \"hello\"");
        tracing::warn!("again");
    });
    let lines = objects(&text);
    assert_eq!(lines.len(), 2, "{text}");
    for line in &lines {
        assert_eq!(line["role"], "api");
        assert_eq!(line["node"], node.to_string());
        assert_eq!(line.get("trace_id"), None);
    }
    assert_eq!(lines[0]["room"], "blue");
    assert_eq!(lines[0]["message"], "said \"hello\"");
}

#[test]
fn a_line_says_what_the_spans_around_it_say() {
    // The filter would not let such a span through as a line.
    let settings = LogSettings { format: LogFormat::Json, filter: "warn".to_owned() };
    let (_, text) = logged(&settings, Colour::Off, || {
        let request =
            tracing::info_span!(target: trace::SERVER, "request", request_id = "r\"1", user = "alex");
        let _request = request.entered();
        let _connection = tracing::info_span!(target: trace::LINE, "connection", connection_id = 7).entered();
        let _other = tracing::info_span!("of some library", url = "secret").entered();
        tracing::warn!(user = "sam", "inside");
    });
    let [line] = &objects(&text)[..] else { panic!("{text}") };
    assert_eq!((&line["request_id"], &line["connection_id"]), (&"r\"1".into(), &7.into()));
    assert_eq!(line["user"], "sam", "the nearest counts");
    assert_eq!(text.matches("\"user\"").count(), 1, "{text}");
    assert_eq!(line["trace_id"].as_str().map(str::len), Some(32), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn lines_of_one_request_have_one_trace() {
    for format in [LogFormat::Json, LogFormat::Text] {
        let settings = LogSettings { format, ..LogSettings::default() };
        let (_, text) = logged(&settings, Colour::Off, || {
            let place = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
            let request = trace::below(place, [], || tracing::info_span!(target: trace::SERVER, "request"));
            let _request = request.entered();
            tracing::info!("one");
            tracing::info!("two");
        });
        assert_eq!(text.matches("0af7651916cd43dd8448eb211c80319c").count(), 2, "{text}");
    }
}

#[test]
fn what_the_filter_leaves_out_is_not_even_formatted() {
    struct Precious;
    impl std::fmt::Display for Precious {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("formatted")
        }
    }
    let (_, text) = logged(&LogSettings::default(), Colour::Off, || {
        let _request = tracing::info_span!(target: trace::SERVER, "request").entered();
        tracing::debug!(precious = %Precious, "quiet");
        drop(tracing::debug_span!(target: trace::INTERNAL, "append", precious = %Precious));
        drop(tracing::debug_span!("of some library", precious = %Precious));
    });
    assert_eq!(text, "");
}

#[test]
fn text_has_colours_only_when_told() {
    let (node, plain) =
        logged(&LogSettings::default(), Colour::Off, || tracing::info!(room = "blue", "said"));
    assert!(plain.contains(&format!("role=api node={node}")) && plain.contains("room=\"blue\""), "{plain}");
    assert!(!plain.contains('\x1b'), "{plain:?}");
    let (_, coloured) = logged(&LogSettings::default(), Colour::On, || tracing::info!("said"));
    assert!(coloured.contains('\x1b'), "{coloured:?}");
}

#[test]
fn the_filter_is_obeyed_and_checked() {
    let settings = LogSettings { filter: "warn".to_owned(), ..LogSettings::default() };
    let (_, text) = logged(&settings, Colour::Off, || {
        tracing::info!("quiet");
        tracing::warn!("loud");
    });
    assert!(text.contains("loud") && !text.contains("quiet"), "{text}");
}

#[test]
fn a_filter_that_is_none_is_refused() {
    let of = |filter: &str| LogSettings { filter: filter.to_owned(), ..LogSettings::default() };
    for good in ["info", "OFF", "info,cluster=debug", "warn,api::stream=trace", "info,[request{id=7}]=debug"]
    {
        assert_eq!(of(good).check(), Ok(()), "{good}");
    }
    for bad in ["", "infoo", "a=b=c", "cluster=loud", "info,", "info,cluster"] {
        let refused = of(bad).check().expect_err(bad);
        assert_eq!(refused.field, "log.filter");
        let origin = Origin { role: "api", node: NodeId::new() };
        let subscriber = subscriber(&of(bad), origin, Contexts::unrecorded(), io::sink, Colour::Off);
        assert!(subscriber.is_err(), "{bad}");
    }
}

#[test]
fn where_traces_go_is_checked() {
    let of = |endpoint: &str| TelemetrySettings {
        otlp_endpoint: endpoint.to_owned(),
        ..TelemetrySettings::default()
    };
    assert_eq!(of("").endpoint(), Ok(None));
    for (given, sent_to) in [
        ("http://collector:4318", "http://collector:4318/v1/traces"),
        ("https://example.com/otlp/", "https://example.com/otlp/v1/traces"),
    ] {
        assert_eq!(of(given).endpoint().expect(given).expect("on").as_str(), sent_to);
        assert_eq!(of(given).check(), Ok(()));
    }
    for bad in [
        "collector:4318",
        "grpc://collector",
        "http://",
        "http://alex:secret@collector",
        "http://c/?key=secret",
    ] {
        let refused = of(bad).check().expect_err(bad);
        assert_eq!(refused.field, "telemetry.otlp_endpoint");
        assert!(!refused.to_string().contains("secret"), "{refused}");
    }
    for bad in [-0.1, 1.1, f64::NAN] {
        let settings = TelemetrySettings { sample_ratio: bad, ..TelemetrySettings::default() };
        assert_eq!(settings.check().expect_err("no share").field, "telemetry.sample_ratio");
    }
}
