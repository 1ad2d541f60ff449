#!/bin/sh
# Builds the program, its man pages and completions, the packages and their
# SHA-256 sums into a folder.
#
#   packaging/build.sh VERSION [amd64|arm64] [FOLDER]
#
# Needs Go, and for the packages nfpm in PATH (go install
# github.com/goreleaser/nfpm/v2/cmd/nfpm@latest); without it there are none, and
# it says so. Program and packages are the same, to the byte, whenever and in whatever folder
# a commit is built, as long as the compiler and the folder of Go's module cache
# are the same: assembler sources of a module include others of it, and -trimpath
# leaves the whole names of those in the program. What "cuzk version" says comes
# from packaging/stamp.sh.
set -eu
cd "$(dirname "$0")/.."
export VERSION="${1:?usage: packaging/build.sh VERSION [amd64|arm64] [FOLDER]}"
export ARCH="${2:-$(go env GOARCH)}" DIST="${3:-bin/dist}"
mkdir -p "$DIST/man" "$DIST/completion"
# nfpm dates what it packs by this.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH

CGO_ENABLED=0 GOARCH="$ARCH" go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= $(packaging/stamp.sh)" -o "$DIST/cuzk" ./cmd/cuzk
go test -count=1 -run '^TestManPages$' ./cmd/cuzk -man "$(cd "$DIST" && pwd)/man" >/dev/null
host="$DIST/cuzk"
if [ "$ARCH" != "$(go env GOHOSTARCH)" ]; then # completions do not depend on the machine
	host=$(mktemp)
	trap 'rm -f "$host"' EXIT
	CGO_ENABLED=0 go build -o "$host" ./cmd/cuzk
fi
"$host" completion bash >"$DIST/completion/cuzk.bash"
"$host" completion zsh >"$DIST/completion/_cuzk"
"$host" completion fish >"$DIST/completion/cuzk.fish"

if command -v nfpm >/dev/null; then
	for kind in deb rpm; do
		nfpm package --config packaging/nfpm.yaml --packager "$kind" --target "$DIST/"
	done
else
	echo "build: no nfpm in PATH, so no packages" >&2
fi
(cd "$DIST" && find . -maxdepth 1 -type f \( -name 'cuzk' -o -name '*.deb' -o -name '*.rpm' \) -exec sha256sum {} + >SHA256SUMS)
