package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"cuzk/cuda"
	"cuzk/internal/config"
)

// finding is what the doctor says of one thing.
type finding struct {
	Check string `json:"check"`
	State string `json:"state"` // ok, note, warning or bad
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"` // what to do about it
}

// States of a finding. Only bad ones keep the daemon from working.
const (
	stateOK   = "ok"
	stateNote = "note"
	stateWarn = "warning"
	stateBad  = "bad"
)

// doctor looks at a machine. Its fields are the machine's, and a test's.
type doctor struct {
	root    fs.FS // holds proc and sys
	conf    *config.Loaded
	devices func() ([]cuda.Device, error)
	release func() (string, error)
	health  func(uuid string) (cuda.Health, error)
	space   func(dir string) (diskSpace, error)
	listen  func(network, address string) error
	limit   func() (files uint64) // open files
	list    func(dir string) ([]finding, error)

	out []finding
}

func (d *doctor) say(check, state, text string, do ...string) {
	d.out = append(d.out, finding{check, state, text, strings.Join(do, "; ")})
}

func newDoctorCmd() *cobra.Command {
	var flags configFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at this machine and say what keeps the daemon from working well",
		Long: `Doctor looks at the configuration, the NVIDIA driver and the devices, memory and
the limits of control groups, hugepages, limits of the system, the directories of
keys and of the state, disk space, and the addresses to listen on. For everything
that is not as it should be it says what to do.

States:
  ok       as it should be
  note     worth knowing
  warning  works, but slower or less safely than it could
  bad      keeps the daemon from working

It changes nothing. The exit code is 1 if anything is bad.`,
		Example: `  cuzk doctor

  # with the daemon's file, as the daemon's user
  sudo -u cuzk cuzk doctor --config /etc/cuzk/cuzk.toml`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			u := newUI(cmd)
			d := newDoctor()
			d.configure(flags.file)
			d.examine()
			return d.report(u, asJSON)
		},
	}
	flags.registerFile(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newDoctor is a doctor for this machine.
func newDoctor() *doctor {
	return &doctor{root: os.DirFS("/"), devices: cuda.Devices, release: cuda.DriverRelease, health: cuda.ReadHealth,
		space: spaceOf, listen: tryListen, limit: fileLimit, list: keyFindings}
}

func (d *doctor) examine() {
	d.driver()
	d.memory()
	d.hugepages()
	d.system()
	d.keys()
	d.state()
	d.ports()
}

// configure reads the configuration; with mistakes in it the rest is examined
// with the defaults.
func (d *doctor) configure(file string) {
	l, err := config.Load(config.Sources{File: file, Environ: os.Environ(), UID: -1})
	var problems config.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			d.say("configuration", stateBad, p.Error(), p.Hint)
		}
		l, err = config.Load(config.Sources{Environ: []string{"HOME=" + os.Getenv("HOME")}, UID: -1,
			Read: func(string) ([]byte, error) { return nil, fs.ErrNotExist }})
	}
	if err != nil && len(problems) == 0 {
		d.say("configuration", stateBad, err.Error())
	}
	for _, w := range l.Warnings {
		d.say("configuration", stateNote, w)
	}
	if len(problems) == 0 && err == nil {
		from := "no file; every setting has its default or comes from the environment"
		if l.File != "" {
			from = l.File
		}
		d.say("configuration", stateOK, from)
	}
	d.conf = l
}

// report prints what was found.
func (d *doctor) report(u *ui, asJSON bool) error {
	bad := 0
	for _, f := range d.out {
		if f.State == stateBad {
			bad++
		}
	}
	if asJSON {
		if err := u.json(d.out); err != nil {
			return err
		}
	} else if err := d.show(u); err != nil {
		return err
	}
	if bad > 0 {
		return errReported
	}
	return nil
}

func (d *doctor) show(u *ui) error {
	for _, f := range d.out {
		if err := u.say("%-8s %-13s %s", f.State, f.Check, f.Text); err != nil {
			return err
		}
		if f.Do == "" {
			continue
		}
		if err := u.say("%-8s %-13s to do: %s", "", "", f.Do); err != nil {
			return err
		}
	}
	return nil
}

// driver looks at the NVIDIA driver and its devices.
func (d *doctor) driver() {
	list, err := d.devices()
	switch {
	case errors.Is(err, cuda.ErrNoDriver) && d.conf.Scheduler.CPU == "never":
		d.say("driver", stateBad, fmt.Sprintf("no GPU can be used: %v", err), "install the NVIDIA driver (libcuda.so.1), or set scheduler.cpu to fallback")
		return
	case errors.Is(err, cuda.ErrNoDriver):
		_, do := driverTrouble(err)
		d.say("driver", stateWarn, fmt.Sprintf("no GPU can be used, so the processor proves: %v", err), do)
		return
	case err != nil:
		text, do := driverTrouble(err)
		d.say("driver", stateBad, text, do)
		return
	}
	if release, err := d.release(); err != nil {
		d.say("driver", stateWarn, fmt.Sprintf("works, but its sensors cannot be read: %v", err), "install libnvidia-ml.so.1 of the same version")
	} else {
		d.say("driver", stateOK, "NVIDIA "+release)
	}
	for _, dev := range list {
		d.device(dev)
	}
	d.chosen(list)
}

func (d *doctor) device(dev cuda.Device) {
	text := fmt.Sprintf("%s, %s, %s, compute capability %s, PCI %s", dev.Name, dev.UUID, bytes(dev.Memory), capability(dev), dev.PCI)
	if tooOld(dev) {
		d.say("device", stateBad, text+": too old", fmt.Sprintf("devices of compute capability %d.%d and later are supported; leave this one out with gpus.devices", oldest.major, oldest.minor))
		return
	}
	h, err := d.health(dev.UUID)
	if err != nil {
		d.say("device", stateNote, text)
		return
	}
	text += fmt.Sprintf(", %d °C, %d W", h.Celsius, h.Milliwatts/1000)
	if used := h.MemoryUsed; used > dev.Memory/10 {
		d.say("device", stateWarn, fmt.Sprintf("%s: others use %s of its memory", text, bytes(used)),
			"see \"nvidia-smi\" for who does; the daemon itself counts too if it runs")
		return
	}
	if h.Celsius >= 87 {
		d.say("device", stateWarn, text+": hot", "look at its cooling; it lowers its clock at this temperature")
		return
	}
	d.say("device", stateOK, text)
}

// chosen compares gpus.devices with what is there.
func (d *doctor) chosen(list []cuda.Device) {
	for _, want := range d.conf.GPUs.Devices {
		found := false
		for _, dev := range list {
			found = found || strings.EqualFold(want, dev.UUID) || strings.EqualFold(want, dev.PCI) || want == fmt.Sprint(dev.Ordinal)
		}
		if !found {
			d.say("device", stateBad, fmt.Sprintf("gpus.devices names %s, which is not there", want), "\"cuzk devices\" lists the UUIDs")
		} else if !strings.Contains(want, "-") && !strings.Contains(want, ":") {
			d.say("device", stateNote, fmt.Sprintf("gpus.devices names a device by the driver's number, %s, which may change", want), "name it by its UUID")
		}
	}
}

// ports tries to listen.
func (d *doctor) ports() {
	for _, p := range [][2]string{{"daemon.listen", d.conf.Daemon.Listen}, {"daemon.admin_listen", d.conf.Daemon.AdminListen}} {
		key, text := p[0], p[1]
		a, err := config.ParseAddress(text)
		if err != nil {
			continue // empty, or said already
		}
		switch err := d.listen(a.Network, a.Address); {
		case errors.Is(err, unix.EADDRINUSE):
			d.say("address", stateWarn, fmt.Sprintf("%s: %s is in use", key, text), "if that is not the daemon itself, find out who with \"ss -ltnp\", or choose another address")
		case err != nil:
			d.say("address", stateBad, fmt.Sprintf("%s: cannot listen on %s: %v", key, text, err), "choose another address, or give the daemon's user the right to this one")
		default:
			d.say("address", stateOK, fmt.Sprintf("%s: %s is free", key, text))
		}
	}
}

// tryListen listens for a moment. A socket file that is there is not touched.
func tryListen(network, address string) error {
	if network == "unix" {
		return trySocket(address)
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	return l.Close()
}
