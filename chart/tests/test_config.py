"""The real binaries take the configuration that pods are given: file, environment and secrets."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from rendering import REPO, ROLES, SETS, of_kind, pods

BINARIES = pathlib.Path(os.environ.get("SWITCHBOARD_BINARIES", REPO / "target/debug"))
# What the Secrets of an installation hold, by the name that the file has in a pod.
SECRETS = {
    "database-url": "postgres://alex:hunter2@db.example.com/chat?sslmode=require",
    "seal-key": "dGhlIHNlYWwga2V5IG9mIGEgdGVzdCwgMzIgYnl0ZXM=",
    "webhook-secret": "whsec_c2VjcmV0IG9mIGEgdGVzdCwgMjQgYnl0ZXM=",
    "vapid.pem": "",
}


def lay(name, spec, root):
    """Lays the volumes of a pod below a directory; gives back the path of each mount there."""
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    places = {}
    for mount in spec["containers"][0]["volumeMounts"]:
        place = places[mount["mountPath"]] = root / mount["name"]
        place.mkdir(mode=0o700)
        volume = volumes[mount["name"]]
        if mount["name"] == "config":
            for file, text in of_kind(name, "ConfigMap")[volume["configMap"]["name"]]["data"].items():
                (place / file).write_text(text)
        for source in [volume] + volume.get("projected", {}).get("sources", []):
            for item in source.get("secret", {}).get("items", []):
                (place / item["path"]).write_text(SECRETS[item["path"]] + "\n")
    return places


def environment(container, places):
    """The environment of a container, its paths moved to where they are here."""
    variables = {}
    for variable in container["env"]:
        value = variable.get("value", "a-pod")
        for path in sorted(places, key=len, reverse=True):
            if value == path or value.startswith(path + "/"):
                value = str(places[path]) + value[len(path):]
                break
        variables[variable["name"]] = value
    return variables


class Configuration(unittest.TestCase):
    def check(self, name, spec, change=lambda places: None):
        container = spec["containers"][0]
        with tempfile.TemporaryDirectory() as directory:
            places = lay(name, spec, pathlib.Path(directory))
            change(places)
            program = BINARIES / container["command"][0]
            self.assertTrue(program.is_file(), f"{program} is not built: cargo build --bins")
            command = [program, *container["command"][1:], *container.get("args", []), "--check-config"]
            return subprocess.run(command, env=environment(container, places), cwd=directory, capture_output=True, text=True, timeout=60)

    def test_every_pod_is_given_what_its_program_takes(self):
        for name in SETS:
            for part, _, pod in pods(name):
                with self.subTest(values=name, pod=part):
                    run = self.check(name, pod["spec"])
                    self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_a_mistake_in_the_values_is_found(self):
        """So what is checked above is what pods read, and migrations find mistakes before any node is replaced."""
        def spoil(places):
            with (places["/etc/switchboard"] / "switchboard.toml").open("a") as file:
                file.write("\n[relay]\nshard = 4\n")

        def forget(places):
            (places["/run/secrets/switchboard"] / "database-url").unlink()

        for change, named in ((spoil, "relay.shard"), (forget, "database")):
            for part, _, pod in pods("minimal"):
                with self.subTest(pod=part, named=named):
                    run = self.check("minimal", pod["spec"], change)
                    self.assertNotEqual(run.returncode, 0, run.stdout)
                    self.assertIn(named, run.stdout + run.stderr)

    def test_nodes_listen_where_their_ports_are(self):
        for name in SETS:
            for part, _, pod in pods(name):
                if part not in ROLES:
                    continue
                container = pod["spec"]["containers"][0]
                listens = {int(v["value"].rpartition(":")[2]) for v in container["env"] if v["name"].endswith("__LISTEN")}
                self.assertEqual(listens, {port["containerPort"] for port in container["ports"]})


if __name__ == "__main__":
    unittest.main()
