package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	gpu "cuzk/backend/cuda"
	"cuzk/cuda"
	"cuzk/kind"
)

// planFlags say what is planned for.
type planFlags struct {
	circuit string
	memory  int64
	sms     int
	values  bool
}

func (f *planFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.circuit, "plan", "", "print the memory plan of this `circuit`'s key, for example porep-32GiB")
	cmd.Flags().Int64Var(&f.memory, "memory", 0, "with --plan: for a device that may use so many `MiB`; none need be there")
	cmd.Flags().IntVar(&f.sms, "sms", 0, "with --memory: `number` of multiprocessors (default: an H200's 132)")
	cmd.Flags().BoolVar(&f.values, "values", false, "with --plan: for a key that has its quotient in values")
	_ = cmd.RegisterFlagCompletionFunc("plan", completeCircuits(0))
}

// imagined tells whether the plan is for a card that need not be there.
func (f *planFlags) imagined() bool { return f.circuit != "" && f.memory > 0 }

func (f *planFlags) check() error {
	switch {
	case f.memory < 0 || f.sms < 0:
		return usageError("--memory and --sms are positive numbers")
	case f.memory != 0 && f.circuit == "":
		return usageError("--memory goes with --plan")
	case f.values && f.circuit == "":
		return usageError("--values goes with --plan")
	case f.sms != 0:
		return usageError("--sms goes with --plan and --memory")
	}
	return nil
}

// forCard plans for a card with the given memory.
func (f *planFlags) forCard(cmd *cobra.Command, c *circuitFlag) (*planLine, error) {
	if f.sms < 0 {
		return nil, usageError("--sms is a positive number")
	}
	compiled, _, err := openCircuit(cmd, c, f.circuit)
	if err != nil {
		return nil, err
	}
	card := gpu.H200()
	if f.sms > 0 {
		card.SMs = f.sms
	}
	return planOf(gpu.PlanOn(compiled, card, f.memory<<20, gpu.Options{Lists: f.values}))
}

// planned plans for a device that is there, with what is free now.
func (l *deviceLine) planned(cmd *cobra.Command, f *devicesFlags, b *gpu.Backend) error {
	compiled, _, err := openCircuit(cmd, &f.circuits, f.plan.circuit)
	if err != nil {
		return err
	}
	l.Plan, err = planOf(b.Plan(compiled))
	l.failed = l.failed || l.Plan != nil && l.Plan.Reason != ""
	return err
}

// planLine is a plan in JSON.
type planLine struct {
	Circuit string     `json:"circuit"`
	Items   []planItem `json:"items"`
	Total   int64      `json:"total_bytes"`
	Cap     int64      `json:"cap_bytes"`
	Reason  string     `json:"reason,omitempty"` // why nothing fits

	Streamed  string     `json:"streamed_from,omitempty"` // where a key is that does not stay on the device
	Host      []planItem `json:"streamed,omitempty"`
	HostTotal int64      `json:"streamed_bytes,omitempty"`

	text string
}

type planItem struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Note  string `json:"note"`
}

// planOf turns a plan into a line. That none fits is an answer.
func planOf(p *gpu.Plan, err error) (*planLine, error) {
	if errors.Is(err, cuda.ErrOutOfMemory) {
		return &planLine{Items: []planItem{}, Reason: err.Error(), text: err.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	l := &planLine{Circuit: p.Circuit, Items: planItems(p.Items), Total: p.Total(), Cap: p.Cap, text: p.String()}
	if p.Slice > 0 {
		l.Streamed, l.Host, l.HostTotal = "the key file", planItems(p.Host), p.HostTotal()
		if p.Pinned {
			l.Streamed = "pinned host memory"
		}
	}
	return l, nil
}

func planItems(list []gpu.PlanItem) []planItem {
	out := []planItem{}
	for _, i := range list {
		out = append(out, planItem{i.Name, i.Bytes, i.Note})
	}
	return out
}

// sayPlan prints a plan for a card that need not be there.
func sayPlan(u *ui, p *planLine, asJSON bool) error {
	var err error
	if asJSON {
		err = u.json(devicesReport{Devices: []*deviceLine{}, Plan: p})
	} else {
		err = u.say("%s", strings.TrimSuffix(p.text, "\n"))
	}
	if err == nil && p.Reason != "" {
		err = errReported
	}
	return err
}

// showPlan prints the plan of a device.
func (l *deviceLine) showPlan(u *ui) error {
	if l.Plan == nil {
		return nil
	}
	return errors.Join(u.say(""), u.say("%s: %s", l.UUID, strings.TrimSuffix(l.Plan.text, "\n")))
}

// completeCircuits completes the names of circuits, of so many arguments; 0 means
// any number, or the value of a flag.
func completeCircuits(most int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		for _, e := range kind.Catalog() {
			if name := e.ID.String(); strings.HasPrefix(name, begun) && (most == 0 || len(args) < most) {
				out = append(out, cobra.CompletionWithDesc(name, fmt.Sprintf("%d constraints", e.Rows)))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
