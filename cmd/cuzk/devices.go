package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	gpu "cuzk/backend/cuda"
	"cuzk/cuda"
)

type devicesFlags struct {
	device   string
	noLoad   bool
	selfTest bool
	plan     planFlags
	circuits circuitFlag
	json     bool
}

func newDevicesCmd() *cobra.Command {
	var f devicesFlags
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the GPUs, test them, and plan a key's memory",
		Long: `Devices lists the GPUs of this machine as the NVIDIA driver names them. Nothing
but the driver is needed: the kernels are part of this program, and the driver
compiles them for the card. It keeps the result, so only the first run on a machine
waits for that, about 20 seconds.

Columns:
  UUID      the name that --device and gpus.devices of the configuration take
  CC        compute capability; 7.5 and later can be used
  SMS       multiprocessors
  FREE      memory that nobody uses now
  KERNELS   whether this program's kernels load: "load", or why not

--self-test runs every kernel against this program's own arithmetic on the
processor, on edge cases and random values, and proves a small circuit with
everything in it. The daemon tests a device too before it uses it.

--plan says what a key and the work on a proof would take of a device's memory,
item by item; nothing is allocated. A key that does not fit is brought from the
host slice by slice, and the plan says what that takes. With --memory it is for a
device that may use so much, and none is needed: the card is then an H200, or one
with --sms multiprocessors.

Exit codes:
  0  at least one device, and all is well with every one
  1  no driver or no device; or kernels that do not load, a check that failed, or
     a plan that does not fit`,
		Example: `  cuzk devices

  # does this card compute rightly?
  cuzk devices --self-test

  # does the key of a 32 GiB PoRep stay on a card of 80 GiB? on one of 24 GiB?
  cuzk devices --plan porep-32GiB --memory 81000
  cuzk devices --plan porep-32GiB --memory 24000`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return devices(cmd, &f) },
	}
	cmd.Flags().StringVar(&f.device, "device", "", "only the device with this `UUID`")
	cmd.Flags().BoolVar(&f.noLoad, "no-load", false, "do not load the kernels, which opens the device")
	cmd.Flags().BoolVar(&f.selfTest, "self-test", false, "run every kernel against the processor")
	f.plan.register(cmd)
	f.circuits.register(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// registerDevice adds --device, whose value may be left out to mean the first.
func registerDevice(cmd *cobra.Command, to *string, usage string) {
	cmd.Flags().StringVar(to, "device", "", usage)
	cmd.Flags().Lookup("device").NoOptDefVal = firstDevice
}

// firstDevice stands for the first device of the driver's list.
const firstDevice = "first"

// openDevice opens a device by UUID, PCI address or number; the first if none is
// named.
func openDevice(name string) (*gpu.Device, error) {
	list, err := cuda.Devices()
	if err != nil {
		_, do := driverTrouble(err)
		return nil, hint(err, "%s", do)
	}
	if name != "" && name != firstDevice {
		if list, err = chosen(list, []string{name}); err != nil {
			return nil, hint(err, "\"cuzk devices\" lists them")
		}
	}
	return gpu.Open(list[0])
}

// driverTrouble says what is wrong with the driver and what to do about it.
func driverTrouble(err error) (text, do string) {
	if errors.Is(err, cuda.ErrNoDriver) {
		return fmt.Sprintf("no GPU can be used: %v", err),
			"if this machine has an NVIDIA GPU, install its driver (libcuda.so.1); in a container, pass the GPUs in (--gpus all)"
	}
	return fmt.Sprintf("the driver does not answer: %v", err), "look at \"dmesg | grep -i nvrm\"; a reboot or a new driver may be needed"
}

// tooOld tells whether the kernels are not built for a device.
func tooOld(d cuda.Device) bool {
	return d.Major < oldest.major || d.Major == oldest.major && d.Minor < oldest.minor
}

// oldest is the lowest compute capability that the kernels are built for.
var oldest = struct{ major, minor int }{7, 5}

// capability is the compute capability of a device as text.
func capability(d cuda.Device) string { return fmt.Sprintf("%d.%d", d.Major, d.Minor) }

// deviceLine is a device in JSON.
type deviceLine struct {
	UUID        string     `json:"uuid"`
	Name        string     `json:"name"`
	PCI         string     `json:"pci"`
	Capability  string     `json:"compute_capability"`
	SMs         int        `json:"sms"`
	Bytes       int64      `json:"memory_bytes"`
	Free        *int64     `json:"memory_free_bytes"` // null if the sensors cannot be read
	Driver      string     `json:"driver"`
	Kernels     string     `json:"kernels"` // load, not tried, or why they do not
	LoadSeconds float64    `json:"load_seconds,omitempty"`
	Checks      []testLine `json:"self_test,omitempty"`
	Plan        *planLine  `json:"plan,omitempty"`

	failed bool
}

// testLine is a check of the self-test in JSON.
type testLine struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Error   string  `json:"error,omitempty"`
}

// devicesReport is what the command prints in JSON.
type devicesReport struct {
	Devices []*deviceLine `json:"devices"`
	Reason  string        `json:"reason,omitempty"` // why there is none
	Plan    *planLine     `json:"plan,omitempty"`   // for a card that need not be there
}

// machineGPUs is where the devices are asked for; tests have their own.
type machineGPUs struct {
	devices func() ([]cuda.Device, error)
	release func() (string, error)
	health  func(uuid string) (cuda.Health, error)
	open    func(cuda.Device) (*gpu.Device, error)
}

// gpusOfMachine asks the driver.
var gpusOfMachine = machineGPUs{cuda.Devices, cuda.DriverRelease, cuda.ReadHealth, gpu.Open}

func devices(cmd *cobra.Command, f *devicesFlags) error {
	u := newUI(cmd)
	if f.plan.imagined() {
		p, err := f.plan.forCard(cmd, &f.circuits)
		if err != nil {
			return err
		}
		return sayPlan(u, p, f.json)
	}
	if err := f.plan.check(); err != nil {
		return err
	}
	if f.plan.circuit != "" { // before a device is asked
		if _, err := circuitNamed(f.plan.circuit); err != nil {
			return err
		}
	}
	r, err := gpusOfMachine.report(cmd, u, f)
	u.done()
	if err != nil {
		return err
	}
	return r.say(u, f)
}

// report looks at all devices, or at the named one.
func (g *machineGPUs) report(cmd *cobra.Command, u *ui, f *devicesFlags) (*devicesReport, error) {
	r := &devicesReport{Devices: []*deviceLine{}}
	list, err := g.devices()
	if err != nil {
		var do string
		r.Reason, do = driverTrouble(err)
		if f.plan.circuit != "" {
			do = "--memory MiB makes a plan for a device that is not there; " + do
		}
		u.note("%s", r.Reason)
		u.note("hint: %s", do)
		return r, nil
	}
	if f.device != "" {
		if list, err = chosen(list, []string{f.device}); err != nil {
			return nil, err
		}
	}
	release, err := g.release()
	if err != nil {
		release = "unknown"
	}
	for _, d := range list {
		l := g.describe(d, release)
		r.Devices = append(r.Devices, l)
		if err := g.try(cmd, u, f, d, l); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// describe says what is known without opening a device.
func (g *machineGPUs) describe(d cuda.Device, release string) *deviceLine {
	l := &deviceLine{UUID: d.UUID, Name: d.Name, PCI: d.PCI, Capability: capability(d), SMs: d.SMs, Bytes: d.Memory, Driver: release, Kernels: "not tried"}
	if h, err := g.health(d.UUID); err == nil {
		free := h.MemoryTotal - h.MemoryUsed
		l.Free = &free
	}
	return l
}

// try opens a device and does there what was asked for. What fails on the device
// goes into the line; other errors end the command.
func (g *machineGPUs) try(cmd *cobra.Command, u *ui, f *devicesFlags, d cuda.Device, l *deviceLine) (err error) {
	if tooOld(d) {
		l.Kernels, l.failed = fmt.Sprintf("too old: compute capability %d.%d is needed", oldest.major, oldest.minor), true
		return nil
	}
	if f.noLoad && !f.selfTest && f.plan.circuit == "" {
		return nil
	}
	u.show("loading the kernels onto "+d.Name, "")
	dev, err := g.open(d)
	if err != nil {
		l.Kernels, l.failed = err.Error(), true
		return nil
	}
	b := gpu.New(dev, gpu.Options{Lists: f.plan.values})
	defer func() { err = errors.Join(err, b.Close(), dev.Close()) }()
	l.load(b)
	if f.selfTest && !l.failed {
		u.show("testing "+d.Name, "")
		l.test(cmd, dev, b)
	}
	if f.plan.circuit != "" && !l.failed {
		return l.planned(cmd, f, b)
	}
	return nil
}

// load compiles every module for the device.
func (l *deviceLine) load(b *gpu.Backend) {
	start := time.Now()
	l.Kernels = "load"
	if err := b.LoadAll(); err != nil {
		l.Kernels, l.failed = err.Error(), true
	}
	l.LoadSeconds = time.Since(start).Seconds()
}

// test runs both self-tests.
func (l *deviceLine) test(cmd *cobra.Command, d *gpu.Device, b *gpu.Backend) {
	list, err := d.SelfTest()
	if err == nil {
		var more []gpu.Check
		more, err = b.SelfTest(cmd.Context())
		list = append(list, more...)
	}
	l.failed = err != nil
	for _, c := range list {
		line := testLine{Name: c.Name, Seconds: c.Took.Seconds()}
		if c.Err != nil {
			line.Error = c.Err.Error()
		}
		l.Checks = append(l.Checks, line)
	}
}

// say prints the report; the exit code is that of the worst device.
func (r *devicesReport) say(u *ui, f *devicesFlags) error {
	bad := len(r.Devices) == 0
	for _, l := range r.Devices {
		bad = bad || l.failed
	}
	var err error
	if f.json {
		err = u.json(r)
	} else if len(r.Devices) > 0 {
		err = r.tables(u)
	}
	if err == nil && bad {
		err = errReported
	}
	return err
}

func (r *devicesReport) tables(u *ui) error {
	rows := [][]string{{"UUID", "NAME", "CC", "SMS", "MEMORY", "FREE", "DRIVER", "PCI", "KERNELS"}}
	for _, l := range r.Devices {
		free := "unknown"
		if l.Free != nil {
			free = bytes(*l.Free)
		}
		rows = append(rows, []string{l.UUID, l.Name, l.Capability, fmt.Sprint(l.SMs), bytes(l.Bytes), free, l.Driver, l.PCI, l.Kernels})
	}
	if err := u.table(rows); err != nil {
		return err
	}
	for _, l := range r.Devices {
		if err := errors.Join(l.checks(u), l.showPlan(u)); err != nil {
			return err
		}
	}
	return nil
}

// checks prints the self-test of a device.
func (l *deviceLine) checks(u *ui) error {
	if len(l.Checks) == 0 {
		return nil
	}
	bad := 0
	rows := [][]string{{"CHECK ON " + l.UUID, "TIME", "RESULT"}}
	for _, c := range l.Checks {
		result := "ok"
		if c.Error != "" {
			result, bad = "FAILED: "+c.Error, bad+1
		}
		rows = append(rows, []string{c.Name, took(time.Duration(c.Seconds * float64(time.Second))), result})
	}
	if err := errors.Join(u.say(""), u.table(rows)); err != nil {
		return err
	}
	if bad > 0 {
		return u.say("%d of %d checks failed: nothing may be proved on this device", bad, len(l.Checks))
	}
	return u.say("%d checks passed", len(l.Checks))
}
