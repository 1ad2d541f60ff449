// Command gen writes the field headers and compiles every kernel to PTX.
//
// It is run by go generate in package kernels, with that package's folder as
// working directory.
package main

import (
	"fmt"
	"os"
)

func main() {
	for _, p := range []prime{fp, fr} {
		if err := os.WriteFile("field/"+p.name+"_ops.cuh", []byte(fieldHeader(p)), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
