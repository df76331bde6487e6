//! Rules for text that people and programs give us.
//!
//! Each rule names the field, what was given and what is allowed. NUL is refused everywhere:
//! PostgreSQL text can't hold it, and a refused row must be refused at the edge, not in a queue.

use crate::error::Invalid;

/// Checks a handle: 2 to 32 of `a-z`, `0-9`, `.`, `_`, `-`, beginning and ending with a letter or digit.
///
/// # Errors
///
/// Anything else.
pub fn handle(text: &str) -> Result<(), Invalid> {
    let allowed_char = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let good = (2..=32).contains(&text.len())
        && text.chars().all(allowed_char)
        && edge(text.chars().next())
        && edge(text.chars().next_back());
    if good {
        Ok(())
    } else {
        Err(Invalid::new(
            "handle",
            text,
            "2 to 32 of a-z, 0-9, '.', '_' and '-', beginning and ending with a letter or digit",
        ))
    }
}

/// Checks a password by length alone; the message never shows it.
///
/// # Errors
///
/// Fewer than 10 or more than 256 characters.
pub fn password(text: &str) -> Result<(), Invalid> {
    let characters = text.chars().count();
    if (10..=256).contains(&characters) {
        Ok(())
    } else {
        Err(Invalid::described(
            "password",
            format!("a password of {characters} characters"),
            "10 to 256 characters",
        ))
    }
}

/// Checks a name for people to read (display name, room, device): 1 to 80 characters, no control
/// characters, not only white space.
///
/// # Errors
///
/// Anything else.
pub fn name(field: &'static str, text: &str) -> Result<(), Invalid> {
    let good = (1..=80).contains(&text.chars().count())
        && !text.chars().any(char::is_control)
        && !text.trim().is_empty();
    if good {
        Ok(())
    } else {
        Err(Invalid::new(field, text, "1 to 80 characters, not blank, without control characters"))
    }
}

/// Checks the body of a message: 1 to `max_bytes` bytes, not only white space, no NUL.
///
/// # Errors
///
/// Anything else.
pub fn body(text: &str, max_bytes: usize) -> Result<(), Invalid> {
    let allowed = || format!("1 to {max_bytes} bytes of UTF-8, not blank, without NUL");
    if text.len() > max_bytes {
        return Err(Invalid::described("body", format!("text of {} bytes", text.len()), allowed()));
    }
    if text.trim().is_empty() || text.contains('\0') {
        return Err(Invalid::new("body", text, allowed()));
    }
    Ok(())
}

/// Checks a nonce or idempotency key: 1 to 64 visible ASCII characters.
///
/// # Errors
///
/// Anything else.
pub fn nonce(field: &'static str, text: &str) -> Result<(), Invalid> {
    if (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()) {
        Ok(())
    } else {
        Err(Invalid::new(field, text, "1 to 64 visible ASCII characters"))
    }
}

/// Checks a reaction: 1 to 32 bytes without white space or control characters.
///
/// # Errors
///
/// Anything else.
pub fn emoji(text: &str) -> Result<(), Invalid> {
    if (1..=32).contains(&text.len()) && !text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        Ok(())
    } else {
        Err(Invalid::new("emoji", text, "1 to 32 bytes without white space or control characters"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles() {
        for good in ["al", "alex", "a.b_c-1", "0x"] {
            assert_eq!(handle(good), Ok(()), "{good}");
        }
        for bad in ["", "a", "Alex", "-alex", "alex.", "a b", "\u{e9}lan", &"x".repeat(33)] {
            assert!(handle(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn passwords_are_counted_and_never_shown() {
        assert!(password(&"\u{e9}".repeat(10)).is_ok());
        let refused = password("hunter2").expect_err("too short").to_string();
        assert!(refused.contains("7 characters") && !refused.contains("hunter2"), "{refused}");
        assert!(password(&"x".repeat(257)).is_err());
    }

    #[test]
    fn bodies() {
        assert!(body("hello", 16).is_ok());
        for bad in ["", "  \n", "a\0b", "a body that is too long"] {
            assert!(body(bad, 16).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn nonces_and_emoji() {
        assert!(
            nonce("nonce", "a1-b2").is_ok() && nonce("nonce", "a b").is_err() && nonce("nonce", "").is_err()
        );
        assert!(emoji("\u{1f44d}").is_ok() && emoji("").is_err() && emoji("a b").is_err());
    }
}
