//! Spans that are over, and who wants them.

use std::time::SystemTime;

use tracing::field::{Field, Visit};

use crate::context::{SpanId, TraceContext};

/// Who is given spans that are over. Called where the span ends: it must not wait for anything.
pub trait Sink: Send + Sync + 'static {
    /// A span of a recorded trace is over.
    fn finished(&self, span: Finished);
}

/// A span that is over.
#[derive(Debug)]
pub struct Finished {
    /// Its place.
    pub context: TraceContext,
    /// The span it was below, if there was one.
    pub parent: Option<SpanId>,
    /// Places it belongs to as well.
    pub links: Vec<TraceContext>,
    /// Its name: one of few.
    pub name: &'static str,
    /// Its target, which says what part it had: [`crate::SERVER`] and so on.
    pub target: &'static str,
    /// When it began.
    pub began: SystemTime,
    /// When it ended.
    pub ended: SystemTime,
    /// Its fields.
    pub fields: Vec<(&'static str, Value)>,
    /// Whether what it stands for went wrong: the field `failed`.
    pub failed: bool,
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Yes or no.
    Bool(bool),
}

/// A span of a recorded trace, while it lasts.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) parent: Option<SpanId>,
    pub(crate) links: Vec<TraceContext>,
    began: SystemTime,
    fields: Vec<(&'static str, Value)>,
    failed: bool,
}

impl Open {
    pub(crate) fn new(parent: Option<SpanId>, links: Vec<TraceContext>) -> Self {
        Self { parent, links, began: SystemTime::now(), fields: Vec::new(), failed: false }
    }

    pub(crate) fn finish(self, context: TraceContext, name: &'static str, target: &'static str) -> Finished {
        Finished {
            context,
            parent: self.parent,
            links: self.links,
            name,
            target,
            began: self.began,
            // A clock that was set back makes no span of negative length.
            ended: SystemTime::now().max(self.began),
            fields: self.fields,
            failed: self.failed,
        }
    }

    fn put(&mut self, field: &Field, value: Value) {
        match self.fields.iter_mut().find(|(name, _)| *name == field.name()) {
            Some((_, old)) => *old = value,
            None => self.fields.push((field.name(), value)),
        }
    }
}

impl Visit for Open {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, Value::Float(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, Value::Int(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match i64::try_from(value) {
            Ok(value) => self.put(field, Value::Int(value)),
            Err(_) => self.put(field, Value::Text(value.to_string())),
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        if field.name() == "failed" {
            self.failed = value;
        } else {
            self.put(field, Value::Bool(value));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, Value::Text(value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.put(field, Value::Text(format!("{value:?}")));
    }
}
