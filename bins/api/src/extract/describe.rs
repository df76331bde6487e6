//! From what serde says to a problem that names the field.

use crate::problem::Problem;

/// Turns an error of a deserializer, and the path it happened at, into a problem about a field.
/// `whole` is the name of what was read (`the body`), for errors that belong to no field.
pub(super) fn field_problem(path: &str, message: &str, whole: &str) -> Problem {
    let message = without_position(message);
    let parent = if path == "." { "" } else { path };
    if let Some(name) = quoted_after(message, "missing field ") {
        return Problem::field(join(parent, name), "is missing");
    }
    if let Some(name) = quoted_after(message, "duplicate field ") {
        return Problem::field(join(parent, name), "is there twice");
    }
    if let Some(name) = quoted_after(message, "unknown field ") {
        let known = match message.split_once("expected ") {
            Some((_, known)) => format!("is unknown; known is {}", known.trim_start_matches("one of ")),
            None => "is unknown; none is known here".to_owned(),
        };
        // Some deserializers count the unknown name as part of the path, some do not.
        let field = if last(parent) == name { parent.to_owned() } else { join(parent, name) };
        return Problem::field(field, known);
    }
    let field = if parent.is_empty() { whole } else { parent };
    Problem::field(field, message)
}

fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn quoted_after<'a>(message: &'a str, start: &str) -> Option<&'a str> {
    message.strip_prefix(start)?.strip_prefix('`')?.split('`').next()
}

/// Without ` at line 1 column 12`: the field says it better.
fn without_position(message: &str) -> &str {
    message.rfind(" at line ").map_or(message, |at| &message[..at])
}
