//! Names, passwords and texts that collide with nobody's.

use rand::Rng;

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// `length` small letters and digits, the first a letter.
#[must_use]
pub fn letters(length: usize) -> String {
    let mut rng = rand::rng();
    (0..length)
        .map(|at| char::from(LETTERS[rng.random_range(0..if at == 0 { 26 } else { LETTERS.len() })]))
        .collect()
}

/// A handle that nobody has: `alex-k3j9x0qp`.
#[must_use]
pub fn handle(name: &str) -> String {
    format!("{name}-{}", letters(8))
}

/// A password that is accepted.
#[must_use]
pub fn password() -> String {
    letters(20)
}

/// A nonce that was never used.
#[must_use]
pub fn nonce() -> String {
    letters(24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_allowed_and_differ() {
        let (one, other) = (handle("alex"), handle("alex"));
        assert_ne!(one, other);
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-_".contains(c);
        assert!(one.len() <= 32 && one.chars().all(allowed), "{one}");
        assert!((10..=256).contains(&password().len()));
    }
}
