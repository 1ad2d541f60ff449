package budget

import "time"

// Placement is what proving takes on a device.
type Placement struct {
	Able   bool
	Key    Need // while the key is resident
	Prove  Need // while one partition is proved
	AtOnce int  // partitions at a time with one copy of the key; 0: as many as the device takes
}

// Work is what the partitions of a job take.
type Work struct {
	Decoded  Bytes // host, for the decoded request while any partition is being made
	Synth    Bytes // host, while one witness is being made, beyond the witness
	Witness  Bytes // host, until the proof has been checked
	CPU, GPU Placement
	Own      map[string]Placement // of single devices by id, before those of their class
	Usual    Usual
}

// Usual are the times that stages usually take; 0 where nothing is known.
type Usual struct {
	Synthesise, ProveCPU, ProveGPU, Check, LoadKey time.Duration
}
