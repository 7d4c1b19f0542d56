#!/usr/bin/env bash
# Checks deploy/ without a cluster: the Dockerfile with hadolint, compose.yaml with the schema of compose files, the
# chart with helm's lint and the schema of its values, the rendered chart with the schemas of Kubernetes, and the alerts
# and the dashboard's queries with promtool. A line names each missing tool, whose check is skipped; `make deploy-tools`
# fetches the tools. With EVERGROVE_REQUIRE_DEPLOY=1 a missing tool is an error.
#
#   scripts/check-deploy.sh
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/target/tools/deploy
chart=$root/deploy/helm/evergrove
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/promtool"
export PATH=$tools/bin:$PATH

skip() {
    echo "skipped: $1 is not there (make deploy-tools)"
    [ "${EVERGROVE_REQUIRE_DEPLOY:-0}" != 1 ] || exit 1
}

if command -v hadolint >/dev/null; then
    hadolint "$root/deploy/Dockerfile"
    echo "deploy/Dockerfile: fine"
else skip hadolint; fi

python=$tools/bin/python
if [ -x "$python" ] && [ -f "$tools/compose/compose_spec.json" ]; then
    "$python" "$root/scripts/check_deploy.py" compose "$tools/compose/compose_spec.json" "$root/deploy/compose.yaml"
else skip "the schema of compose files"; fi

if [ -x "$python" ]; then
    "$python" "$root/scripts/check_deploy.py" metrics "$root" "$work/promtool"
else skip "python with yaml"; fi

# Tests the alerts. Arguments: the file of alerts, the file of tests.
alerts() {
    promtool check rules --lint=all --lint-fatal "$1" >"$work/promtool.log" 2>&1 \
        && promtool test rules "$2" >>"$work/promtool.log" 2>&1 || { cat "$work/promtool.log" >&2; exit 1; }
}

if command -v promtool >/dev/null; then
    alerts "$chart/files/rules.yaml" "$root/deploy/rules_test.yaml"
    echo "deploy/rules_test.yaml: fine"
    if [ -f "$work/promtool/dashboard_test.yaml" ]; then
        promtool test rules "$work/promtool/dashboard_test.yaml" >"$work/promtool.log" 2>&1 || { cat "$work/promtool.log" >&2; exit 1; }
        echo "deploy/helm/evergrove/files/dashboard.json: every query has an answer"
    fi
else skip promtool; fi

command -v helm >/dev/null || { skip helm; exit 0; }
# Every switch of the chart, each with the values that it requires.
variants=(
    ""
    "--set autoscaling.enabled=false,serve.enabled=false,worker.threads=2"
    "--set redis.url=rediss://redis.example:6380/1,redis.passwordSecret.name=redis,redis.caSecret.name=ca,objects.secret=s3,objects.env.AWS_REGION=eu-central-1"
    "--set monitoring.enabled=true,monitoring.rules.enabled=true,monitoring.dashboard.enabled=true,monitoring.dashboard.annotations.grafana_folder=Proofs,monitoring.labels.release=prometheus,serve.grow=true,serve.keep=10,serve.remote=false,serve.persistence.existingClaim=data"
    "--set monitoring.rules.enabled=true,monitoring.rules.job=workers,serve.enabled=false"
    "--set networkPolicy.enabled=true,worker.disruptionBudget.enabled=true,serve.disruptionBudget.enabled=true"
    "--set serve.tls.secretName=evergrove-tls,serve.service.port=443,serve.accessLog="
    "--set networkPolicy.enabled=true,serve.remote=false,objects.url=file:///objects,redis.url=redis://redis:6380,networkPolicy.redis.to[0].ipBlock.cidr=10.0.0.0/8,networkPolicy.callers[0].podSelector.matchLabels.app=gate"
    "--set networkPolicy.enabled=true,objects.env.AWS_ENDPOINT=http://objects:8333,networkPolicy.redis.ports={6379,6380},networkPolicy.monitoring[0].namespaceSelector.matchLabels.team=watch,networkPolicy.egress[0].ports[0].port=4318,worker.disruptionBudget.enabled=true,worker.disruptionBudget.maxUnavailable=3,serve.disruptionBudget.enabled=true,serve.enabled=false"
    "--set serviceAccount.create=false,image.tag=v1,image.pullSecrets[0].name=pull,serve.persistence.storageClass=fast"
)
for n in "${!variants[@]}"; do
    # shellcheck disable=SC2086
    helm lint --quiet --strict "$chart" ${variants[$n]}
    # shellcheck disable=SC2086
    helm template evergrove "$chart" --namespace proofs ${variants[$n]} >"$work/$n.yaml"
done
# Values that the schema must refuse.
for wrong in serve.tls.secretName=1 serve.accessLog=/data/access.log worker.concurrency=0 serve.maxConnections=0 redis.url=redis://user:secret@host image.tga=1 objects.url=ftp://x objects.env.AWS_SECRET_ACCESS_KEY=x \
    monitoring.labels.release=1 monitoring.rules.job='a"b' \
    worker.disruptionBudget.maxUnavailable=0 worker.disruptionBudget.maxUnavailable=0% networkPolicy.dns.ports=null networkPolicy.redis.ports[0]=0; do
    if helm template evergrove "$chart" --set "$wrong" >/dev/null 2>&1; then
        echo "deploy/helm/evergrove: the schema of the values takes $wrong" >&2
        exit 1
    fi
done
echo "deploy/helm/evergrove: ${#variants[@]} renderings"
if [ -x "$python" ] && "$python" -c 'import kubernetes_validate' 2>/dev/null; then
    "$python" "$root/scripts/check_deploy.py" kubernetes "$work"/*.yaml
else skip kubernetes-validate; fi

# The alerts of a release, which select only the release's job.
helm template evergrove "$chart" --namespace proofs --set monitoring.enabled=true,monitoring.rules.enabled=true >"$work/promtool/rendered.yaml"
if [ -x "$python" ] && command -v promtool >/dev/null; then
    "$python" "$root/scripts/check_deploy.py" rules "$root/deploy/rules_test.yaml" "$work/promtool/rendered.yaml" "$work/promtool"
    alerts "$work/promtool/rules.yaml" "$work/promtool/rules_test.yaml"
    echo "deploy/helm/evergrove: the alerts of a release, fine"
fi
