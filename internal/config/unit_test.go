package config

import (
	"os"
	"regexp"
	"testing"
	"time"
)

// TestUnitFitsDefaults: systemd waits longer than the daemon drains, and gives
// it the directories that it looks for.
func TestUnitFitsDefaults(t *testing.T) {
	raw, err := os.ReadFile("../../packaging/cuzk.service")
	if err != nil {
		t.Fatal(err)
	}
	value := func(key string) string {
		m := regexp.MustCompile(`(?m)^` + key + `=(.*)$`).FindSubmatch(raw)
		if m == nil {
			t.Fatalf("no %s in the unit", key)
		}
		return string(m[1])
	}
	stop := regexp.MustCompile(`min$`).ReplaceAllString(value("TimeoutStopSec"), "m")
	wait, err := ParseDuration(stop)
	if d := Default(); err != nil || wait < d.Daemon.DrainTimeout+time.Minute {
		t.Errorf("TimeoutStopSec=%s (%v) is less than daemon.drain_timeout, %v, and a minute", value("TimeoutStopSec"), err, d.Daemon.DrainTimeout)
	}
	for key, want := range map[string]string{"Type": "notify", "StateDirectory": "cuzk", "ConfigurationDirectory": "cuzk"} {
		if got := value(key); got != want {
			t.Errorf("%s=%s, want %s", key, got, want)
		}
	}
}
