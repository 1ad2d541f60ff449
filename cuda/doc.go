// Package cuda binds the part of the NVIDIA driver API and of NVML that a prover
// needs, without cgo: libcuda.so.1 and libnvidia-ml.so.1 are opened at run time,
// so one binary runs on machines with and without a GPU. It knows no mathematics.
//
// Source: CUDA Driver API and NVML reference manuals. Names of calls in errors
// are the driver's.
//
// Invariants:
//
//  1. A context belongs to one [Owner], whose goroutine stays on its OS thread;
//     every call that needs the context is made inside [Owner.Do]. The driver's
//     current context is a property of the thread.
//  2. Asynchronous copies take [HostMemory] (pinned, outside the Go heap) only;
//     Go slices are copied synchronously.
//  3. Every allocation is counted; [Balance] is zero when all was released.
//  4. No environment variable selects or renumbers devices: the variables that
//     would are removed from the C environment before the driver starts. A
//     device is named by its UUID.
//  5. An owner that does not answer can be given up ([Owner.Abandon]): nobody waits
//     for it then, and what it holds is held until the process ends.
//  6. No driver on the machine is the error [ErrNoDriver], never a crash.
package cuda
