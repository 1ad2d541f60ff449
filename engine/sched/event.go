package sched

import (
	"cuzk/budget"
	"cuzk/job"
)

// Event is something that happened outside.
type Event interface{ event() }

// The events. Those that answer a command carry its attempt.
type (
	// Submit brings a new job; [Core.Admit] was asked before.
	Submit struct{ Job Job }
	// Cancel ends a job on somebody's wish.
	Cancel struct{ Job, Why string }
	// Raise lifts a job to a higher class; a lower one changes nothing.
	Raise struct {
		Job   string
		Class job.Class
	}
	// Tick brings nothing but the time. [Core.Next] says when one is due.
	Tick struct{}

	// Synthesised: the witness is ready. Bytes is its true size, 0: as planned.
	Synthesised struct {
		Attempt int
		Bytes   budget.Bytes
	}
	// Proved: the device made a proof, nobody has checked it.
	Proved struct{ Attempt int }
	// Checked: the proof was checked.
	Checked struct {
		Attempt int
		Good    bool
		Text    string // why not
	}
	// AttemptFailed: an attempt of any stage ended without a result.
	AttemptFailed struct {
		Attempt int
		Failure job.Failure
		Text    string
	}
	// Joined: the partitions of a job were put together; or not, if Failure is set.
	Joined struct {
		Job     string
		Failure job.Failure
		Text    string
	}
	// WitnessFreed: the memory of a dropped witness is free.
	WitnessFreed struct{ Witness int }

	// AddDevice puts a device into service, or shows one that could not be opened.
	AddDevice struct{ Device Device }
	// LoseDevice takes a device out that has vanished.
	LoseDevice struct{ Device, Why string }
	// BreakDevice tells that a device must be opened anew: what it holds is gone.
	BreakDevice struct{ Device, Why string }
	// ReturnDevice has a quarantined or lost device opened anew, to serve again.
	ReturnDevice struct{ Device string }
	// Reopened: the device was opened anew and tested; or not, if Why is set.
	Reopened struct{ Device, Why string }

	// KeyLoaded: a key is resident.
	KeyLoaded struct{ Key, Device string }
	// KeyFailed: a key could not be loaded. Everywhere: on no device, because
	// the key itself is missing or corrupt.
	KeyFailed struct {
		Key, Device string
		Everywhere  bool
		Failure     job.Failure
		Text        string
	}
	// KeyDropped: the memory of a dropped key is free.
	KeyDropped struct{ Key, Device string }
	// Preload asks for a key to be resident on every device that would use it.
	Preload struct {
		Key  string
		Work Work // placements and usual time of loading
	}
	// Evict takes back a Preload and drops the key wherever it is idle, or as
	// soon as it is.
	Evict struct{ Key string }

	// Drain lets jobs that have begun end and starts no others.
	Drain struct{}
	// Settle tells that a new process is to take over: what runs goes on to its end,
	// critical jobs to theirs, and nothing else begins; jobs are still taken in. It is
	// never taken back: a Halt follows. The device, if one is named, waits for the new
	// process.
	Settle struct{ Device, Why string }
	// Halt stops everything that runs and starts nothing; jobs are not ended.
	Halt struct{}
)

func (Submit) event()        {}
func (Cancel) event()        {}
func (Raise) event()         {}
func (Tick) event()          {}
func (Synthesised) event()   {}
func (Proved) event()        {}
func (Checked) event()       {}
func (AttemptFailed) event() {}
func (Joined) event()        {}
func (WitnessFreed) event()  {}
func (AddDevice) event()     {}
func (LoseDevice) event()    {}
func (BreakDevice) event()   {}
func (ReturnDevice) event()  {}
func (Reopened) event()      {}
func (KeyLoaded) event()     {}
func (KeyFailed) event()     {}
func (KeyDropped) event()    {}
func (Preload) event()       {}
func (Evict) event()         {}
func (Drain) event()         {}
func (Settle) event()        {}
func (Halt) event()          {}

// Command is something that the engine must do.
type Command interface{ command() }

// The commands. Each Synthesise, Prove and Check is answered once, by its result
// or by AttemptFailed, also after a Stop; LoadKey, DropKey, DropWitness and Join
// are answered once by their events.
type (
	// Synthesise makes the witness of a partition. The attempt's number names
	// the witness from now on.
	Synthesise struct {
		Attempt   int
		Job       string
		Partition int
	}
	// Prove proves a witness on a device whose copy of the key is resident.
	Prove struct {
		Attempt   int
		Job       string
		Partition int
		Witness   int
		Device    string
		Key       string
	}
	// Check verifies the proof that attempt Proof made.
	Check struct {
		Attempt   int
		Job       string
		Partition int
		Witness   int
		Proof     int
		Device    string // that made the proof
	}
	// Stop asks an attempt to end early; its answer will not be used.
	Stop struct{ Attempt int }
	// DropWitness frees a witness that is no longer needed.
	DropWitness struct {
		Witness int
		Job     string
	}
	// Forget frees the decoded request: no partition is being made.
	Forget struct{ Job string }
	// LoadKey makes a key resident on a device.
	LoadKey struct{ Key, Device string }
	// DropKey frees it.
	DropKey struct{ Key, Device string }
	// Reopen closes what is left of a device, opens it anew and tests it. Nothing
	// runs on it, and it has no keys. Answered once by Reopened.
	Reopen struct{ Device string }
	// Abandon gives up a device that does not answer: what waits for it is to end
	// with an error, what it holds is held until the process ends. No answer.
	Abandon struct{ Device, Why string }
	// Join puts the proofs of all partitions together.
	Join struct{ Job string }
	// Finish ends a job: the one terminal state.
	Finish struct {
		Job     string
		State   job.State
		Failure job.Failure
		Text    string
	}
	// DeviceChanged tells of a device that entered or left service.
	DeviceChanged struct {
		Device string
		State  DeviceState
		Reason string
	}
)

func (Synthesise) command()    {}
func (Prove) command()         {}
func (Check) command()         {}
func (Stop) command()          {}
func (DropWitness) command()   {}
func (Forget) command()        {}
func (LoadKey) command()       {}
func (DropKey) command()       {}
func (Reopen) command()        {}
func (Abandon) command()       {}
func (Join) command()          {}
func (Finish) command()        {}
func (DeviceChanged) command() {}
