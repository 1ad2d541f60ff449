#!/bin/sh
# Regenerates api/cuzkv1 from proto/ with the plugins pinned in tools/go.mod.
# Needs protoc (Debian: protobuf-compiler). Run from anywhere.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
(cd "$root/tools" && go build -o "$bin/" \
	google.golang.org/protobuf/cmd/protoc-gen-go \
	google.golang.org/grpc/cmd/protoc-gen-go-grpc)
cd "$root"
PATH="$bin:$PATH" protoc -I proto \
	--go_out=. --go_opt=module=cuzk \
	--go-grpc_out=. --go-grpc_opt=module=cuzk \
	proto/cuzk/v1/proving.proto
