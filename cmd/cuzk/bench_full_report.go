package main

import (
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"cuzk/srs"
)

// fullReport is what bench full prints, in JSON as it stands.
type fullReport struct {
	Circuit      string       `json:"circuit"`
	Insecure     bool         `json:"insecure"` // always true
	Machine      machineFacts `json:"machine"`
	Partitions   int          `json:"partitions"`
	Works        int          `json:"works"`  // partitions at a time on the device
	Making       int          `json:"making"` // witnesses made at a time
	Steps        []fullStep   `json:"steps"`
	Runs         []fullRun    `json:"runs"`
	Compared     int          `json:"compared"` // proofs compared with those of the secrets
	Proof        string       `json:"proof"`    // hex, all partitions
	RequestBytes int64        `json:"request_bytes"`
	KeyPeak      int64        `json:"host_peak_key_bytes"`     // resident, until the key was made
	ProvePeak    int64        `json:"host_peak_proving_bytes"` // resident, while proofs were made
	Pinned       int64        `json:"pinned_bytes"`            // host memory pinned for the device
	ProverBytes  int64        `json:"prover_bytes"`            // on the device, or in the host's memory with --cpu
	Plan         *planLine    `json:"plan,omitempty"`

	proof []byte
}

// fullStep is a step and its time.
type fullStep struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// fullRun is one time that all partitions were proved.
type fullRun struct {
	Wall       float64         `json:"wall_seconds"`  // from the decoded request to the last verified proof
	Check      float64         `json:"check_seconds"` // of it, the check of the vanilla proofs
	Partitions []partitionLine `json:"partitions"`
}

// partitionLine is one proof.
type partitionLine struct {
	Partition int        `json:"partition"`
	Stages    []fullStep `json:"stages"`
	Ended     float64    `json:"ended_seconds"` // since the run began
}

func newFullReport(id srs.ID, f *benchFullFlags) *fullReport {
	return &fullReport{Circuit: id.String(), Insecure: true, Machine: thisMachine(), Works: f.works, Making: f.making, Runs: []fullRun{}}
}

func (r *fullReport) say(u *ui, asJSON bool) error {
	r.Proof = hex.EncodeToString(r.proof)
	if asJSON {
		return u.json(r)
	}
	rows := append([][]string{{"circuit", fmt.Sprintf("%s, %s, INSECURE key", r.Circuit, plural(r.Partitions, "partition"))}}, r.Machine.lines()...)
	for _, s := range r.Steps {
		rows = append(rows, []string{s.Name, seconds(s.Seconds)})
	}
	rows = append(rows, r.walls(), []string{"beside it, vanilla proofs checked", seconds(r.check())}, []string{"a partition", seconds(r.wall()/float64(max(r.Partitions, 1))) + ", of the median run"})
	rows = append(rows, r.memory()...)
	rows = append(rows, []string{"checks", fmt.Sprintf("%s by pairing, all as one; %d compared with the secrets' own", plural(r.Partitions*len(r.Runs), "proof"), r.Compared)})
	if err := u.table(rows); err != nil {
		return err
	}
	if err := u.say(""); err != nil {
		return err
	}
	return u.table(r.stages())
}

func seconds(s float64) string { return took(time.Duration(s * float64(time.Second))) }

// wall is the median of the runs.
func (r *fullReport) wall() float64 {
	var all []float64
	for _, run := range r.Runs {
		all = append(all, run.Wall)
	}
	return middle(all)
}

// check is the median of the checks of the vanilla proofs.
func (r *fullReport) check() float64 {
	var all []float64
	for _, run := range r.Runs {
		all = append(all, run.Check)
	}
	return middle(all)
}

// walls is the line on whole runs.
func (r *fullReport) walls() []string {
	text := seconds(r.wall())
	if len(r.Runs) > 1 {
		least, most := r.Runs[0].Wall, r.Runs[0].Wall
		for _, run := range r.Runs {
			least, most = min(least, run.Wall), max(most, run.Wall)
		}
		text += fmt.Sprintf(", median of %d runs from %s to %s", len(r.Runs), seconds(least), seconds(most))
	}
	return []string{"decoded request to last proof", text}
}

func (r *fullReport) memory() [][]string {
	last := [][]string{{"host memory pinned for the device", bytes(r.Pinned)}, {"device memory of key and work", bytes(r.ProverBytes)}}
	if r.Plan != nil && r.Plan.Streamed != "" {
		last = append(last, []string{"key streamed", fmt.Sprintf("%s from %s", bytes(r.Plan.HostTotal), r.Plan.Streamed)})
	}
	if r.Machine.Card == "" {
		last = [][]string{{"memory of the prover", bytes(r.ProverBytes)}}
	}
	return append([][]string{
		{"request in memory", bytes(r.RequestBytes)},
		{"host memory, until the key was made", peak(r.KeyPeak, r.RequestBytes)},
		{"host memory, while proving", peak(r.ProvePeak, r.RequestBytes)},
	}, last...)
}

// peak is a peak with and without the request.
func peak(n, request int64) string {
	if n == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%s at most, %s without the request", bytes(n), bytes(max(n-request, 0)))
}

// stages is a table of the stages' medians over all partitions and runs.
func (r *fullReport) stages() [][]string {
	all, order := map[string][]float64{}, []string(nil)
	for _, run := range r.Runs {
		for _, p := range run.Partitions {
			for _, s := range p.Stages {
				if all[s.Name] == nil {
					order = append(order, s.Name)
				}
				all[s.Name] = append(all[s.Name], s.Seconds)
			}
		}
	}
	rows := [][]string{{"STAGE OF A PARTITION", "MEDIAN", "LEAST", "MOST"}}
	for _, name := range order {
		rows = append(rows, []string{name, seconds(middle(all[name])), seconds(slices.Min(all[name])), seconds(slices.Max(all[name]))})
	}
	return rows
}

// middle is the median; 0 of nothing.
func middle(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(x))
	return s[len(s)/2]
}
