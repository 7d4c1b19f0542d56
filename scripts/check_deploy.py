"""Checks rendered manifests and compose files by their schemas: what scripts/check-deploy.sh calls.

    check_deploy.py compose SCHEMA FILE..
    check_deploy.py kubernetes FILE..
"""

import json
import sys

import yaml

# Kinds that the schemas of Kubernetes do not have, and the fields that each must have and may have in its spec.
OTHERS = {
    "ScaledObject": (
        {"scaleTargetRef", "triggers"},
        {"minReplicaCount", "maxReplicaCount", "pollingInterval", "cooldownPeriod"},
    ),
    "TriggerAuthentication": (set(), {"secretTargetRef"}),
    "PodMonitor": ({"selector", "podMetricsEndpoints"}, set()),
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
        # Younger than the schema.
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
    print(f"{count} manifests, by the schemas of Kubernetes {version}")


match sys.argv[1:]:
    case ["compose", schema, *files]:
        compose(schema, files)
    case ["kubernetes", *files]:
        kubernetes(files)
    case _:
        fail(__doc__)
