// Package testutil decides how much of the tests runs. There are three sizes,
// each within the next:
//
//	go test -short ./...        below a minute on two quiet cores
//	go test ./...               below ten minutes
//	CUZK_SLOW=1 go test ./...   everything; .ci/run runs this
//
// Tests of seconds are left out by testing.Short, as everywhere in Go. Tests of
// the largest circuits, which take minutes or gigabytes, begin with [Slow].
package testutil

import (
	"os"
	"testing"
)

// SlowEnv is the environment variable that lets slow tests run.
const SlowEnv = "CUZK_SLOW"

// Slow skips a test unless slow ones were asked for. why says what it costs, for
// example "125 million rows".
func Slow(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(SlowEnv) != "1" || testing.Short() {
		t.Skipf("slow, %s: runs with %s=1 and without -short", why, SlowEnv)
	}
}
