// Command devtest checks and times the kernels of package backend/cuda on the
// GPUs of a machine and prints tables. It needs a driver and nothing else; the
// program's users have cuzk devices --self-test.
//
//	CGO_ENABLED=0 go build -o devtest ./internal/devtest && ./devtest -large 27
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	gpu "cuzk/backend/cuda"
	"cuzk/cuda"
)

func main() {
	var o options
	flag.IntVar(&o.small, "small", 20, "compare transforms with the host up to 2^`n` points")
	flag.IntVar(&o.large, "large", 0, "check and time transforms of 2^`n` points")
	flag.IntVar(&o.runs, "runs", 7, "timed runs of each operation, 0 for no timing")
	flag.BoolVar(&o.facts, "facts", false, "print registers and local memory of the transform kernels")
	flag.BoolVar(&o.check, "check", true, "run the checks, not only the timings")
	flag.BoolVar(&o.powers, "powers", false, "time 2^27 points without the full table too")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "devtest:", err)
		os.Exit(1)
	}
}

type options struct {
	small, large, runs   int
	facts, check, powers bool
}

func run(o options) error {
	devices, err := cuda.Devices()
	if err != nil {
		return err
	}
	release, err := cuda.DriverRelease()
	if err != nil {
		return err
	}
	for _, info := range devices {
		fmt.Printf("%s %s, compute %d.%d, %d SMs, %d MiB, driver %s\n", info.Name, info.UUID, info.Major, info.Minor, info.SMs, info.Memory>>20, release)
		if err := device(info, o); err != nil {
			return err
		}
	}
	return nil
}

func device(info cuda.Device, o options) error {
	d, err := gpu.Open(info)
	if err != nil {
		return err
	}
	defer d.Close()
	for _, step := range []func(*gpu.Device, options) error{facts, checks, times} {
		start := time.Now()
		if err := step(d, o); err != nil {
			return err
		}
		fmt.Printf("-- %.1f s\n", time.Since(start).Seconds())
	}
	if b := d.Owner().Balance(); b != (cuda.Balance{}) {
		return fmt.Errorf("memory is left: %+v", b)
	}
	return nil
}

func facts(d *gpu.Device, o options) error {
	if !o.facts {
		return nil
	}
	list, err := d.Facts("field", "ntt", "quotient", "small")
	for _, f := range list {
		fmt.Printf("%-24s %3d registers %5d local %6d shared\n", f.Kernel, f.Registers, f.Local, f.Shared)
	}
	return err
}

func checks(d *gpu.Device, o options) error {
	if !o.check {
		return nil
	}
	list, err := d.SelfTest()
	if err == nil && o.small > 0 {
		var more []gpu.Check
		more, err = d.TransformChecks(14, o.small)
		list = append(list, more...)
	}
	for _, full := range []bool{true, false} {
		if err == nil && o.large > 0 {
			var more []gpu.Check
			more, err = d.LargeCheck(o.large, full)
			list = append(list, more...)
		}
	}
	for _, c := range list {
		fmt.Printf("%-40s %8.1f ms %s\n", c.Name, float64(c.Took.Microseconds())/1000, verdict(c.Err))
	}
	return err
}

func verdict(err error) string {
	if err != nil {
		return err.Error()
	}
	return "ok"
}

func times(d *gpu.Device, o options) error {
	if o.runs == 0 {
		return nil
	}
	rates, err := d.MeasureRates()
	if err != nil {
		return err
	}
	for _, t := range rates {
		fmt.Printf("%-32s %8.3f ms %8.2f G/s\n", t.Name, ms(t.Median), t.PerSecond()/1e9)
	}
	for _, logN := range []int{19, 20, 24, 26, o.large} {
		for _, full := range []bool{true, false} {
			if logN == 0 || !full && (logN != 27 || !o.powers) {
				continue
			}
			list, err := d.MeasureTransforms(logN, o.runs, full)
			if err != nil {
				return err
			}
			for _, t := range list {
				fmt.Printf("%-32s %8.3f ms (%.3f to %.3f) %6.1f M/ms\n", t.Name, ms(t.Median), ms(t.Min), ms(t.Max), t.PerSecond()/1e9)
			}
		}
	}
	h, err := cuda.ReadHealth(d.Info().UUID)
	fmt.Printf("SM clock %d MHz, %.0f W, %d C\n", h.SMClock, float64(h.Milliwatts)/1000, h.Celsius)
	return err
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
