#!/bin/sh
# Prints the -ldflags that tell the program its release and its commit (version.go
# of the root package). VERSION is the release. REVISION and COMMITTED are for
# builds outside a checkout, as in a container: they stand for what git says.
set -eu
cd "$(dirname "$0")/.."
changed=
if [ -z "${REVISION:-}" ] && git rev-parse --verify -q HEAD >/dev/null 2>&1; then
	REVISION=$(git rev-parse HEAD)
	COMMITTED=$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)
	git diff --quiet HEAD -- || changed=true
fi
printf '%s' "-X cuzk.version=${VERSION:-} -X cuzk.revision=${REVISION:-} -X cuzk.committed=${COMMITTED:-} -X cuzk.changed=$changed"
