"""What is rendered is what Kubernetes takes, and fits together."""

import json
import unittest

import helm_python as helm
import jsonschema
import kubernetes_validate
import rendering
from rendering import CHART, REPO, SETS, component, is_hook, objects, of_kind, pods

# The oldest that Chart.yaml allows, and the newest that is known.
VERSIONS = ["1.30", kubernetes_validate.latest_version()]


def matches(selector, labels):
    return selector.items() <= labels.items()


class Objects(unittest.TestCase):
    def each(self, check):
        """Checks every object of every set of values; each that fails is named."""
        for name in SETS:
            for thing in objects(name):
                with self.subTest(values=name, kind=thing["kind"], name=thing["metadata"]["name"]):
                    check(name, thing)

    def test_lint_finds_nothing(self):
        for name in SETS:
            report = helm.lint(str(CHART), rendering.values(name), strict=True)
            findings = [m for m in report["messages"] if "icon is recommended" not in m["error"]]
            self.assertEqual((findings, report["errors"]), ([], []), name)

    def test_kubernetes_takes_every_object(self):
        def check(_, thing):
            own = CHART / f"tests/schemas/{thing['kind'].lower()}.json"
            if own.exists():
                return jsonschema.validate(thing, json.loads(own.read_text()))
            for version in VERSIONS:
                kubernetes_validate.validate(thing, version, strict=True)

        self.each(check)

    def test_every_object_says_whose_it_is(self):
        def check(_, thing):
            self.assertEqual(thing["metadata"]["namespace"], "talk")
            self.assertEqual(thing["metadata"]["labels"]["app.kubernetes.io/instance"], "chat")
            self.assertNotIn("<no value>", json.dumps(thing))

        self.each(check)

    def test_names_are_used_once(self):
        for name in SETS:
            names = [(thing["kind"], thing["metadata"]["name"]) for thing in objects(name)]
            self.assertEqual(len(names), len(set(names)), name)

    def test_services_and_budgets_find_their_pods_and_no_others(self):
        def check(name, thing):
            if thing["kind"] == "Service":
                selector = thing["spec"]["selector"]
            elif thing["kind"] == "PodDisruptionBudget":
                selector = thing["spec"]["selector"]["matchLabels"]
            else:
                return
            found = {part for part, _, pod in pods(name) if matches(selector, pod["metadata"]["labels"])}
            wanted = set(rendering.ROLES) if component(thing) == "admin" else {component(thing)}
            self.assertEqual(found, wanted)

        self.each(check)

    def test_scalers_find_their_nodes_and_alone_say_how_many(self):
        found = []
        for name in SETS:
            for scaler in of_kind(name, "HorizontalPodAutoscaler").values():
                target = of_kind(name, "Deployment")[scaler["spec"]["scaleTargetRef"]["name"]]
                self.assertEqual(component(target), component(scaler))
                self.assertNotIn("replicas", target["spec"])
                found += [(component(scaler), metric["type"]) for metric in scaler["spec"]["metrics"]]
        self.assertEqual(sorted(found), [("api", "Resource"), ("gateway", "Pods"), ("worker", "External"), ("worker", "Resource")])

    def test_ports_that_are_named_are_there(self):
        for name in SETS:
            ports = {part: {port["name"] for c in pod["spec"]["containers"] for port in c.get("ports", [])} for part, _, pod in pods(name)}
            for service in of_kind(name, "Service").values():
                roles = rendering.ROLES if component(service) == "admin" else [component(service)]
                for role in roles:
                    self.assertIn(service["spec"]["ports"][0]["targetPort"], ports[role])
            for policy in of_kind(name, "NetworkPolicy").values():
                for rule in policy["spec"].get("ingress", []):
                    self.assertLessEqual({port["port"] for port in rule["ports"]}, ports[component(policy)])

    def test_ways_in_lead_to_the_gateway_and_the_api(self):
        ways = {}
        for name in SETS:
            services = of_kind(name, "Service")
            for ingress in of_kind(name, "Ingress").values():
                for path in ingress["spec"]["rules"][0]["http"]["paths"]:
                    service = path["backend"]["service"]["name"]
                    ways.setdefault(("ingress", path["path"], path["pathType"]), component(services[service]))
            for route in of_kind(name, "HTTPRoute").values():
                for rule in route["spec"]["rules"]:
                    path, backend = rule["matches"][0]["path"], rule["backendRefs"][0]
                    self.assertEqual(services[backend["name"]]["spec"]["ports"][0]["port"], backend["port"])
                    ways.setdefault(("route", path["value"], path["type"]), component(services[backend["name"]]))
        self.assertEqual(ways, {
            ("ingress", "/v1/gateway", "Exact"): "gateway",
            ("ingress", "/", "Prefix"): "api",
            ("route", "/v1/gateway", "Exact"): "gateway",
            ("route", "/v1/stream", "Exact"): "api",
            ("route", "/", "PathPrefix"): "api",
        })

    def test_what_pods_refer_to_is_there_when_they_start(self):
        """Hooks run before the release is there, so they may use nothing of it."""
        for name in SETS:
            for _, thing, pod in pods(name):
                before = thing["metadata"].get("annotations", {}).get("helm.sh/hook", "test") != "test"
                there = [other for other in objects(name) if is_hook(other) == before or not before]
                names = {(other["kind"], other["metadata"]["name"]) for other in there}
                spec = pod["spec"]
                account = spec.get("serviceAccountName", "default")
                if account != "default" and rendering.values(name).get("serviceAccount", {}).get("create", True):
                    self.assertIn(("ServiceAccount", account), names)
                for volume in spec["volumes"]:
                    if volume["name"] == "config":
                        self.assertIn(("ConfigMap", volume["configMap"]["name"]), names)
                    claim = volume.get("persistentVolumeClaim", {}).get("claimName")
                    if claim and claim != "shared-keys":
                        self.assertIn(("PersistentVolumeClaim", claim), names)
                mounts = {mount["name"] for mount in spec["containers"][0]["volumeMounts"]}
                self.assertEqual(mounts, {volume["name"] for volume in spec["volumes"]})

    def test_a_changed_configuration_replaces_the_pods(self):
        def checksums(config):
            files = rendering.render({"image": {"repository": "registry.example.com/switchboard"}, "config": config})
            text = files["switchboard/templates/deployments.yaml"]
            return [line for line in text.splitlines() if "checksum/config" in line]

        before, after = checksums({}), checksums({"relay": {"shards": 8}})
        self.assertEqual(len(before), 3)
        self.assertFalse(set(before) & set(after))

    def test_versions_are_those_of_the_product(self):
        line = next(line for line in (REPO / "Cargo.toml").read_text().splitlines() if line.startswith("version = "))
        with helm.Chart.load(CHART) as chart:
            about = chart.metadata
        self.assertEqual((about["version"], about["appVersion"]), (line.split('"')[1],) * 2)


if __name__ == "__main__":
    unittest.main()
