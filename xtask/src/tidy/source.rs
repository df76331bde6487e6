//! Rules for Rust sources.

use super::Finding;
use crate::lexer::lex;
use crate::repo::TextFile;

/// Lines at which a file stops growing.
const STOP: usize = 600;

/// Where SQL may stand in Rust: the store itself, and what starts databases for it and for tests.
const SQL_HOMES: [&str; 3] = ["libs/store/", "libs/localpg/", "libs/testkit/"];

/// Files end at 600 lines, tests included.
pub(super) fn size(file: &TextFile) -> Option<Finding> {
    let lines = file.text.lines().count();
    (lines > STOP).then(|| {
        Finding::new(&file.path, 0, format!("has {lines} lines, {STOP} is the stop: split it by duty"))
    })
}

/// Marks of what is not finished, in code (comments and texts may speak of them).
pub(super) fn unfinished(file: &TextFile) -> Vec<Finding> {
    let code = lex(&file.text).code;
    let marks = ["todo!", "unimplemented!", "#[ignore"];
    let found = code.lines().zip(1..).flat_map(|(line, number)| {
        marks.into_iter().filter(|mark| line.contains(mark)).map(move |mark| (number, mark))
    });
    found.map(|(number, mark)| Finding::new(&file.path, number, format!("is not finished: {mark}"))).collect()
}

/// SQL stands in files of its own below the store; tests may look into a database by hand.
pub(super) fn sql(file: &TextFile) -> Vec<Finding> {
    if file.is_test() || SQL_HOMES.iter().any(|home| file.path.starts_with(home)) {
        return Vec::new();
    }
    let literals = lex(product(&file.text)).literals;
    let found = literals.into_iter().filter(|literal| is_sql(&literal.text));
    found
        .map(|literal| {
            Finding::new(&file.path, literal.line, "has SQL: each statement is a file below libs/store/sql")
        })
        .collect()
}

/// The source up to its unit tests, which by our style come last.
pub(super) fn product(text: &str) -> &str {
    let tests = text.find("\n#[cfg(test)]\nmod ").filter(|at| text[*at..].contains('{'));
    tests.map_or(text, |at| &text[..=at])
}

fn is_sql(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\\');
    let mut words = text.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    // Prose may begin with such a word, but does not shout it; a lone word is a name.
    match first {
        "SELECT" | "WITH" | "UPDATE" => !second.is_empty(),
        "INSERT" => second == "INTO",
        "DELETE" => second == "FROM",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn long_files_are_found() {
        assert_eq!(size(&file("a.rs", &"x\n".repeat(600))), None);
        assert!(size(&file("a.rs", &"x\n".repeat(601))).is_some());
    }

    #[test]
    fn unfinished_marks_are_found_in_code_alone() {
        let text = "// todo!() later\nfn a() { todo!() }\nlet b = \"unimplemented!\";\n#[ignore]\n#[ignore = \"slow\"]\n";
        let lines: Vec<usize> = unfinished(&file("a.rs", text)).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [2, 4, 5]);
    }

    #[test]
    fn sql_is_found_outside_of_its_homes_and_of_tests() {
        let text = "let a = \"SELECT 1\";\nlet b = \"\\\n   INSERT INTO t\";\nlet c = r\"DELETE FROM t\";\n\
                    let d = \"WITH a AS (x)\";\nlet e = \"UPDATE t SET a = 1\";\n";
        let lines =
            |path: &str| sql(&file(path, text)).iter().map(|finding| finding.line).collect::<Vec<_>>();
        assert_eq!(lines("libs/realtime/src/hub.rs"), [1, 2, 4, 5, 6]);
        assert!(lines("libs/store/src/postgres/log.rs").is_empty());
        assert!(lines("libs/cluster/tests/channel.rs").is_empty());
        assert!(lines("libs/cluster/src/hub/tests.rs").is_empty());
    }

    #[test]
    fn words_are_no_sql() {
        let text = "let a = \"DELETE\"; let b = \"SELECT\"; let c = \"Select one\"; let d = \"DELETE /v1/rooms\"; \
                    // SELECT 1\n#[cfg(test)]\nmod tests {\n let e = \"SELECT 1\";\n}\n";
        assert_eq!(sql(&file("bins/api/src/lib.rs", text)), []);
    }
}
