"""Makes the table of values in README.md from values.yaml, where `# --` above a key describes it. Run, it writes the page."""

import json
import re
from typing import NamedTuple

import yaml
from rendering import CHART

MARK = "<!-- made from values.yaml by tests/readme.py -->\n"


class Row(NamedTuple):
    key: str
    default: object
    text: str


def rows(source):
    """Every value of a values.yaml: what is described as a whole, and leaves."""
    lines = source.splitlines()

    def walk(node, path):
        for key, value in node.value:
            name, text = path + [key.value], description(lines, key.start_mark.line)
            if text or not (isinstance(value, yaml.MappingNode) and value.value):
                yield Row(".".join(name), yaml.SafeLoader("").construct_document(value), text)
            else:
                yield from walk(value, name)

    return list(walk(yaml.compose(source), []))


def description(lines, line):
    """The comment right above a line, if it begins with `# --`."""
    above = []
    while line > 0 and (comment := re.match(r"\s*# ?(.*)", lines[line - 1])):
        above.insert(0, comment[1])
        line -= 1
    return " ".join(above).removeprefix("-- ") if above and above[0].startswith("-- ") else ""


def page():
    """What README.md should be: its own text, then the table."""
    above = (CHART / "README.md").read_text().split(MARK)[0]
    table = "| value | default | what it is |\n|---|---|---|\n"
    for row in rows((CHART / "values.yaml").read_text()):
        table += f"| `{row.key}` | `{json.dumps(row.default)}` | {row.text} |\n"
    return above + MARK + "\n" + table


if __name__ == "__main__":
    (CHART / "README.md").write_text(page())
