//! Who a text mentions.

use std::collections::BTreeSet;

/// The most handles that are looked up for one text; more are not mentions but noise.
pub const MAX_MENTIONS: usize = 50;

/// The distinct `@handle`s in a text, lower-cased, without the `@`.
///
/// A mention begins at the start of the text or after a character that can't be part of an
/// address (so `alex@example.com` mentions nobody). Dots and dashes at the end belong to the
/// sentence, not to the handle.
#[must_use]
pub fn handles(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut before = None;
    for (at, c) in text.char_indices() {
        if c == '@' && !before.is_some_and(|b: char| b.is_alphanumeric() || "._-@/".contains(b)) {
            let rest = &text[at + 1..];
            let end = rest.find(|c: char| !is_handle_char(c)).unwrap_or(rest.len());
            let handle = rest[..end].trim_end_matches(['.', '-', '_']);
            let handle = handle.to_ascii_lowercase();
            if crate::text::handle(&handle).is_ok() && found.len() < MAX_MENTIONS {
                found.insert(handle);
            }
        }
        before = Some(c);
    }
    found
}

fn is_handle_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        handles(text).into_iter().collect()
    }

    #[test]
    fn finds_handles_and_nothing_else() {
        assert_eq!(found("@alex, please ask @Sam. Not alex@example.com, @x or @@robin"), ["alex", "sam"]);
        assert_eq!(found("(@alex) @alex @robin-"), ["alex", "robin"]);
        assert!(found("@").is_empty() && found("").is_empty() && found("é@alex").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn never_panics_and_only_gives_handles(text in ".{0,200}") {
            for handle in handles(&text) {
                proptest::prop_assert!(crate::text::handle(&handle).is_ok(), "{}", handle);
            }
        }
    }
}
