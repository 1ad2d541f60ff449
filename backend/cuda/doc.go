// Package cuda proves on NVIDIA devices: it owns devices, their memory and the
// launches of package kernels, and gives package groth16 the sums of a proof.
//
// It follows the same formulas as backend/cpu, with the transforms and sums laid
// out for a GPU (kernels/README.md). The driver is reached through package
// cuzk/cuda alone.
//
// Invariants:
//
//  1. Everything that touches a device runs on its owner's thread; a value of
//     type *cuda.Context never leaves the function it was given to.
//  2. Vectors in device memory hold field elements in the memory form of
//     gnark-crypto: little-endian limbs, Montgomery form, unless a name says
//     plain (the integer itself). Between passes of a transform they may be in
//     [0, 2r).
//  3. [Device.SelfTest] compares the field and transform kernels with
//     gnark-crypto on this device with this driver, [Device.LargeCheck] those of
//     2^27 points; whatever a kernel does, every proof is verified before it
//     leaves (package groth16).
//  4. A prover takes no more device memory than its plan, which is made before
//     anything is allocated. Whether a key stays on the device or is streamed from
//     the host changes no bit of any sum.
package cuda
