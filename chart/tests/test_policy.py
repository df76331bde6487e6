"""Rules that hold for every pod and every way in, whatever the values."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import rendering
from rendering import REPO, ROLES, SETS, component, objects, of_kind, pods

# What checkov wants and we don't: why.
EXCEPTIONS = {
    "CKV_K8S_11": "no limit of CPU: what is slowed down by one misses its deadlines",
    "CKV_K8S_15": "pull policy: tags of releases never move",
    "CKV_K8S_43": "a digest is the operator's to set (image.digest)",
    "CKV_K8S_8": "liveness: of the doctor, which runs once",
    "CKV_K8S_9": "readiness: of the doctor, which runs once",
}


def default(key):
    """The default of a key as the documentation has it, in seconds."""
    page = (REPO / "docs/configuration.md").read_text()
    text = re.search(rf"^\| `{re.escape(key)}` \| `([^`]+)`", page, re.M)[1]
    return seconds(text)


def seconds(text):
    number, unit = re.fullmatch(r"([0-9]+)(ms|s|m|h|d)?", str(text)).groups()
    return int(number) * {"ms": 0.001, "m": 60, "h": 3600, "d": 86400}.get(unit, 1)


def each_pod():
    """The spec of each pod of each set of values, and whose it is."""
    for name in SETS:
        for part, _, pod in pods(name):
            yield name, part, pod["spec"]


class Policy(unittest.TestCase):
    def test_pods_have_no_rights(self):
        for name, part, spec in each_pod():
            with self.subTest(values=name, pod=part):
                self.assertFalse(spec["automountServiceAccountToken"])
                self.assertFalse(spec["enableServiceLinks"])
                self.assertTrue(spec["securityContext"]["runAsNonRoot"])
                self.assertGreater(spec["securityContext"]["runAsUser"], 0)
                self.assertEqual(spec["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
                for key in ("hostNetwork", "hostPID", "hostIPC"):
                    self.assertNotIn(key, spec)
                for container in spec["containers"]:
                    self.assertEqual(container["securityContext"], {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    })
                    self.assertIn("memory", container["resources"]["limits"])
                    self.assertNotIn("cpu", container["resources"]["limits"], EXCEPTIONS["CKV_K8S_11"])
                    self.assertEqual(set(container["resources"]["requests"]), {"cpu", "memory"})

    def test_pods_are_given_the_secrets_of_their_role_alone(self):
        given = {}
        for name in ("minimal", "everything"):
            for part, _, pod in pods(name):
                keys = {item["key"] for volume in pod["spec"]["volumes"]
                        for source in [volume] + volume.get("projected", {}).get("sources", [])
                        for item in source.get("secret", {}).get("items", [])}
                given[name, part] = keys
        self.assertEqual(given, {
            ("minimal", "api"): {"api-url", "seal-key", "vapid.pem"},
            ("minimal", "gateway"): {"gateway-url", "seal-key"},
            ("minimal", "worker"): {"worker-url", "vapid.pem"},
            ("minimal", "migrate"): {"owner-url"},
            ("minimal", "doctor"): {"api-url", "seal-key", "vapid.pem"},
            # The relay's secret belongs to a key that all check together with its URL.
            ("everything", "api"): {"two", "private.pem", "value"},
            ("everything", "gateway"): {"three", "value"},
            ("everything", "worker"): {"four", "private.pem", "value"},
            ("everything", "migrate"): {"one", "value"},
            ("everything", "doctor"): {"two", "private.pem", "value"},
        })

    def test_no_secret_stands_in_the_environment_or_for_all_to_read(self):
        for name, part, spec in each_pod():
            with self.subTest(values=name, pod=part):
                for variable in spec["containers"][0]["env"]:
                    self.assertNotIn("secretKeyRef", variable.get("valueFrom", {}))
                    self.assertNotIn("://", variable.get("value", ""))
                for volume in spec["volumes"]:
                    for source in (volume.get("secret"), volume.get("projected")):
                        if source:
                            self.assertEqual(source["defaultMode"], 0o440)

    def test_a_node_has_time_to_stop(self):
        for name, part, spec in each_pod():
            with self.subTest(values=name, pod=part):
                if part not in ROLES:
                    continue
                values = rendering.values(name)
                own = values.get("config", {}).get("shutdown", {}).get("deadline")
                deadline = seconds(own) if own else default("shutdown.deadline")
                pause = values.get("preStopSeconds", 5)
                lifecycle = spec["containers"][0].get("lifecycle", {})
                self.assertEqual(lifecycle.get("preStop", {}).get("sleep", {}).get("seconds", 0), pause)
                spare = spec["terminationGracePeriodSeconds"] - pause - deadline
                self.assertTrue(5 <= spare <= 6, f"{spare} s to spare")

    def test_health_is_asked_for_as_documented(self):
        for name, part, spec in each_pod():
            with self.subTest(values=name, pod=part):
                if part not in ROLES:
                    continue
                container = spec["containers"][0]
                asked = {probe: container[probe]["httpGet"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
                live, ready = ({"path": f"/healthz/{what}", "port": "admin"} for what in ("live", "ready"))
                self.assertEqual(asked, {"startupProbe": live, "livenessProbe": live, "readinessProbe": ready})
                self.assertGreater(container["readinessProbe"]["timeoutSeconds"], 2, "readiness gives the database 2 s")

    def test_nodes_are_replaced_one_by_one(self):
        for name in SETS:
            for deployment in of_kind(name, "Deployment").values():
                self.assertEqual(deployment["spec"]["strategy"]["rollingUpdate"], {"maxUnavailable": 0, "maxSurge": 1})

    def test_proxies_wait_longer_than_a_gateway_is_silent(self):
        heartbeat = default("gateway.heartbeat_interval")
        found = 0
        for name in SETS:
            for ingress in of_kind(name, "Ingress").values():
                for what in ("read", "send"):
                    timeout = ingress["metadata"]["annotations"][f"nginx.ingress.kubernetes.io/proxy-{what}-timeout"]
                    self.assertGreater(int(timeout), 3 * heartbeat)
                    found += 1
            for route in of_kind(name, "HTTPRoute").values():
                for rule in route["spec"]["rules"]:
                    if rule["matches"][0]["path"]["value"] in ("/v1/gateway", "/v1/stream"):
                        self.assertEqual(rule["timeouts"], {"request": "0s", "backendRequest": "0s"})
                        found += 1
        self.assertEqual(found, 6)

    def test_tickets_do_not_get_into_the_log_of_the_proxy(self):
        ingresses = of_kind("ingress", "Ingress")
        logged = {component(i): i["metadata"]["annotations"].get("nginx.ingress.kubernetes.io/enable-access-log") for i in ingresses.values()}
        self.assertEqual(logged, {"gateway": "false", "api": None})

    def test_the_network_is_closed_but_for_what_is_needed(self):
        """Who reaches which port, and where each role gets to, by the policies of the default."""
        policies = of_kind("minimal", "NetworkPolicy").values()
        ways = {}
        for part, _, pod in pods("minimal"):
            mine = [p["spec"] for p in policies if p["spec"]["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()]
            self.assertIn(["Ingress", "Egress"], [spec["policyTypes"] for spec in mine])
            enter = sorted(str(p["port"]) for spec in mine for rule in spec.get("ingress", []) for p in rule["ports"])
            leave = sorted(str(p["port"]) for spec in mine for rule in spec.get("egress", []) for p in rule["ports"])
            ways[part] = enter, leave
        self.assertEqual(ways, {
            "api": (["admin", "http"], ["53", "53", "5432"]),
            "gateway": (["admin", "http"], ["53", "53", "5432"]),
            "worker": (["admin"], ["443", "53", "53", "5432"]),
            "migrate": ([], ["53", "53", "5432"]),
            "doctor": ([], ["53", "53", "5432"]),
        })
        self.assertEqual(of_kind("bare", "NetworkPolicy"), {})

    def test_metrics_are_for_no_one_when_no_one_is_named(self):
        """An empty list of peers would mean everybody."""
        for policy in of_kind("everything", "NetworkPolicy").values():
            for rule in policy["spec"].get("ingress", []):
                self.assertNotIn("admin", [port["port"] for port in rule["ports"]])

    def test_a_migration_is_tried_again_but_not_with_bad_settings(self):
        (job,) = of_kind("minimal", "Job").values()
        (rule,) = job["spec"]["podFailurePolicy"]["rules"]
        container = job["spec"]["template"]["spec"]["containers"][0]["name"]
        self.assertEqual(rule["onExitCodes"], {"containerName": container, "operator": "In", "values": [2]})
        self.assertGreater(job["spec"]["backoffLimit"], 0)

    def test_only_api_nodes_write_signing_keys(self):
        mounts = {part: mount.get("readOnly") for part, _, pod in pods("ingress")
                  for mount in pod["spec"]["containers"][0]["volumeMounts"] if mount["name"] == "signing-keys"}
        self.assertEqual(mounts, {"api": False, "gateway": True, "doctor": False})

    def test_the_keys_outlive_the_release(self):
        claims = [claim for name in SETS for claim in of_kind(name, "PersistentVolumeClaim").values()]
        self.assertEqual([c["metadata"]["annotations"]["helm.sh/resource-policy"] for c in claims], ["keep"])

    def test_checkov_agrees(self):
        with tempfile.TemporaryDirectory() as directory:
            for name in SETS:
                text = "\n---\n".join(json.dumps(thing) for thing in objects(name))
                pathlib.Path(directory, f"{name}.yaml").write_text(text)
            run = subprocess.run(
                [os.environ["CHECKOV"], "--directory", directory, "--framework", "kubernetes", "--skip-download", "--compact",
                 "--skip-check", ",".join(EXCEPTIONS), "--output", "json"],
                capture_output=True, text=True, timeout=120)
        report = json.loads(run.stdout)
        failed = [f"{c['check_id']} {c['check_name']}: {c['resource']}" for c in report["results"]["failed_checks"]]
        self.assertEqual(failed, [])
        self.assertGreater(report["summary"]["passed"], 1000, "checkov has seen the objects")


if __name__ == "__main__":
    unittest.main()
