"""Alert rules and dashboard: Prometheus takes them, they fire when they should, and they name what is there."""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import promql_parser
import rendering
import yaml
from rendering import CHART, REPO

RULES = CHART / "files/alerts.yaml"
SEVERITIES = {"critical", "warning"}


def alerts():
    """Every rule, by name."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def dashboard():
    return json.loads((CHART / "files/dashboard.json").read_text())


def queries(panels):
    """Every query of a dashboard, with Grafana's variables filled in, by its panel's title."""
    for panel in panels:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$__rate_interval", "5m")


def selectors(query):
    """The metrics that a query reads, and the labels it selects by."""
    for name, labels in re.findall(r"\b((?:switchboard|process)_\w+)(\{[^}]*\})?", query):
        yield name, set(re.findall(r"(\w+) ?[=!]~?", labels))


def documented():
    """Every metric of the documentation, with its labels; of a histogram also the series it consists of."""
    found = {}
    page = (REPO / "docs/metrics.md").read_text()
    for name, labels, kind in re.findall(r"^\| `(\w+)(?:\{([^}]*)\})?` \| (\w+) ", page, re.M):
        labels = set(filter(None, labels.split(",")))
        found[name] = labels
        if kind == "histogram":
            found |= {f"{name}_{part}": labels | {"le"} for part in ("bucket", "sum", "count")}
    return found


def promtool_test(name, series, after, expected):
    """One test of rules in promtool's format: series, and what queries give after so long."""
    return {
        "name": name,
        "interval": "1m",
        "input_series": [{"series": key, "values": str(values)} for key, values in series.items()],
        "promql_expr_test": [
            {"expr": query, "eval_time": after, "exp_samples": [] if value is None else [{"labels": "{}", "value": value}]}
            for query, value in expected.items()
        ],
    }


def promtool(*arguments):
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=60)


class Alerts(unittest.TestCase):
    def test_prometheus_takes_them(self):
        run = promtool("check", "rules", "--lint=all", "--lint-fatal", str(RULES))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_each_fires_when_it_should_and_not_before(self):
        cases = yaml.safe_load((CHART / "tests/alerts.yaml").read_text())
        self.assertEqual(set(cases), set(alerts()), "each alert has its cases in chart/tests/alerts.yaml")
        tests = []
        for alert, case in cases.items():
            firing, pending = (f'ALERTS{{alertname="{alert}",alertstate="{state}"}}' for state in ("firing", "pending"))
            tests += [
                promtool_test(f"{alert} fires", case["fires"], case["after"], {
                    f"count({firing})": case.get("count", 1),
                    # One evaluation a minute: as many were pending as minutes were waited.
                    f"max(count_over_time({pending}[3h]))": case.get("waits"),
                }),
                promtool_test(f"{alert} is quiet", case["quiet"], case["after"], {f"count({firing})": None}),
            ]
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory, "tests.yaml")
            file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
            run = promtool("test", "rules", str(file))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_each_says_how_bad_it_is_and_what_to_do(self):
        headings = re.findall(r"^## (\w+)$", (REPO / "docs/operations/alerts.md").read_text(), re.M)
        self.assertEqual(sorted(headings), sorted(alerts()), "each alert has its section in docs/operations/alerts.md")
        for name, rule in alerts().items():
            with self.subTest(name):
                self.assertIn(rule["labels"]["severity"], SEVERITIES)
                self.assertEqual(set(rule["annotations"]), {"summary", "description", "runbook_url"})
                self.assertEqual(rule["annotations"]["runbook_url"], f"docs/operations/alerts.md#{name.lower()}")

    def test_metrics_and_labels_are_documented(self):
        known = documented()
        of_targets = {"namespace", "job", "instance"}
        for where, query in [(name, rule["expr"]) for name, rule in alerts().items()] + list(queries(dashboard()["panels"])):
            for name, labels in selectors(query):
                with self.subTest(where, metric=name):
                    self.assertIn(name, known)
                    self.assertLessEqual(labels - of_targets, known[name])

    def test_the_chart_passes_them_on(self):
        (rule,) = rendering.of_kind("gateway-api", "PrometheusRule").values()
        given = {one["alert"]: one for group in rule["spec"]["groups"] for one in group["rules"]}
        for name, wanted in alerts().items():
            wanted["annotations"]["runbook_url"] = f"https://docs.example.com/alerts#{name.lower()}"
            self.assertEqual(given[name], wanted)
        board = rendering.of_kind("gateway-api", "ConfigMap")["chat-switchboard-dashboard"]
        self.assertEqual(json.loads(board["data"]["switchboard.json"]), dashboard())

    def test_scraping_gives_the_labels_they_stand_on(self):
        (monitor,) = rendering.of_kind("gateway-api", "ServiceMonitor").values()
        (endpoint,) = monitor["spec"]["endpoints"]
        self.assertIn({"targetLabel": "job", "replacement": "switchboard"}, endpoint["relabelings"])
        service = rendering.of_kind("gateway-api", "Service")["chat-switchboard-admin"]
        self.assertLessEqual(monitor["spec"]["selector"]["matchLabels"].items(), service["metadata"]["labels"].items())
        self.assertEqual(endpoint["port"], service["spec"]["ports"][0]["name"])
        self.assertTrue(service["spec"]["publishNotReadyAddresses"], "nodes that are not ready are worth a look")


class Dashboard(unittest.TestCase):
    def test_its_queries_are_promql(self):
        found = list(queries(dashboard()["panels"]))
        self.assertGreater(len(found), 50)
        for title, query in found:
            with self.subTest(title):
                promql_parser.parse(query)

    def test_panels_stand_side_by_side(self):
        taken, ids = {}, set()
        for panel in dashboard()["panels"]:
            self.assertNotIn(panel["id"], ids)
            ids.add(panel["id"])
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24)
            for x in range(place["x"], place["x"] + place["w"]):
                for y in range(place["y"], place["y"] + place["h"]):
                    self.assertNotIn((x, y), taken, f"{panel['title']} lies on {taken.get((x, y))}")
                    taken[x, y] = panel["title"]

    def test_every_query_can_be_narrowed_to_a_namespace_and_a_node(self):
        variables = {variable["name"] for variable in dashboard()["templating"]["list"]}
        self.assertEqual(variables, {"datasource", "namespace", "instance"})
        for title, query in queries(dashboard()["panels"]):
            for name, labels in selectors(query):
                with self.subTest(title, metric=name):
                    self.assertLessEqual({"namespace", "instance"}, labels)


if __name__ == "__main__":
    unittest.main()
