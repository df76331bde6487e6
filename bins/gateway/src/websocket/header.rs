//! The gate that every byte of the peer passes before the frame parser sees it.
//!
//! fastwebsockets takes frames without mask, close frames of any length and messages of any number
//! of fragments; it also keeps what it has read of the next frame to itself. The gate knows where a
//! frame ends and refuses by the header alone, before anything is reserved for a payload.

use super::message::{Kinds, Limits, ReadError};

const CONTINUATION: u8 = 0x0;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PONG: u8 = 0xA;

/// Where in a frame the last byte was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the header, of which so many bytes are there.
    Header(u8),
    /// In the payload, of which so many bytes are missing.
    Payload(u64),
    /// At the end of the frame.
    End,
}

/// Follows the frames of one connection.
#[derive(Debug)]
pub(super) struct Gate {
    limits: Limits,
    place: Place,
    /// The header so far: two bytes, up to eight of length, four of mask.
    header: [u8; 14],
    /// Bytes and frames of the message begun; no frames means that none is begun.
    message_bytes: u64,
    message_frames: u32,
}

impl Gate {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, place: Place::Header(0), header: [0; 14], message_bytes: 0, message_frames: 0 }
    }

    /// Lets the next frame in.
    pub(super) fn next_frame(&mut self) {
        self.place = Place::Header(0);
    }

    /// Whether a frame has begun and not ended.
    pub(super) fn inside_frame(&self) -> bool {
        !matches!(self.place, Place::Header(0) | Place::End)
    }

    /// Whether the frame let in has come to its end.
    pub(super) fn at_end(&self) -> bool {
        self.place == Place::End
    }

    /// Follows `bytes` up to the end of the frame, and says how many of them belong to it.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> Result<usize, ReadError> {
        let mut at = 0;
        while at < bytes.len() {
            match self.place {
                Place::Header(have) => {
                    self.header[usize::from(have)] = bytes[at];
                    at += 1;
                    self.place = self.header_grew(have + 1)?;
                }
                Place::Payload(missing) => {
                    let here = missing.min((bytes.len() - at) as u64);
                    at += usize::try_from(here).unwrap_or(usize::MAX);
                    self.place = if here == missing { Place::End } else { Place::Payload(missing - here) };
                }
                Place::End => break,
            }
        }
        Ok(at)
    }

    fn header_grew(&mut self, have: u8) -> Result<Place, ReadError> {
        match have {
            1 => self.check_first()?,
            2 => self.check_second()?,
            _ => {}
        }
        let length_bytes = match self.header[1] & 0x7F {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        // The limit is looked at before the mask has come: nothing more of a message too large is waited for.
        if have < 2 || have < 2 + length_bytes {
            return Ok(Place::Header(have));
        }
        let length = self.length(length_bytes)?;
        if have == 2 + length_bytes {
            self.count(length)?;
        }
        Ok(match (have == 6 + length_bytes, length) {
            (false, _) => Place::Header(have),
            (true, 0) => Place::End,
            (true, _) => Place::Payload(length),
        })
    }

    const fn opcode(&self) -> u8 {
        self.header[0] & 0x0F
    }

    const fn is_final(&self) -> bool {
        self.header[0] & 0x80 != 0
    }

    const fn is_control(&self) -> bool {
        self.opcode() >= CLOSE
    }

    fn check_first(&self) -> Result<(), ReadError> {
        let begun = self.message_frames > 0;
        if self.header[0] & 0x70 != 0 {
            return Err(ReadError::ReservedBits);
        }
        match self.opcode() {
            CONTINUATION if !begun => Err(ReadError::NothingToContinue),
            TEXT | BINARY if begun => Err(ReadError::MessageWithinMessage),
            TEXT if self.limits.kinds == Kinds::Binary => Err(ReadError::WrongKind),
            BINARY if self.limits.kinds == Kinds::Text => Err(ReadError::WrongKind),
            CONTINUATION | TEXT | BINARY => Ok(()),
            CLOSE..=PONG if self.is_final() => Ok(()),
            CLOSE..=PONG => Err(ReadError::ControlFragmented),
            other => Err(ReadError::ReservedOpcode(other)),
        }
    }

    fn check_second(&self) -> Result<(), ReadError> {
        if self.header[1] & 0x80 == 0 {
            return Err(ReadError::Unmasked);
        }
        if self.is_control() && self.header[1] & 0x7F > 125 {
            return Err(ReadError::ControlTooLong);
        }
        Ok(())
    }

    /// The length of the payload, from the bytes of the header that hold it.
    fn length(&self, length_bytes: u8) -> Result<u64, ReadError> {
        let long = &self.header[2..2 + usize::from(length_bytes)];
        let length = long.iter().fold(0, |value: u64, byte| value << 8 | u64::from(*byte));
        match length_bytes {
            0 => Ok(u64::from(self.header[1] & 0x7F)),
            2 if length < 126 => Err(ReadError::LengthForm),
            8 if length <= u64::from(u16::MAX) || length >> 63 == 1 => Err(ReadError::LengthForm),
            _ => Ok(length),
        }
    }

    /// Counts the frame into its message, and refuses what goes over the limits.
    fn count(&mut self, length: u64) -> Result<(), ReadError> {
        if self.is_control() {
            return Ok(());
        }
        self.message_frames += 1;
        self.message_bytes = self.message_bytes.saturating_add(length);
        if self.message_bytes > self.limits.message_bytes as u64
            || self.message_frames > self.limits.fragments.max(1)
        {
            return Err(ReadError::TooLarge { code: self.limits.too_large_code });
        }
        if self.is_final() {
            self.message_bytes = 0;
            self.message_frames = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { message_bytes: 100_000, fragments: 3, too_large_code: 1009, kinds: Kinds::All };

    fn refused(bytes: &[u8]) -> ReadError {
        Gate::new(LIMITS).pass(bytes).expect_err("refused")
    }

    #[test]
    fn stops_at_the_end_of_each_frame() {
        let mut gate = Gate::new(LIMITS);
        let two = [0x81, 0x82, 1, 2, 3, 4, 5, 6, 0x89, 0x80, 1, 2, 3, 4, 0x81];
        assert_eq!(gate.pass(&two).unwrap(), 8);
        assert!(gate.at_end() && !gate.inside_frame());
        assert_eq!(gate.pass(&two[8..]).unwrap(), 0, "the next frame is not let in yet");
        gate.next_frame();
        assert_eq!(gate.pass(&two[8..]).unwrap(), 6);
        gate.next_frame();
        assert_eq!(gate.pass(&two[14..]).unwrap(), 1);
        assert!(gate.inside_frame());
    }

    #[test]
    fn refuses_by_the_header_alone() {
        assert!(matches!(refused(&[0xC1]), ReadError::ReservedBits));
        assert!(matches!(refused(&[0x83]), ReadError::ReservedOpcode(3)));
        assert!(matches!(refused(&[0x8B]), ReadError::ReservedOpcode(11)));
        assert!(matches!(refused(&[0x09]), ReadError::ControlFragmented));
        assert!(matches!(refused(&[0x80]), ReadError::NothingToContinue));
        assert!(matches!(refused(&[0x81, 0x01]), ReadError::Unmasked));
        assert!(matches!(refused(&[0x88, 0xFE]), ReadError::ControlTooLong));
        assert!(matches!(refused(&[0x81, 0xFE, 0, 125]), ReadError::LengthForm));
        assert!(matches!(refused(&[0x81, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]), ReadError::LengthForm));
        assert!(matches!(refused(&[0x81, 0xFF, 0x80, 0, 0, 0, 0, 1, 0, 0]), ReadError::LengthForm));
        assert!(matches!(
            refused(&[0x81, 0xFF, 0, 0, 0, 0, 0, 1, 0x86, 0xA1]),
            ReadError::TooLarge { code: 1009 }
        ));
    }

    #[test]
    fn counts_bytes_and_frames_over_the_whole_message() {
        let frame = |first: u8| [first, 0x80, 0, 0, 0, 0];
        let mut gate = Gate::new(LIMITS);
        for first in [0x01, 0x00, 0x8A, 0x80, 0x02, 0x00, 0x00] {
            assert_eq!(gate.pass(&frame(first)).unwrap(), 6, "{first}");
            gate.next_frame();
        }
        assert!(matches!(gate.pass(&frame(0x80)), Err(ReadError::TooLarge { .. })), "a fourth fragment");

        let mut gate = Gate::new(Limits { message_bytes: 3, ..LIMITS });
        assert_eq!(gate.pass(&[0x01, 0x82, 0, 0, 0, 0, 1, 2]).unwrap(), 8);
        gate.next_frame();
        assert!(matches!(gate.pass(&[0x80, 0x82]), Err(ReadError::TooLarge { .. })));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_in_any_pieces_meet_the_same_end(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..64),
            cut in 0_usize..64,
        ) {
            let run = |pieces: &[&[u8]]| {
                let mut gate = Gate::new(LIMITS);
                let mut passed = 0;
                for piece in pieces {
                    match gate.pass(piece) {
                        Ok(here) => passed += here,
                        Err(error) => return Err(error.to_string()),
                    }
                }
                Ok((passed, gate.place))
            };
            let (head, tail) = bytes.split_at(cut.min(bytes.len()));
            proptest::prop_assert_eq!(run(&[&bytes]), run(&[head, tail]));
        }
    }
}
