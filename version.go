package cuzk

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// What packaging knows better than the build, set with
//
//	-ldflags "-X cuzk.version=1.2.3 -X cuzk.revision=COMMIT -X cuzk.committed=TIME -X cuzk.changed=true"
//
// for builds that leave out the repository (-buildvcs=false) so that they are the
// same wherever they are made. Empty: what Go noted when it built the program.
var version, revision, committed, changed string

// Build says what the program was built from. It is the one source of what
// commands, logs, the status and the metrics say about that.
type Build struct {
	Version  string `json:"version"`        // of the release, else of the module, else "devel"
	Revision string `json:"revision"`       // the commit, in full; empty if unknown
	Time     string `json:"time,omitempty"` // of the commit, RFC 3339; empty if unknown
	Modified bool   `json:"modified"`       // files had been changed since the commit
	Go       string `json:"go"`             // the compiler's version
	Platform string `json:"platform"`       // for example linux/amd64
}

// ThisBuild tells what this program was built from.
func ThisBuild() Build {
	info, _ := debug.ReadBuildInfo()
	return buildFrom(info)
}

// buildFrom merges what packaging said with what Go noted; info may be nil, as in
// programs that were not built from modules.
func buildFrom(info *debug.BuildInfo) Build {
	b := Build{Version: version, Revision: revision, Time: committed, Modified: changed == "true", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info != nil {
		if v := info.Main.Version; b.Version == "" && v != "(devel)" {
			b.Version = v
		}
		if b.Revision == "" {
			b.fromSettings(info.Settings)
		}
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	return b
}

// fromSettings takes the repository's state, all of it from one place.
func (b *Build) fromSettings(settings []debug.BuildSetting) {
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
}

// Commit is the beginning of the revision, with "+" behind it if files had been
// changed, or "unknown".
func (b Build) Commit() string {
	switch {
	case b.Revision == "":
		return "unknown"
	case b.Modified:
		return b.Revision[:min(12, len(b.Revision))] + "+"
	}
	return b.Revision[:min(12, len(b.Revision))]
}

// String is one line, for example "1.2.3 (commit 7994103aa01f, 2026-12-01T01:59:00Z,
// go1.26, linux/amd64)".
func (b Build) String() string {
	facts := []string{"commit " + b.Commit()}
	if b.Time != "" {
		facts = append(facts, b.Time)
	}
	return b.Version + " (" + strings.Join(append(facts, b.Go, b.Platform), ", ") + ")"
}
