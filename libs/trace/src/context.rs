//! A place in a trace, and its W3C form.

use std::fmt;
use std::str::FromStr;

/// Which trace. Never 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(pub u128);

/// Which span of a trace. Never 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(pub u64);

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A place in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// Which trace.
    pub trace: TraceId,
    /// Which span of it.
    pub span: SpanId,
    /// Whether spans of this trace are handed on; all who take part in it keep to that.
    pub recorded: bool,
}

impl TraceContext {
    /// The top of a new trace.
    #[must_use]
    pub fn root(recorded: bool) -> Self {
        Self { trace: TraceId(rand::random_range(1..=u128::MAX)), span: fresh(), recorded }
    }

    /// A new place in the same trace.
    #[must_use]
    pub fn next(self) -> Self {
        Self { span: fresh(), ..self }
    }
}

fn fresh() -> SpanId {
    SpanId(rand::random_range(1..=u64::MAX))
}

/// As a W3C `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, u8::from(self.recorded))
    }
}

/// A text that is no `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotATraceParent;

/// From a W3C `traceparent`. Of later versions of the standard the part that this one knows is read.
impl FromStr for TraceContext {
    type Err = NotATraceParent;

    fn from_str(text: &str) -> Result<Self, NotATraceParent> {
        let mut parts = text.splitn(5, '-');
        let mut part = |digits| hex(parts.next(), digits).ok_or(NotATraceParent);
        let (version, trace, span, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        let more = parts.next().is_some();
        let span = u64::try_from(span).map_err(|_| NotATraceParent)?;
        if version == 0xff || (version == 0 && more) || trace == 0 || span == 0 {
            return Err(NotATraceParent);
        }
        Ok(Self { trace: TraceId(trace), span: SpanId(span), recorded: flags & 1 == 1 })
    }
}

/// A number of so many lower-case hexadecimal digits.
fn hex(part: Option<&str>, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let part = part.filter(|part| part.len() == digits && part.bytes().all(is_digit))?;
    u128::from_str_radix(part, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_place_is_read_and_written() {
        let context: TraceContext = GOOD.parse().expect("good");
        assert!(context.recorded);
        assert_eq!(context.to_string(), GOOD);
        let unrecorded = GOOD.replace("-01", "-00");
        assert_eq!(unrecorded.parse().map(|context: TraceContext| context.recorded), Ok(false));
        // Of a version to come.
        let later = GOOD.replacen("00", "cc", 1) + "-and-more";
        assert_eq!(later.parse(), Ok(context));
    }

    #[test]
    fn what_is_not_well_formed_is_none() {
        for bad in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(bad.parse::<TraceContext>(), Err(NotATraceParent), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_read_makes_it_panic(text in ".{0,80}") {
            let _read = text.parse::<TraceContext>();
        }

        #[test]
        fn what_was_written_is_read(recorded: bool) {
            let context = TraceContext::root(recorded).next();
            prop_assert_eq!(context.to_string().parse(), Ok(context));
        }
    }
}
