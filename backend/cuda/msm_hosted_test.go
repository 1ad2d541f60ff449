package cuda

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	gpu "cuzk/cuda"
)

// hosted is a device made of a program: the kernels compiled for the CPU
// (kernels/msm/hosted). It runs every launch at once.
type hosted struct {
	in    io.WriteCloser
	out   *bufio.Reader
	fact  facts
	calls map[string]int
}

var hostedProgram = sync.OnceValues(buildHosted)

// hostedDir is where the program lies, if one was built.
var hostedDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if hostedDir != "" {
		os.RemoveAll(hostedDir)
	}
	os.Exit(code)
}

// buildHosted compiles the kernels with the host's headers laid over the
// device's and returns the program's path. The compiler writes the file that is
// run: one written by this process could still be open in a child that another
// test starts, and would be busy.
func buildHosted() (string, error) {
	dir, err := os.MkdirTemp("", "hosted")
	if err != nil {
		return "", err
	}
	hostedDir = dir
	if err := hostedSources(dir); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "device")
	cmd := exec.Command("clang++-19", "-std=c++17", "-O2", "-w", "-I"+filepath.Join(dir, "field"),
		filepath.Join(dir, "msm/hosted/main.cc"), "-o", program)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile the kernels for the host: %w\n%s", err, out)
	}
	return program, nil
}

func hostedSources(dir string) error {
	const root = "../../kernels"
	for _, f := range []string{"field", "curve", "msm"} {
		if err := os.CopyFS(filepath.Join(dir, f), os.DirFS(filepath.Join(root, f))); err != nil {
			return err
		}
	}
	for from, to := range map[string]string{
		"base.cuh": "field", "field.h": "field", "fp_ops.cuh": "field", "fr_ops.cuh": "field", "warp.cuh": "msm", "lazy.cuh": "curve", "wide.cuh": "curve", "copy.cuh": "msm",
	} {
		data, err := os.ReadFile(filepath.Join(root, "msm/hosted", from))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, to, from), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// newHosted starts the program, or skips where there is no compiler.
func newHosted(t testing.TB) *Summer {
	t.Helper()
	if _, err := exec.LookPath("clang++-19"); err != nil {
		t.Skip("the kernels are compiled for the host by clang++-19, which is not installed")
	}
	program, err := hostedProgram()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	d := &hosted{in: in, out: bufio.NewReader(out), calls: map[string]int{}}
	d.fact = facts{sms: 2, shared: 99 << 10, opsBlocks: map[string]int{"g1_ops": 1, "g2_ops": 1}, depth: 3, async: true}
	return &Summer{dev: d}
}

func (h *hosted) send(c byte, words ...uint64) error {
	b := []byte{c}
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	_, err := h.in.Write(b)
	return err
}

func (h *hosted) alloc(bytes int64) (gpu.Memory, error) {
	if err := h.send('a', uint64(bytes)); err != nil {
		return gpu.Memory{}, err
	}
	var b [8]byte
	_, err := io.ReadFull(h.out, b[:])
	return gpu.Memory{Ptr: binary.LittleEndian.Uint64(b[:]), Bytes: bytes}, err
}

func (h *hosted) free(m gpu.Memory) error { return h.send('f', m.Ptr) }

func (h *hosted) do(fn func(queue) error) error         { return fn(h) }
func (h *hosted) wait(ctx context.Context, _ int) error { return ctx.Err() }
func (h *hosted) facts() facts                          { return h.fact }
func (h *hosted) mark(int) error                        { return nil }
func (h *hosted) stage(string) error                    { return nil }

func (h *hosted) fill(m gpu.Memory, v byte) error {
	if err := h.send('s', m.Ptr, uint64(m.Bytes)); err != nil {
		return err
	}
	_, err := h.in.Write([]byte{v})
	return err
}

func (h *hosted) upload(dst gpu.Memory, src []byte) error {
	if int64(len(src)) > dst.Bytes {
		return fmt.Errorf("upload %d bytes into %d", len(src), dst.Bytes)
	}
	if err := h.send('w', dst.Ptr, uint64(len(src))); err != nil {
		return err
	}
	_, err := h.in.Write(src)
	return err
}

func (h *hosted) download(dst []byte, src gpu.Memory) error {
	if int64(len(dst)) > src.Bytes {
		return fmt.Errorf("download %d bytes from %d", len(dst), src.Bytes)
	}
	if err := h.send('r', src.Ptr, uint64(len(dst))); err != nil {
		return err
	}
	_, err := io.ReadFull(h.out, dst)
	return err
}

func (h *hosted) launch(kernel string, s shape, args ...any) error {
	h.calls[kernel]++
	b := append([]byte{'l'}, make([]byte, 32)...)
	copy(b[1:], kernel)
	for _, v := range []int{s.grid, s.rows, s.block, s.shared, len(args)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	for _, a := range args {
		var w uint64
		switch a := a.(type) {
		case gpu.Memory:
			w = a.Ptr
		case uint32:
			w = uint64(a)
		case uint64:
			w = a
		default:
			return fmt.Errorf("argument of type %T", a)
		}
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	if _, err := h.in.Write(b); err != nil {
		return err
	}
	var ok [1]byte
	if _, err := io.ReadFull(h.out, ok[:]); err != nil {
		return fmt.Errorf("launch %s: %w", kernel, err)
	}
	if ok[0] != 1 {
		return fmt.Errorf("launch %s: no such kernel or shape %+v", kernel, s)
	}
	return nil
}
