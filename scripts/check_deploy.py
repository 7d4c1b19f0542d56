"""Checks rendered manifests and compose files by their schemas, and what is said of metrics: what scripts/check-deploy.sh calls.

    check_deploy.py compose SCHEMA FILE..
    check_deploy.py kubernetes FILE..
    check_deploy.py rules TESTS FILE DIR      writes the alerts of a rendering, and their tests with its job, for promtool
    check_deploy.py metrics ROOT DIR          compares the metrics of code, documents, alerts and dashboard, and writes a test
                                              of the dashboard's queries for promtool
"""

import itertools
import json
import re
import sys
from pathlib import Path

import yaml

# Kinds without a schema of Kubernetes, with the required and the optional fields of their specs.
OTHERS = {
    "ScaledObject": (
        {"scaleTargetRef", "triggers"},
        {"minReplicaCount", "maxReplicaCount", "pollingInterval", "cooldownPeriod"},
    ),
    "TriggerAuthentication": (set(), {"secretTargetRef"}),
    "PodMonitor": ({"selector", "podMetricsEndpoints"}, set()),
    "PrometheusRule": ({"groups"}, set()),
}


def fail(message):
    sys.exit(f"error: {message}")


def compose(schema, files):
    import jsonschema

    with open(schema) as f:
        validator = jsonschema.Draft7Validator(json.load(f))
    for name in files:
        with open(name) as f:
            document = yaml.safe_load(f)
        # Newer than the schema.
        document.pop("name", None)
        for error in validator.iter_errors(document):
            fail(f"{name}: {'/'.join(map(str, error.path))}: {error.message}")
        services = document["services"]
        for service, content in services.items():
            for other in content.get("depends_on", {}):
                if other not in services:
                    fail(f"{name}: {service} depends on {other}, which is not there")
            for mount in content.get("volumes", []):
                if mount.split(":")[0] not in document["volumes"]:
                    fail(f"{name}: {service} mounts {mount}, which is no volume")
        print(f"{name}: {len(services)} services, fine")


def scaled_object(document, names):
    spec = document["spec"]
    target = spec["scaleTargetRef"]["name"]
    if ("Deployment", target) not in names:
        fail(f"a ScaledObject scales {target}, which is not there")
    if not spec["minReplicaCount"] <= spec["maxReplicaCount"]:
        fail("a ScaledObject has more replicas at least than at most")
    for trigger in spec["triggers"]:
        if trigger["type"] != "redis":
            fail(f"a trigger is a {trigger['type']}")
        metadata = trigger["metadata"]
        if not all(isinstance(value, str) for value in metadata.values()):
            fail(f"a trigger has values that are no strings: {metadata}")
        if set(metadata) != {"address", "listName", "listLength", "activationListLength", "enableTLS"}:
            fail(f"a trigger has the fields {sorted(metadata)}")
        host, _, port = metadata["address"].rpartition(":")
        if not host or not port.isdigit():
            fail(f"a trigger's address is {metadata['address']}")
        reference = trigger.get("authenticationRef", {}).get("name")
        if reference and ("TriggerAuthentication", reference) not in names:
            fail(f"a trigger refers to {reference}, which is not there")


def selected(selector, documents):
    """The workloads whose pods match a selector: their names and containers."""
    wanted = selector["matchLabels"].items()
    found = {}
    for document in documents:
        if document["kind"] in ("Deployment", "StatefulSet"):
            template = document["spec"]["template"]
            if wanted <= template["metadata"]["labels"].items():
                [found[document["metadata"]["name"]]] = template["spec"]["containers"]
    return found


def port_names(container):
    return [port["name"] for port in container["ports"]]


def only_one(kind, name, selector, documents):
    """The container of the one workload that a manifest selects."""
    found = selected(selector, documents)
    if len(found) != 1:
        fail(f"the {kind} {name} selects {sorted(found)}, expected one workload")
    return found.popitem()[1]


def network_policy(name, spec, documents):
    container = only_one("NetworkPolicy", name, spec["podSelector"], documents)
    entries = sorted(port["port"] for rule in spec["ingress"] for port in rule["ports"])
    if entries != sorted(port_names(container)):
        fail(f"the NetworkPolicy {name} lets in to {entries}, and its pods have {port_names(container)}")
    exits = {port["port"] for rule in spec["egress"] for port in rule.get("ports", [])}
    wanted = {53} | {int(port) for port in re.findall(r"rediss?://[^/ ]*:(\d+)", " ".join(container["args"]))}
    if not wanted <= exits:
        fail(f"the NetworkPolicy {name} lets out to {sorted(exits)}, and its pods need {sorted(wanted)}")


def pod_monitor(document, documents):
    spec = document["spec"]
    pods = selected(spec["selector"], documents)
    if not pods:
        fail("a PodMonitor selects no pods")
    endpoints = [endpoint["port"] for endpoint in spec["podMetricsEndpoints"]]
    for name, ports in ((name, port_names(container)) for name, container in pods.items()):
        if sum(ports.count(endpoint) for endpoint in endpoints) != 1:
            fail(f"a PodMonitor reads {endpoints} of {name}, which has {ports}: its metrics must be read once")


def prometheus_rule(document, documents):
    """Checks that a release's alerts select only its own series, and that alerts of the service exist only with a service."""
    monitors = [d["metadata"] for d in documents if d["kind"] == "PodMonitor"]
    groups = {group["name"]: group["rules"] for group in document["spec"]["groups"]}
    if ("evergrove-service" in groups) != any(d["kind"] == "StatefulSet" for d in documents):
        fail(f"a PrometheusRule has the groups {sorted(groups)}")
    for rule in (rule for rules in groups.values() for rule in rules):
        for series in re.findall(r"\b(?:evergrove_\w+|up)\b[^ ()]*", rule["expr"]):
            job = re.search(r'\{job="([^"]*)"', series)
            if not job or job[1] == "evergrove":
                fail(f"{rule['alert']}: {series} is not limited to the series of the release")
            if monitors and not job[1].endswith(f"/{monitors[0]['name']}"):
                fail(f"{rule['alert']}: {series} is not of the job of the PodMonitor {monitors[0]['name']}")


def kubernetes(files):
    import kubernetes_validate

    version = kubernetes_validate.latest_version()
    count = 0
    for name in files:
        with open(name) as f:
            documents = [d for d in yaml.safe_load_all(f) if d]
        names = {(d["kind"], d["metadata"]["name"]) for d in documents}
        for document in documents:
            kind = document["kind"]
            count += 1
            if kind == "ConfigMap":
                for content in document["data"].values():
                    json.loads(content)
            if kind == "NetworkPolicy":
                network_policy(document["metadata"]["name"], document["spec"], documents)
            if kind == "PodDisruptionBudget":
                only_one(kind, document["metadata"]["name"], document["spec"]["selector"], documents)
            if kind not in OTHERS:
                try:
                    kubernetes_validate.validate(document, version, strict=True)
                except kubernetes_validate.ValidationError as e:
                    fail(f"{name}: {kind}: {'/'.join(map(str, e.path))}: {e.message}")
                continue
            must, may = OTHERS[kind]
            fields = set(document["spec"])
            if not must <= fields <= must | may:
                fail(f"{name}: a {kind} has the fields {sorted(fields)}")
            if kind == "ScaledObject":
                scaled_object(document, names)
            if kind == "PodMonitor":
                pod_monitor(document, documents)
            if kind == "PrometheusRule":
                prometheus_rule(document, documents)
    print(f"{count} manifests, by the schemas of Kubernetes {version}")


def rules(tests, rendered, out):
    with open(rendered) as f:
        specs = [d["spec"] for d in yaml.safe_load_all(f) if d and d["kind"] == "PrometheusRule"]
    if len(specs) != 1:
        fail(f"{rendered}: {len(specs)} manifests of the kind PrometheusRule, expected 1")
    job = re.search(r'job="([^"]*)"', specs[0]["groups"][0]["rules"][0]["expr"])[1]
    text = re.sub(r'\b(job(?:="|: | ))evergrove\b', rf"\1{job}", Path(tests).read_text())
    text = text.replace("helm/evergrove/files/rules.yaml", "rules.yaml")
    (Path(out) / "rules.yaml").write_text(yaml.safe_dump(specs[0]))
    (Path(out) / "rules_test.yaml").write_text(text)


def exported(root):
    """The metrics that the code exports: name and type (gauge, counter or histogram)."""
    found = {}
    for source in ("crates/jobs/src/metrics.rs", "crates/serve/src/metrics.rs"):
        text = (root / source).read_text().split("#[cfg(test)]")[0]
        types = dict(re.findall(r"^    (?:pub\(crate\) )?(\w+): (?:Family<\w+, )?(\w+)>?,$", text, re.M))
        # Types that the code defines itself, with the metric type that they state.
        own = dict(re.findall(r"impl EncodeMetric for (\w+) .*?MetricType::(\w+)", text, re.S))
        calls = re.findall(r"\.register(?:_with_unit)?\(([^;]*?)made\.(\w+)\.clone\(\)", text)
        if not calls or len(calls) != text.count(".register(") + text.count(".register_with_unit("):
            fail(f"{source}: the registered metrics could not be read")
        for arguments, field in calls:
            unit = re.search(r"Unit::(\w+)", arguments)
            name = "_".join(["evergrove", re.match(r'\s*"(\w+)"', arguments)[1], *([unit[1].lower()] if unit else [])])
            kind = own.get(types.get(field), types.get(field, "")).lower()
            if kind not in ("gauge", "counter", "histogram"):
                fail(f"{source}: the type of the metric {name} could not be read")
            found[name + "_total" * (kind == "counter")] = kind
    return found


def documented(root):
    """The metrics in the table of docs/operations.md: name and labels."""
    table = (root / "docs/operations.md").read_text().split("| metric | labels | |\n")[1].split("\n\n")[0]
    found = {}
    for line in table.splitlines()[1:]:
        names, labels, _ = line.strip("|").split("|", 2)
        found |= {f"evergrove_{name}": set(re.findall(r"`(\w+)`", labels)) for name in re.findall(r"`(\w+)`", names)}
    return found


def samples(types, labels):
    """Series of every metric with the documented labels: all metrics for a service, those of tasks also for a worker."""
    values = {"state": ["wait", "prioritized"], "status": ["200", "500"]}
    for metric, kind in types.items():
        choices = [[f'{label}="{value}"' for value in values.get(label, ["x"])] for label in sorted(labels[metric])]
        for instance in ("serve", "worker") if re.match("evergrove_(task|result|queue)", metric) else ("serve",):
            for chosen in itertools.product(*choices):
                given = ", ".join(['job="evergrove"', f'instance="{instance}"', *chosen])
                if kind == "histogram":
                    for le, step in ("0.1", 30), ("1", 60), ("+Inf", 60):
                        yield {"series": f'{metric}_bucket{{{given}, le="{le}"}}', "values": f"0+{step}x30"}
                else:
                    yield {"series": f"{metric}{{{given}}}", "values": "0+60x30" if kind == "counter" else "1x30"}


def dashboard(path, types, labels):
    """Checks that no panels overlap. Returns tests of their queries: each has samples, with the labels of its legend."""
    panels, cells, tests = json.loads(path.read_text())["panels"], {}, []
    if len({panel["id"] for panel in panels}) != len(panels):
        fail(f"{path}: two panels have the same id")
    for panel in panels:
        at = panel["gridPos"]
        for cell in itertools.product(range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])):
            if cell in cells or cell[0] >= 24:
                fail(f"{path}: the panel {panel['title']!r} overlaps {cells.get(cell, 'the edge')!r}")
            cells[cell] = panel["title"]
        if panel["type"] != "row" and not panel["targets"]:
            fail(f"{path}: the panel {panel['title']!r} has no query")
        for target in panel.get("targets", []):
            query = target["expr"].replace("$job", "evergrove").replace("$instance", ".+").replace("$__rate_interval", "5m")
            legend = re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
            expression = f"({query}) >= 0"
            for label in legend:
                expression = f'label_replace({expression}, "has_{label}", "yes", "{label}", ".+")'
            by = ", ".join(f"has_{label}" for label in legend)
            sample = {"labels": "{" + ", ".join(f'has_{label}="yes"' for label in legend) + "}", "value": 1}
            tests.append({"expr": f"count by ({by}) ({expression}) > bool 0", "eval_time": "20m", "exp_samples": [sample]})
    series = list(samples(types, labels))
    return {"evaluation_interval": "1m", "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": tests}]}


def metrics(root, out):
    root = Path(root)
    types, labels = exported(root), documented(root)
    if types.keys() != labels.keys():
        fail(f"docs/operations.md and the code differ in the metrics {sorted(types.keys() ^ labels.keys())}")
    series = set()
    for name, kind in types.items():
        series |= {name + suffix for suffix in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
    chart = root / "deploy/helm/evergrove/files"
    for path in (chart / "rules.yaml", chart / "dashboard.json", root / "deploy/rules_test.yaml"):
        unknown = set(re.findall(r"\bevergrove_\w+", path.read_text())) - series
        if unknown:
            fail(f"{path}: the code exports no metric {', '.join(sorted(unknown))}")
    for metric, given in re.findall(r"series: '(evergrove_\w+)\{([^}]*)\}", (root / "deploy/rules_test.yaml").read_text()):
        metric = re.sub(r"_(bucket|sum|count)$", "", metric)
        if set(re.findall(r"(\w+)=", given)) - {"job", "instance", "le"} != labels[metric]:
            fail(f"deploy/rules_test.yaml: {metric} has the labels {given}, and in docs/operations.md {sorted(labels[metric])}")
    bounds = re.search(r"const SECONDS: .*?=\s*\[(.*?)\]", (root / "crates/serve/src/metrics.rs").read_text(), re.S)[1].split(", ")
    asked = set(re.findall(r"series: 'evergrove_http_seconds_bucket\{[^}]*le=\"([^\"]*)\"", (root / "deploy/rules_test.yaml").read_text()))
    if not asked or asked - {*bounds, "+Inf"}:
        fail(f"deploy/rules_test.yaml: http_seconds has the bounds {bounds}, and the tests {sorted(asked)}")
    alerts = set(re.findall(r"- alert: (\w+)", (chart / "rules.yaml").read_text()))
    described = set(re.findall(r"^\| `(Evergrove\w+)`", (root / "docs/operations.md").read_text(), re.M))
    if alerts != described:
        fail(f"docs/operations.md and rules.yaml differ in the alerts {sorted(alerts ^ described)}")
    test = dashboard(chart / "dashboard.json", types, labels)
    (Path(out) / "dashboard_test.yaml").write_text(yaml.safe_dump(test))
    print(f"{len(types)} metrics and {len(alerts)} alerts, the same wherever they are named")


match sys.argv[1:]:
    case ["compose", schema, *files]:
        compose(schema, files)
    case ["kubernetes", *files]:
        kubernetes(files)
    case ["rules", tests, rendered, out]:
        rules(tests, rendered, out)
    case ["metrics", root, out]:
        metrics(root, out)
    case _:
        fail(__doc__)
