package cuzk

import (
	"runtime/debug"
	"strings"
	"testing"
)

func settings(kv ...string) (out []debug.BuildSetting) {
	for i := 0; i < len(kv); i += 2 {
		out = append(out, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
	}
	return out
}

func TestBuildIsWhatGoNoted(t *testing.T) {
	for name, c := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"nothing":    {nil, "devel (commit unknown, "},
		"no release": {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "devel (commit unknown, "},
		"commit": {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: settings("vcs.revision", "7994103aa01f7994103aa01f", "vcs.time", "2026-12-01T01:59:00Z", "vcs.modified", "false")},
			"devel (commit 7994103aa01f, 2026-12-01T01:59:00Z, "},
		"changed": {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: settings("vcs.revision", "7994103", "vcs.modified", "true")},
			"v1.2.3 (commit 7994103+, "},
	} {
		if got := buildFrom(c.info).String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestPackagingDecides: a package built where the repository is not, or was
// changed by the packaging itself, says what packaging said.
func TestPackagingDecides(t *testing.T) {
	defer func() { version, revision, committed, changed = "", "", "", "" }()
	version, revision, committed = "1.2.3", "0123456789abcdef", "2026-12-01T00:00:00Z"
	b := buildFrom(&debug.BuildInfo{Main: debug.Module{Version: "v9"}, Settings: settings("vcs.revision", "ffff", "vcs.modified", "true")})
	if got := b.String(); !strings.HasPrefix(got, "1.2.3 (commit 0123456789ab, 2026-12-01T00:00:00Z, ") {
		t.Error(got)
	}
	changed = "true"
	if got := buildFrom(nil).Commit(); got != "0123456789ab+" {
		t.Error(got)
	}
}
