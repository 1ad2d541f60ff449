package main

import (
	stdbytes "bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"cuzk"
	"cuzk/api/cuzkv1"
	"cuzk/client"
	"cuzk/groth16"
	"cuzk/internal/loadtest"
	"cuzk/kind"
	"cuzk/proving"
	"cuzk/srs"
	"cuzk/vanilla"
)

// caseFlags say what is sent to which daemon.
type caseFlags struct {
	remote            remoteFlags
	keys              keyFlags
	examples, samples []string
	dir               string
	extra             string // one more request, behind the others

	extras int // cases that extra has become
	cases  []loadtest.Case
	opt    client.Options
	local  *local // nil with --daemon
	main   *client.Client
	daemon loadtest.Daemon
}

func (f *caseFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVar(&f.examples, "example", nil, "`name` of a request that ships with the program")
	fl.StringArrayVar(&f.samples, "sample", nil, "`circuit` to make up a request for, for example porep-32GiB")
	fl.StringVar(&f.remote.addr, "daemon", "", "measure the daemon at this `address`: host:port, unix:///path or https://host:port")
	f.remote.registerSecrets(cmd)
	fl.StringVar(&f.dir, "dir", demoDir(), "`directory` for keys, circuits and state of a daemon of its own")
	f.keys.register(cmd)
	f.keys.registerInsecure(cmd)
	_ = cmd.RegisterFlagCompletionFunc("sample", completeCircuits(0))
}

// material is a request as both sides of the wire know it.
type material struct {
	job  *kind.Job
	wire []*kind.Request
}

// newMaterial reads a request with a way to read the files that it names.
func newMaterial(data []byte, read vanilla.ReadFile) (m material, err error) {
	if m.job, err = kind.Parse(data, read); err != nil {
		return m, requestHint(err)
	}
	m.wire, err = kind.WireRequests(data, read)
	return m, err
}

func fileMaterial(file string) (material, error) {
	data, err := readSmall(nil, file)
	if err != nil {
		return material{}, err
	}
	m, err := newMaterial(data, func(name string) ([]byte, error) { return readSmall(nil, filepath.Join(filepath.Dir(file), name)) })
	if err != nil {
		return m, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

func readExample(name string) ([]byte, error) {
	return cuzk.Examples.ReadFile(path.Join("testdata/requests", name))
}

func exampleMaterial(name string) (material, error) {
	data, err := readExample(name + ".json")
	if err != nil {
		return material{}, hint(badInput(fmt.Errorf("no example is called %q", name)), "examples: %s", exampleNames())
	}
	return newMaterial(data, readExample)
}

// exampleNames lists the requests that ship with the program.
func exampleNames() (text string) {
	for _, e := range append(append([]example{}, examples...), largeExamples...) {
		text += " " + e.request
	}
	return text[1:]
}

// sampleMaterial makes up a request, of a full partition.
func sampleMaterial(circuit string) (material, error) {
	id, err := srs.ParseID(circuit)
	if err != nil {
		return material{}, badInput(err)
	}
	s := sampleFlags{size: id.Size.String(), seed: 7, sectors: 1, out: "sample.json"}
	if id.Family == srs.Window {
		r, err := registeredPoSt(circuit)
		if err != nil {
			return material{}, err
		}
		s.sectors = r.SectorCount()
	}
	files, err := s.files(id.Family)
	if err != nil {
		return material{}, badInput(err)
	}
	content := map[string][]byte{}
	for _, file := range files {
		var b stdbytes.Buffer
		if err := file.Write(&b); err != nil {
			return material{}, err
		}
		content[file.Name] = b.Bytes()
	}
	return newMaterial(content[files[0].Name], func(name string) ([]byte, error) {
		if b, ok := content[name]; ok {
			return b, nil
		}
		return nil, os.ErrNotExist
	})
}

// anyMaterial finds out what a word means: a circuit, an example, or a file.
func anyMaterial(word string) (material, error) {
	if _, err := srs.ParseID(word); err == nil {
		return sampleMaterial(word)
	}
	if _, err := readExample(word + ".json"); err == nil {
		return exampleMaterial(word)
	}
	return fileMaterial(word)
}

// materials are all requests that were asked for; the last is the extra one.
func (f *caseFlags) materials(files []string) (out []material, err error) {
	add := func(from func(string) (material, error), names []string) {
		for _, n := range names {
			m, e := from(n)
			err = errors.Join(err, e)
			out = append(out, m)
		}
	}
	add(fileMaterial, files)
	add(exampleMaterial, f.examples)
	add(sampleMaterial, f.samples)
	if len(out) == 0 {
		add(exampleMaterial, []string{examples[0].request})
	}
	if f.extra != "" {
		add(anyMaterial, []string{f.extra})
	}
	return out, err
}

// open gets everything ready: requests, keys, daemon.
func (f *caseFlags) open(ctx context.Context, u *ui, files []string) error {
	all, err := f.materials(files)
	if err != nil {
		return err
	}
	if f.opt, err = f.remote.options(); err != nil {
		return err
	}
	if f.remote.addr == "" {
		if err := f.startOwn(ctx, u, all); err != nil {
			return err
		}
	}
	if f.main, err = client.Dial(f.addr(), f.opt); err != nil {
		return errors.Join(usageError("--daemon: %v", err), f.close())
	}
	f.daemon = measured{f.main}
	for i, m := range all {
		check := f.checker(ctx, u, m.job)
		n := len(f.cases)
		f.cases = append(f.cases, casesOf(m, check)...)
		if f.extra != "" && i == len(all)-1 {
			f.extras = len(f.cases) - n
		}
	}
	return nil
}

// startOwn makes the keys and starts a daemon in this process.
func (f *caseFlags) startOwn(ctx context.Context, u *ui, all []material) (err error) {
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return badInput(err)
	}
	u.note("keys of this measurement are INSECURE: everybody knows their secrets")
	f.keys.dir, f.keys.insecure, f.keys.cache = f.dir, true, f.dir
	o := proving.Options{ParamsDir: f.dir, CircuitDir: filepath.Join(f.dir, "circuits"), Keys: f.keys.options(u),
		Warn: func(err error) { u.note("warning: %v", err) }}
	for _, m := range all {
		w := (&stages{u: u}).watch()
		err := ensureKey(ctx, o, m.job.Circuit, w)
		if err == nil {
			_, err = proving.Compile(ctx, o, m.job.Circuit, w)
		}
		if err != nil {
			return demoHint(err, f.dir)
		}
	}
	f.local, err = startLocal(ctx, f.dir)
	return err
}

func (f *caseFlags) addr() string {
	if f.local != nil {
		return f.local.addr
	}
	return f.remote.addr
}

// dial makes one more connection, as another client would.
func (f *caseFlags) dial() (loadtest.Daemon, func(), error) {
	c, err := client.Dial(f.addr(), f.opt)
	if err != nil {
		return nil, nil, err
	}
	return measured{c}, func() { _ = c.Close() }, nil
}

func (f *caseFlags) close() (err error) {
	if f.main != nil {
		err = f.main.Close()
	}
	if f.local != nil {
		err = errors.Join(err, f.local.Close())
	}
	return err
}

// measured is a client as package loadtest wants it.
type measured struct{ *client.Client }

// Status calls GetStatus.
func (m measured) Status(ctx context.Context) error {
	_, err := m.API().GetStatus(ctx, &cuzkv1.GetStatusRequest{})
	return err
}

// Metrics calls GetMetrics.
func (m measured) Metrics(ctx context.Context) (string, error) {
	r, err := m.API().GetMetrics(ctx, &cuzkv1.GetMetricsRequest{})
	return r.GetPrometheusText(), err
}

// checker verifies the proof of some partitions of a job from its bytes; nil
// without a verifying key, which is said.
func (f *caseFlags) checker(ctx context.Context, u *ui, j *kind.Job) func(from, n int, proof []byte) error {
	vk, _, err := srs.OpenVK(ctx, f.keys.dir, j.Circuit.String(), f.keys.options(u))
	if err != nil {
		u.note("warning: proofs of %s are not verified here: %v", j.Circuit, err)
		return nil
	}
	return func(from, n int, proof []byte) error {
		proofs, err := groth16.DecodeProofs(proof)
		if err != nil {
			return err
		}
		if len(proofs) != n {
			return fmt.Errorf("%d proofs for %d partitions", len(proofs), n)
		}
		for i := range proofs {
			if err := groth16.Verify(vk, j.Partitions[from+i].Inputs, &proofs[i]); err != nil {
				return fmt.Errorf("partition %d: %w", from+i, err)
			}
		}
		return nil
	}
}

// casesOf are the calls that make up a request: one for each partition of a
// WindowPoSt, one in all for the others.
func casesOf(m material, check func(from, n int, proof []byte) error) (out []loadtest.Case) {
	n := len(m.job.Partitions) / len(m.wire)
	for i, r := range m.wire {
		c := loadtest.Case{Name: m.job.Circuit.String(), Request: submitted(r, ""), Partitions: n}
		if check != nil {
			c.Check = func(proof []byte) error { return check(i*n, n, proof) }
		}
		out = append(out, c)
	}
	return out
}
