package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"cuzk/budget"
	"cuzk/daemon"
	"cuzk/engine/sched"
	"cuzk/internal/config"
)

var rewriteGuide = flag.Bool("guide", false, "write the tables of docs/operator-guide.md")

const guidePage = "../../docs/operator-guide.md"

// TestTablesOfTheGuide holds tables of the guide against the program.
func TestTablesOfTheGuide(t *testing.T) {
	raw, err := os.ReadFile(guidePage)
	if err != nil {
		t.Fatal(err)
	}
	text := between(t, string(raw), "sizes", sizesTable(t))
	text = between(t, text, "former keys", formerTable())
	if text == string(raw) {
		return
	}
	if !*rewriteGuide {
		t.Fatalf("the tables are others now; go test ./cmd/cuzk -run TestTablesOfTheGuide -guide writes them:\n%s\n%s", sizesTable(t), formerTable())
	}
	if err := os.WriteFile(guidePage, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// between puts a table in the place of that between two marks.
func between(t *testing.T, text, name, table string) string {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("the guide has no table of %s", name)
	}
	return before + begin + table + end + after
}

// formerTable lists the keys of the Rust daemon that have another name or none.
func formerTable() string {
	var b strings.Builder
	b.WriteString("| key | now |\n|---|---|\n")
	former := config.FormerKeys()
	for _, k := range slices.Sorted(maps.Keys(former)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", k, former[k])
	}
	return b.String()
}

// sizesTable asks a daemon with a processor and a card.
func sizesTable(t *testing.T) string {
	d, err := daemon.Open(t.Context(), daemon.Options{StateDir: t.TempDir(), ParamsDir: t.TempDir(), Host: budget.GiB,
		Sched:        sched.Config{MaxJobs: 1, Making: 1, CPU: sched.CPUFallback, MaxAttempts: 1},
		Accelerators: []daemon.Accelerator{{Device: sched.Device{ID: "card", Slots: 1, Memory: budget.GiB}, Need: gpuNeed}}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close(t.Context())
	s, err := d.Engine.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| key | file | witness, kept | witness, while it is made | on the processor: key | on the processor: proof | on a GPU: device memory |\n|---|---|---|---|---|---|---|\n")
	for _, k := range s.Known {
		if strings.HasSuffix(k.ID, "-32g") || strings.HasSuffix(k.ID, "-64g") {
			w := k.Work
			fmt.Fprintf(&b, "| `%s` | %v | %v | %v | %v | %v | %v |\n", k.ID, round(k.Bytes), round(w.Witness), round(w.Witness+w.Synth),
				round(w.CPU.Key.Host), round(w.CPU.Prove.Host), round(w.GPU.Key.Device+w.GPU.Prove.Device))
		}
	}
	return b.String()
}

// round is an amount in whole MiB or tenths of GiB, rounded up.
func round(n budget.Bytes) string {
	if n < budget.GiB {
		return fmt.Sprintf("%d MiB", (n+budget.MiB-1)/budget.MiB)
	}
	const tenth = budget.GiB / 10
	tenths := (n + tenth - 1) / tenth
	return fmt.Sprintf("%d.%d GiB", tenths/10, tenths%10)
}
