//! Server-Sent Events, as far as models use them: the data of each event.

/// Longest event. Models send a few words in each.
const MOST_BYTES: usize = 1 << 20;

/// Gathers bytes as they come and gives the data of whole events. Comments, names and ids are passed over.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// The line that is not whole yet.
    line: Vec<u8>,
    /// The data of the event that is not whole yet.
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return: a line feed behind it belongs to it.
    after_return: bool,
}

/// An event is larger than is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl Parser {
    /// Takes bytes, and adds the data of the events that are whole by them.
    pub(crate) fn take(&mut self, bytes: &[u8], events: &mut Vec<String>) -> Result<(), TooLarge> {
        for byte in bytes {
            let is_second_half = std::mem::replace(&mut self.after_return, *byte == b'\r') && *byte == b'\n';
            match byte {
                b'\n' if is_second_half => {}
                b'\r' | b'\n' => self.line_ends(events),
                _ if self.line.len() + self.data.len() >= MOST_BYTES => return Err(TooLarge),
                _ => self.line.push(*byte),
            }
        }
        Ok(())
    }

    fn line_ends(&mut self, events: &mut Vec<String>) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            if std::mem::take(&mut self.has_data) {
                events.push(String::from_utf8_lossy(&data).into_owned());
            }
            return;
        }
        let (name, value) =
            line.iter().position(|byte| *byte == b':').map_or((&line[..], &[][..]), |colon| {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            });
        if name == b"data" {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.has_data = true;
            self.data.extend_from_slice(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(parts: &[&[u8]]) -> Vec<String> {
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        for part in parts {
            parser.take(part, &mut events).expect("not too large");
        }
        events
    }

    #[test]
    fn events_are_whole_however_they_are_cut() {
        let stream = ": hi\r\nevent: x\r\ndata: {\"a\":\"ä\"}\r\n\r\ndata:two\ndata: lines\n\nid: 1\n\ndata\r\rdata: [DONE]\n\ndata: half";
        let expected = ["{\"a\":\"ä\"}", "two\nlines", "", "[DONE]"];
        assert_eq!(events(&[stream.as_bytes()]), expected);
        let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(events(&bytes), expected);
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        let part = vec![b'x'; MOST_BYTES / 2];
        parser.take(b"data: ", &mut events).expect("room");
        parser.take(&part, &mut events).expect("room");
        assert_eq!(parser.take(&part, &mut events), Err(TooLarge));
    }
}
