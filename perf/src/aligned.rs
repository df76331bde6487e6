//! Tables in Markdown whose columns stand below each other, so that they can be read in a terminal too.

/// The text with each of its tables aligned.
pub(crate) fn aligned(text: &str) -> String {
    let (mut result, mut table) = (String::new(), Vec::new());
    for line in text.lines() {
        if line.starts_with('|') {
            table.push(cells(line));
            continue;
        }
        result += &written(&std::mem::take(&mut table));
        result += line;
        result.push('\n');
    }
    result + &written(&table)
}

fn cells(line: &str) -> Vec<&str> {
    let inner = line.trim().trim_start_matches('|');
    inner.strip_suffix('|').unwrap_or(inner).split('|').map(str::trim).collect()
}

fn written(table: &[Vec<&str>]) -> String {
    let columns = table.iter().map(Vec::len).max().unwrap_or_default();
    let rule = |cell: &str| !cell.is_empty() && cell.chars().all(|character| character == '-');
    let width = |column: usize| {
        let cells = table.iter().filter_map(|row| row.get(column)).filter(|cell| !rule(cell));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut result = String::new();
    for row in table {
        for (cell, width) in row.iter().zip(&widths) {
            let cell = if rule(cell) { "-".repeat((*width).max(3)) } else { (*cell).to_owned() };
            result += &format!("| {cell:<width$} ", width = (*width).max(3));
        }
        result += "|\n";
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other_and_the_rest_stays() {
        let text = "before\n\n| a | b |\n|---|---|\n| longer than it | 2.00\u{b5}s |\n| c |  |\n\nafter\n";
        let expected = "before\n\n\
                        | a              | b      |\n\
                        | -------------- | ------ |\n\
                        | longer than it | 2.00\u{b5}s |\n\
                        | c              |        |\n\
                        \nafter\n";
        assert_eq!(aligned(text), expected);
        assert_eq!(aligned("| a |\n|---|"), "| a   |\n| --- |\n");
    }
}
