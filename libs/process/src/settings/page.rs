//! The page of documentation that lists every key, compared with the code.
//!
//! A key is listed by a table row that begins with the key and its default, both in code marks:
//! `` | `log.format` | `text` | ... ``. A key that is unset by default has anything but code in its second cell.

/// What a page lacks of a reference, or has with another default; one line each, for a test to show.
///
/// ```
/// let page = "| `log.format` | `text` | how |\n| `log.file` | unset | where |";
/// let reference = vec![("log.format".to_owned(), "json".to_owned()), ("log.file".to_owned(), String::new())];
/// let lines = process::settings::missing_in_page(page, &reference);
/// assert_eq!(lines, ["log.format has the default `text` on the page, `json` in the code"]);
/// ```
#[must_use]
pub fn missing_in_page(page: &str, reference: &[(String, String)]) -> Vec<String> {
    let rows = rows(page);
    let wrong = reference.iter().filter_map(|(key, default)| {
        let listed: Vec<&str> =
            rows.iter().filter(|(listed, _)| listed == key).map(|(_, default)| *default).collect();
        match listed.as_slice() {
            [] => Some(format!("{key} is not on the page (its default is `{default}`)")),
            [listed] if listed == default => None,
            [listed] => {
                Some(format!("{key} has the default `{listed}` on the page, `{default}` in the code"))
            }
            _ => Some(format!("{key} is on the page more than once")),
        }
    });
    wrong.collect()
}

/// Keys that a page lists and no reference has.
#[must_use]
pub fn unknown_in_page(page: &str, references: &[Vec<(String, String)>]) -> Vec<String> {
    let known = |key: &str| references.iter().flatten().any(|(known, _)| known == key);
    rows(page).into_iter().map(|(key, _)| key).filter(|key| !known(key)).map(str::to_owned).collect()
}

/// Key and default of every row that lists a key. A key has a dot and nothing but letters, digits and `_`.
fn rows(page: &str) -> Vec<(&str, &str)> {
    let is_key = |text: &str| {
        let part =
            |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        text.contains('.') && text.split('.').all(part)
    };
    page.lines()
        .filter_map(|line| {
            let mut cells = line.trim().strip_prefix('|')?.split('|').map(str::trim);
            let key = code(cells.next()?)?;
            let default = code(cells.next()?).unwrap_or_default();
            is_key(key).then_some((key, default))
        })
        .collect()
}

fn code(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Configuration\n\n| key | default | what |\n|---|---|---|\n\
                        | `a.size` | `5` | x |\n| `a.name` | unset | x |\n| `docs/x.md` | `1` | no key |\n";

    fn reference(entries: &[(&str, &str)]) -> Vec<(String, String)> {
        entries.iter().map(|(key, default)| ((*key).to_owned(), (*default).to_owned())).collect()
    }

    #[test]
    fn what_is_listed_right_is_no_difference() {
        let reference = reference(&[("a.size", "5"), ("a.name", "")]);
        assert!(missing_in_page(PAGE, &reference).is_empty());
        assert!(unknown_in_page(PAGE, &[reference]).is_empty());
    }

    #[test]
    fn differences_are_found_both_ways() {
        let other = reference(&[("a.size", "6"), ("a.new", "1")]);
        let missing = missing_in_page(PAGE, &other);
        assert_eq!(missing.len(), 2, "{missing:?}");
        assert!(missing[0].contains("`5` on the page, `6`") && missing[1].contains("a.new"), "{missing:?}");
        assert_eq!(unknown_in_page(PAGE, &[other]), ["a.name"]);
        let twice = format!("{PAGE}| `a.size` | `5` | again |\n");
        assert_eq!(
            missing_in_page(&twice, &reference(&[("a.size", "5")])),
            ["a.size is on the page more than once"]
        );
    }
}
