package daemon

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cuzk/api/cuzkv1"
)

// filesEnv is the number of open files that a child may have.
const filesEnv = "CUZK_TEST_FILES"

func init() {
	text := os.Getenv(filesEnv)
	if text == "" {
		return
	}
	var n uint64
	if _, err := fmt.Sscan(text, &n); err != nil {
		panic(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n}); err != nil {
		panic(err)
	}
}

// TestTooFewOpenFiles: connections take every file that a daemon may open. While
// they do, callers hear of it or wait; when they have gone it proves again, and
// nothing that was accepted is lost.
func TestTooFewOpenFiles(t *testing.T) {
	needKey(t, "window-2KiB")
	state := t.TempDir()
	t.Setenv(filesEnv, "64")
	kill := spawn(t, state)
	defer kill()
	path := filepath.Join(state, "sock")
	client := dialUnix(t, path)
	first := anotherFake(1)
	submit := func(m *cuzkv1.SubmitProofRequest) (id string, err error) {
		a, err := client.SubmitProof(t.Context(), m)
		return a.GetJobId(), err
	}
	id, err := submit(first)
	for err != nil { // it is starting
		time.Sleep(10 * time.Millisecond)
		id, err = submit(first)
	}
	all := connections(t, path, 100)
	for n := range uint64(20) {
		if _, err := submit(anotherFake(n + 2)); err != nil {
			if c := status.Code(err); c != codes.ResourceExhausted && c != codes.Unavailable {
				t.Errorf("a refusal that does not say that it passes: %v", err)
			}
			t.Logf("with no files left: %v", err)
			break
		}
	}
	for _, c := range all {
		c.Close()
	}
	answered(t, client, id)
	for n := range uint64(200) { // the store is looked at again within seconds
		if id, err = submit(anotherFake(n + 100)); err == nil {
			answered(t, client, id)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("with files again: %v", err)
}

// connections opens some and keeps them; nobody needs to answer.
func connections(t *testing.T, path string, n int) (all []net.Conn) {
	t.Helper()
	for range n {
		c, err := net.DialTimeout("unix", path, time.Second)
		if err != nil {
			t.Log(err)
			break
		}
		_, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
		all = append(all, c)
	}
	return all
}

func answered(t *testing.T, client cuzkv1.ProvingEngineClient, id string) {
	t.Helper()
	got, err := client.AwaitProof(t.Context(), &cuzkv1.AwaitProofRequest{JobId: id})
	if err != nil || got.GetStatus() != cuzkv1.AwaitProofResponse_COMPLETED {
		t.Fatalf("job %s: %v, %v", id, got, err)
	}
}
