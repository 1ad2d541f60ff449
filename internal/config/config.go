// Package config holds everything that can be set about the daemon: one struct
// whose tags carry each setting's default, unit and meaning, read from a TOML
// file, the environment and the command line, in rising order of precedence.
// The reference page, the example file and the answers of "cuzk config explain"
// are made from the same tags.
//
// Sources: TOML 1.0 for the file; the keys of the Rust daemon, so that its files
// are read (see old.go).
//
// Invariants:
//
//  1. No configuration at all is a working daemon on this machine alone.
//  2. Nothing is ignored in silence: an unknown key is an error with its line
//     and the nearest name, a key of the Rust daemon that has lost its meaning
//     is a warning that names what replaces it.
//  3. A value that cannot be read is an error, never a default.
//  4. Every error says where the value came from, and all errors are reported
//     at once.
//  5. Packages receive values, not this struct.
package config

import (
	"time"

	"cuzk/budget"
)

// Config is all settings, by section. Make it with [Load] or [Default].
type Config struct {
	Daemon    Daemon    `toml:"daemon" doc:"The process: where it listens, where it keeps its state, how it ends."`
	SRS       SRS       `toml:"srs" doc:"Keys of the circuits."`
	Fetch     Fetch     `toml:"fetch" doc:"Downloading published keys (cuzk params fetch)."`
	Memory    Memory    `toml:"memory" doc:"How much memory may be used. One ledger covers the host, pinned memory and every device."`
	GPUs      GPUs      `toml:"gpus" doc:"Devices that prove."`
	Scheduler Scheduler `toml:"scheduler" doc:"What is done when."`
	Synthesis Synthesis `toml:"synthesis" doc:"Making witnesses."`
	Jobs      Jobs      `toml:"jobs" doc:"What is kept of jobs, and for how long."`
	Logging   Logging   `toml:"logging" doc:"What is written down."`
}

// Daemon is the section about the process.
type Daemon struct {
	Listen         string        `toml:"listen" flag:"listen" default:"127.0.0.1:9820" doc:"Where clients connect: host:port, or unix:///path. An address that other machines can reach needs tls_cert and tls_key, or allow_plaintext."`
	AdminListen    string        `toml:"admin_listen" flag:"admin-listen" default:"127.0.0.1:9821" doc:"Where the dashboard, /metrics, /healthz and /readyz are: host:port, or unix:///path; empty for none. Plain HTTP."`
	StateDir       string        `toml:"state_dir" flag:"state-dir" default:"auto" doc:"Directory of the job store, the payloads and the caches. auto: what systemd set, else /var/lib/cuzk for root and ~/.local/state/cuzk for others. One daemon at a time."`
	TLSCert        string        `toml:"tls_cert" default:"" doc:"PEM file of the server's certificate chain; turns TLS on for listen. It is read again when it changes, as are tls_key and tls_client_ca."`
	TLSKey         string        `toml:"tls_key" default:"" doc:"PEM file of the certificate's private key."`
	TLSClientCA    string        `toml:"tls_client_ca" default:"" doc:"PEM file of the authorities whose client certificates are accepted; when set, clients must show one."`
	TokenFile      string        `toml:"token_file" default:"" doc:"File with a secret that every call must carry as 'authorization: Bearer SECRET', read again when it changes; empty for none."`
	AllowPlaintext bool          `toml:"allow_plaintext" flag:"allow-plaintext" default:"false" doc:"Permit listen without TLS, and admin_listen, on addresses that other machines can reach."`
	MaxReceiving   int           `toml:"max_receiving" default:"8" min:"1" max:"1024" unit:"requests" doc:"Large requests that are decoded and stored at the same time; as many more may be received meanwhile. Each may take 256 MiB."`
	OnDisconnect   string        `toml:"on_disconnect" default:"keep" of:"keep|cancel" doc:"What happens to a job when the caller that waits for it goes away. keep: it goes on, and a retry of the same request finds it. cancel: it is cancelled unless somebody else waits."`
	DrainTimeout   time.Duration `toml:"drain_timeout" flag:"drain-timeout" default:"15m" min:"0s" max:"24h" doc:"How long running jobs may take to end after SIGTERM. What is not finished then goes on after the next start. A second signal ends the daemon at once."`
}

// SRS is the section about keys.
type SRS struct {
	ParamsDir string        `toml:"params_dir" flag:"params-dir" default:"auto" doc:"Directory of the key files. auto: FIL_PROOFS_PARAMETER_CACHE, else /var/tmp/filecoin-proof-parameters."`
	Preload   []string      `toml:"preload" flag:"preload" default:"" doc:"Circuits whose keys are loaded at start and stay, for example porep-32GiB, winning-32GiB."`
	KeyIdle   time.Duration `toml:"key_idle" default:"0s" min:"0s" max:"720h" doc:"A key that no job used for this long is dropped; 0: only to make room."`
	Insecure  bool          `toml:"insecure" flag:"insecure" default:"false" doc:"Permit keys whose secrets are known. Anybody can forge proofs with them; for tests only."`
}

// Fetch is the section about downloads.
type Fetch struct {
	Gateways []string `toml:"gateways" default:"https://proofs.filecoin.io/ipfs/" doc:"HTTPS gateways, tried in order; a file's CID is appended. What they serve is verified, so they need not be trusted."`
	Parallel int      `toml:"parallel" default:"4" min:"1" max:"64" unit:"connections" doc:"Ranges of one file that are downloaded at the same time."`
}

// Memory is the section about memory.
type Memory struct {
	TotalBudget     Size          `toml:"total_budget" flag:"memory" default:"auto" doc:"Host memory that may be used. auto: the machine's memory or the limit of the control group, whichever is lower, less safety_margin, but at least half of it."`
	SafetyMargin    budget.Bytes  `toml:"safety_margin" default:"5GiB" doc:"Host memory that auto leaves to others."`
	PinnedBudget    Size          `toml:"pinned_budget" default:"auto" doc:"The part of total_budget that may be pinned. auto: three quarters with a GPU, none without."`
	CriticalReserve budget.Bytes  `toml:"critical_reserve" default:"2GiB" doc:"Host memory that only jobs of class critical (WinningPoSt) may use for witnesses."`
	DeviceMargin    budget.Bytes  `toml:"device_margin" default:"1GiB" doc:"Memory of each device that is left to others."`
	EvictionMinIdle time.Duration `toml:"eviction_min_idle" default:"5m" min:"0s" max:"24h" doc:"A key stays on its device at least this long after it was loaded while jobs wait for it, before a key of jobs of the same class takes its place; one that no job waits for, as long as loading it took. A higher class waits for nothing. 0: whichever job is older has its key loaded."`
}

// GPUs is the section about devices.
type GPUs struct {
	RestartsPerHour int      `toml:"restarts_per_hour" default:"3" min:"0" max:"60" unit:"restarts" doc:"How often in an hour the daemon may start itself anew, in place and without losing a job, because the driver lets its process open a device no more, as after an illegal address. Beyond it, and with 0, the device stays lost until somebody restarts the daemon."`
	Devices         []string `toml:"devices" flag:"devices" default:"" doc:"Devices to use: UUIDs (GPU-...), PCI addresses, or the driver's numbers; empty for all. nvidia-smi -L lists the UUIDs. No environment variable selects devices."`
}

// Scheduler is the section about decisions.
type Scheduler struct {
	CPU            string        `toml:"cpu" flag:"cpu" default:"fallback" of:"never|fallback|always" doc:"When the processor proves. never: only devices do. fallback: when no device in service can, or two have failed a partition. always: like any other device."`
	MaxJobs        int           `toml:"max_jobs" default:"4096" min:"1" max:"1000000" unit:"jobs" doc:"Jobs that may be queued or running; more are refused. Critical jobs are let in above it."`
	Witnesses      int           `toml:"witnesses" default:"2" min:"1" max:"256" unit:"witnesses" doc:"Witnesses that are made at the same time, each with all processors; one more for a critical job."`
	WitnessesAhead int           `toml:"witnesses_ahead" default:"0" min:"0" max:"4096" unit:"witnesses" doc:"Finished witnesses that may wait for a device; 0: as many as memory allows."`
	MaxAttempts    int           `toml:"max_attempts" default:"3" min:"1" max:"100" unit:"tries" doc:"Tries of one partition, on all devices together, before its job fails."`
	AgeStep        time.Duration `toml:"age_step" default:"30m" min:"0s" max:"720h" doc:"Waiting for this long is worth one class, at most to high; 0: no ageing."`
	HangFactor     int           `toml:"hang_factor" default:"10" min:"0" max:"1000" unit:"times" doc:"A stage that takes this many times its usual time has hung; 0: never."`
	HangFloor      time.Duration `toml:"hang_floor" default:"2m" min:"0s" max:"24h" doc:"No stage has hung before this."`
}

// Synthesis is the section about witnesses.
type Synthesis struct {
	Threads int `toml:"threads" flag:"threads" default:"0" min:"0" max:"4096" unit:"threads" doc:"Processors to use for everything; 0: all that the control group allows."`
}

// Jobs is the section about what is kept.
type Jobs struct {
	KeepProofs  time.Duration `toml:"keep_proofs" default:"72h" min:"1m" max:"8760h" doc:"Finished jobs and their proofs are kept this long for callers who ask again."`
	SpoolLimit  budget.Bytes  `toml:"spool_limit" default:"64GiB" doc:"Disk space for payloads of live jobs; requests beyond it are refused until jobs end."`
	MinFreeDisk budget.Bytes  `toml:"min_free_disk" default:"2GiB" doc:"With less free space than this below state_dir, requests are refused and running jobs go on."`
}

// Logging is the section about logs.
type Logging struct {
	Level       string       `toml:"level" flag:"log-level" default:"info" of:"debug|info|warn|error" doc:"The least important lines that are written."`
	Format      string       `toml:"format" flag:"log-format" default:"auto" of:"auto|text|json|journald" doc:"Form of the lines on standard error. auto: text on a terminal, journald's priorities under systemd, JSON otherwise."`
	Events      string       `toml:"events" flag:"events" default:"auto" doc:"File of the event log, one JSON record a line, for cuzk timeline. auto: events.jsonl in state_dir; off: none."`
	EventsLimit budget.Bytes `toml:"events_limit" default:"256MiB" doc:"When the event log reaches this it is renamed to FILE.1, and the FILE.1 before it is deleted."`
}

// Size is an amount of memory or "auto".
type Size struct {
	Auto  bool
	Bytes budget.Bytes
}

// Or is the size, or what auto stands for.
func (s Size) Or(auto budget.Bytes) budget.Bytes {
	if s.Auto {
		return auto
	}
	return s.Bytes
}
