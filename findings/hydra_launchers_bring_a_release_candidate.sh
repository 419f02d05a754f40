#!/usr/bin/env bash
# A launcher of Hydra's own replaces a stable Hydra by a release candidate.
#
# hydra-joblib-launcher 1.2.0 asks for hydra-core>=1.1.0.dev7. A pre-release in a specifier allows pre-releases for the whole
# requirement (PEP 440), so that pip takes the newest release candidate, also beside a second requirement that names none.
# Sweeps over schemes and delay models of stragglers are started in such environments, and an upgrade of Hydra in the middle of a
# study may compose its options differently. The bound hydra-core<1.4 keeps the stable version.
#
# Seen: without a bound hydra-core 1.4.0rc3, with it 1.3.8.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
version_with() {
    "$folder/env/bin/pip" install --quiet --disable-pip-version-check --dry-run --report "$folder/report.json" "$@" 2> "$folder/errors" ||
        { cat "$folder/errors" >&2; exit 1; }
    python3 - "$folder/report.json" <<'PYTHON'
import json, sys
chosen = {one["metadata"]["name"].lower(): one["metadata"]["version"] for one in json.load(open(sys.argv[1]))["install"]}
print(chosen["hydra-core"])
PYTHON
}
alone=$(version_with hydra-core)
beside=$(version_with hydra-joblib-launcher==1.2.0 'hydra-core>=1.3.2')
bounded=$(version_with hydra-joblib-launcher==1.2.0 'hydra-core<1.4')
echo "hydra-core alone: $alone; with hydra-joblib-launcher 1.2.0: $beside; with the bound <1.4: $bounded"
[[ $alone != *rc* && $bounded != *rc* ]] || { echo "a stable version was expected alone and with the bound" >&2; exit 1; }
[[ $beside == *rc* || $beside == *dev* ]] || { echo "the launcher takes a stable Hydra now" >&2; exit 1; }
