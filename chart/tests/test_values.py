"""Values that can't work are refused, by name, before anything is rendered; README.md shows those that can be set."""

import json
import unittest

import helm_python as helm
import readme
import rendering
import yaml
from rendering import CHART

# Values, and what the refusal must name.
WRONG = [
    ("image: {repository: ''}", "/image/repository"),
    ("image: {repository: 'registry.example.com/switchboard:0.1.0'}", "/image/repository"),
    ("image: {tag: latest}", "/image/tag"),
    ("image: {digest: 'sha256:abc'}", "/image/digest"),
    ("image: {pullPolicy: Sometimes}", "/image/pullPolicy"),
    ("image: {pullSecrets: [registry]}", "/image/pullSecrets/0"),
    ("imagePullPolicy: Always", "'imagePullPolicy' not allowed"),
    ("config: {database: {url: 'postgres://chat:hunter2@db/chat'}}", "/config/database/url"),
    ("config: {database: {password: hunter2}}", "/config/database/password"),
    ("config: {push: {webhook_secret: whsec_aa}}", "/config/push/webhook_secret"),
    ("config: {push: {vapid_key_dir: /keys}}", "/config/push/vapid_key_dir"),
    ("config: {push: {webhook_url: 'https://relay.example.com'}}", "/push/webhookSecret/secret"),
    ("config: {secrets: {seal_key: aa}}", "/config/secrets/seal_key"),
    ("config: {secrets: {signing_key_dir: /keys}}", "/config/secrets/signing_key_dir"),
    ("config: {signing_key: {driver: dir}}", "/config/signing_key/driver"),
    ("config: {http: {listen: '0.0.0.0:80'}}", "/config/http/listen"),
    ("config: {gateway: {listen: '0.0.0.0:80'}}", "/config/gateway/listen"),
    ("config: {admin: {listen: '0.0.0.0:80'}}", "/config/admin/listen"),
    ("config: {cluster: {mode: single}}", "/config/cluster/mode"),
    ("config: {cluster: {node_name: one}}", "/config/cluster/node_name"),
    ("config: {shutdown: {deadline: soon}}", "/config/shutdown/deadline"),
    ("config: {relay: {shards: {a: 1}}}", "/config/relay/shards"),
    ("config: {relay: 4}", "/config/relay"),
    ("config: {Relay: {shards: 4}}", "Relay"),
    ("listenAddress: 127.0.0.1", "/listenAddress"),
    ("database: {secret: ''}", "/database/secret"),
    ("database: {keys: {api: ''}}", "/database/keys/api"),
    ("database: {url: 'postgres://chat:hunter2@db/chat'}", "'url' not allowed"),
    ("signingKeys: {driver: s3}", "/signingKeys/driver"),
    ("signingKeys: {sealKey: {secret: ''}}", "/signingKeys/sealKey/secret"),
    ("push: {key: {secret: ''}}", "/push/key/secret"),
    ("migrate: {activeDeadlineSeconds: 0}", "/migrate/activeDeadlineSeconds"),
    ("api: {replicas: -1}", "/api/replicas"),
    ("api: {replicas: two}", "/api/replicas"),
    ("api: {autoscaling: {enabled: true, cpu: 0}}", "/api/autoscaling"),
    ("api: {autoscaling: {connections: 5}}", "'connections' not allowed"),
    ("api: {service: {type: ExternalName}}", "/api/service/type"),
    ("api: {service: {port: 70000}}", "/api/service/port"),
    ("api: {maxUnavailable: 0}", "/api/maxUnavailable"),
    ("api: {maxUnavailable: some}", "/api/maxUnavailable"),
    ("api: {resources: {limit: {memory: 1Gi}}}", "'limit' not allowed"),
    ("gateway: {autoscaling: {enabled: true, cpu: 0, connections: 0}}", "/gateway/autoscaling"),
    ("worker: {service: {port: 80}}", "'service' not allowed"),
    ("worker: {autoscaling: {lateness: -1}}", "/worker/autoscaling/lateness"),
    ("preStopSeconds: -1", "/preStopSeconds"),
    ("runAsUser: 0", "/runAsUser"),
    ("extraEnv: [{value: a}]", "/extraEnv/0"),
    ("serviceAccount: {automount: true}", "'automount' not allowed"),
    ("ingress: {enabled: true}", "/ingress/host"),
    ("httpRoute: {enabled: true}", "/httpRoute/parentRefs"),
    ("httpRoute: {streamTimeout: never}", "/httpRoute/streamTimeout"),
    ("networkPolicy: {database: {port: 0}}", "/networkPolicy/database/port"),
    ("networkPolicy: {internet: {ports: []}}", "/networkPolicy/internet/ports"),
    ("monitoring: {rules: {enabled: 1}}", "/monitoring/rules/enabled"),
    ("monitoring: {serviceMonitor: {interval: often}}", "/monitoring/serviceMonitor/interval"),
]


def merged(one, other):
    both = dict(one)
    for key, value in other.items():
        both[key] = merged(both[key], value) if isinstance(value, dict) and isinstance(both.get(key), dict) else value
    return both


class Values(unittest.TestCase):
    def test_wrong_values_are_refused_by_name(self):
        for text, named in WRONG:
            with self.subTest(text):
                with self.assertRaises(helm.HelmValuesError) as refused:
                    rendering.render(merged(rendering.values("minimal"), yaml.safe_load(text)))
                self.assertIn(named, str(refused.exception))

    def test_everything_is_strict(self):
        """No object of the schema takes keys that nobody has thought of."""
        schema = json.loads((CHART / "values.schema.json").read_text())

        def look(value, schema, path):
            schema = schema if "$ref" not in schema else definitions[schema["$ref"].rpartition("/")[2]]
            if not isinstance(value, dict):
                return
            self.assertIsNot(schema.get("additionalProperties", True), True, path)
            for key, inner in value.items():
                if schema["additionalProperties"] is False:
                    look(inner, schema["properties"][key], f"{path}/{key}")

        definitions = schema["definitions"]
        values = yaml.safe_load((CHART / "values.yaml").read_text())
        for role in rendering.ROLES:
            del values[role]["affinity"]
        look(values, schema, "")

    def test_every_set_of_values_is_taken(self):
        self.assertGreaterEqual(len(rendering.SETS), 5)
        for name in rendering.SETS:
            self.assertTrue(rendering.objects(name))

    def test_what_stands_in_notes_is_true(self):
        notes = {name: rendering.render(rendering.values(name))["switchboard/templates/NOTES.txt"] for name in rendering.SETS}
        self.assertNotIn("WARNING", notes["ingress"])
        self.assertIn("port-forward service/chat-switchboard-api 8080:80", notes["minimal"])
        self.assertIn("config.gateway.allowed_origins is not set", notes["minimal"])
        self.assertNotIn("trusted_proxies", notes["minimal"])
        self.assertIn("config.http.trusted_proxies is not set", notes["gateway-api"])


class Readme(unittest.TestCase):
    def test_it_is_that_of_the_values(self):
        self.assertEqual((CHART / "README.md").read_text(), readme.page(), "run chart/tests/readme.py")

    def test_every_value_is_described(self):
        for row in readme.rows((CHART / "values.yaml").read_text()):
            self.assertTrue(row.text, f"{row.key} has no line that begins with '# --' above it")


if __name__ == "__main__":
    unittest.main()
