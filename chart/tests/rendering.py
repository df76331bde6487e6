"""The chart, rendered by Helm itself in each set of values of `values/`."""

import functools
import pathlib

import helm_python as helm
import yaml

CHART = pathlib.Path(__file__).parent.parent
REPO = CHART.parent
ROLES = ["api", "gateway", "worker"]
SETS = sorted(path.stem for path in (CHART / "tests/values").glob("*.yaml"))


def values(name):
    """The values of one set."""
    return yaml.safe_load((CHART / f"tests/values/{name}.yaml").read_text())


def render(values, **options):
    """What Helm makes of values, by template."""
    with helm.Chart.load(CHART) as chart:
        return chart.render(values, name="chat", namespace="talk", **options)


@functools.cache
def objects(name):
    """Every object of a set, hooks included."""
    files = render(values(name))
    manifests = [text for path, text in files.items() if path.endswith(".yaml")]
    return [thing for text in manifests for thing in yaml.safe_load_all(text) if thing]


def of_kind(name, kind):
    """The objects of a kind, by name."""
    return {thing["metadata"]["name"]: thing for thing in objects(name) if thing["kind"] == kind}


def component(thing):
    """Which part of the product an object belongs to."""
    return thing["metadata"]["labels"].get("app.kubernetes.io/component")


def is_hook(thing):
    """Whether Helm runs an object by itself, outside of the release."""
    return "helm.sh/hook" in thing["metadata"].get("annotations", {})


def pods(name):
    """Everything that runs pods in a set: its component, the object, and the pod's template."""
    for thing in objects(name):
        if thing["kind"] in ("Deployment", "Job"):
            yield component(thing), thing, thing["spec"]["template"]
        elif thing["kind"] == "Pod":
            yield component(thing), thing, thing
