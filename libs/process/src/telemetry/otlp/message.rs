//! Spans as the messages of OTLP.

use std::time::{SystemTime, UNIX_EPOCH};

use domain::NodeId;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
pub(super) use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use trace::{Finished, TraceContext, Value};

/// The attributes of this process, and those of `OTEL_RESOURCE_ATTRIBUTES` (`key=value,...`), which deployments set.
pub(super) fn resource(role: &str, node: NodeId) -> Resource {
    let own = [
        ("service.name", format!("switchboard-{role}")),
        ("service.namespace", "switchboard".into()),
        ("service.instance.id", node.to_string()),
        ("service.version", env!("CARGO_PKG_VERSION").into()),
    ];
    let own = own.map(|(key, value)| attribute(key, Any::StringValue(value)));
    let given = std::env::var("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let mut attributes = given_attributes(&given);
    attributes.retain(|given| own.iter().all(|own| own.key != given.key));
    attributes.extend(own);
    Resource { attributes, ..Resource::default() }
}

fn given_attributes(text: &str) -> Vec<KeyValue> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| attribute(key.trim(), Any::StringValue(value.trim().into()))).collect()
}

/// A request with these spans.
pub(super) fn request(
    resource: &Resource,
    spans: impl Iterator<Item = Finished>,
) -> ExportTraceServiceRequest {
    let scope = InstrumentationScope { name: "switchboard".into(), ..InstrumentationScope::default() };
    let scope_spans =
        ScopeSpans { scope: Some(scope), spans: spans.map(span).collect(), ..ScopeSpans::default() };
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(resource.clone()),
            scope_spans: vec![scope_spans],
            ..ResourceSpans::default()
        }],
    }
}

fn span(finished: Finished) -> Span {
    let kind = match finished.target {
        trace::SERVER => SpanKind::Server,
        trace::CLIENT => SpanKind::Client,
        trace::CONSUMER => SpanKind::Consumer,
        _ => SpanKind::Internal,
    };
    let status = finished.failed.then(|| Status { code: StatusCode::Error.into(), ..Status::default() });
    Span {
        trace_id: finished.context.trace.0.to_be_bytes().into(),
        span_id: finished.context.span.0.to_be_bytes().into(),
        parent_span_id: finished.parent.map(|parent| parent.0.to_be_bytes().into()).unwrap_or_default(),
        flags: 1,
        name: name(&finished),
        kind: kind.into(),
        start_time_unix_nano: nanos(finished.began),
        end_time_unix_nano: nanos(finished.ended),
        attributes: finished.fields.into_iter().map(|(key, value)| field(key, value)).collect(),
        links: finished.links.into_iter().map(link).collect(),
        status,
        ..Span::default()
    }
}

/// Requests are told apart by method and route, as conventions want it, and frames by their `op`.
fn name(finished: &Finished) -> String {
    let text = |wanted: &str| {
        finished.fields.iter().find_map(|(key, value)| match value {
            Value::Text(text) if *key == wanted => Some(text.as_str()),
            _ => None,
        })
    };
    match (text("method"), text("route"), text("op")) {
        (Some(method), Some(route), _) => format!("{method} {route}"),
        (_, _, Some(op)) => op.to_owned(),
        _ => finished.name.to_owned(),
    }
}

fn field(key: &'static str, value: Value) -> KeyValue {
    let key = match key {
        "method" => "http.request.method",
        "route" => "http.route",
        "status" => "http.response.status_code",
        key => key,
    };
    attribute(
        key,
        match value {
            Value::Text(text) => Any::StringValue(text),
            Value::Int(number) => Any::IntValue(number),
            Value::Float(number) => Any::DoubleValue(number),
            Value::Bool(yes) => Any::BoolValue(yes),
        },
    )
}

fn attribute(key: &str, value: Any) -> KeyValue {
    KeyValue { key: key.into(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn link(context: TraceContext) -> Link {
    Link {
        trace_id: context.trace.0.to_be_bytes().into(),
        span_id: context.span.0.to_be_bytes().into(),
        flags: 1,
        ..Link::default()
    }
}

fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_the_deployment_do_not_replace_our_own() {
        let given = given_attributes("k8s.pod.name=api-7, service.name=other,nonsense,=");
        assert_eq!(given.len(), 3);
        assert_eq!((given[0].key.as_str(), given[1].key.as_str()), ("k8s.pod.name", "service.name"));
        let resource = resource("api", NodeId::new());
        let names = resource.attributes.iter().filter(|attribute| attribute.key == "service.name");
        let names: Vec<_> = names.filter_map(|name| name.value.clone()?.value).collect();
        assert_eq!(names, [Any::StringValue("switchboard-api".into())]);
    }
}
