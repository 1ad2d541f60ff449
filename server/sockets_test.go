package server

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestSocketsAreLeft: who connects after a listener was closed is served by the next
// one, at the same address; a socket's file is removed by the last.
func TestSocketsAreLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for _, address := range []string{"127.0.0.1:0", "unix://" + path} {
		l, err := listen(address, false, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		at := l.Addr()
		left := &Sockets{}
		if err := left.keep(address, l); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil || !left.Has(address) || left.Has("127.0.0.1:1") {
			t.Fatalf("%v, %v", err, left.All())
		}
		c, err := net.Dial(at.Network(), at.String())
		if err != nil {
			t.Fatalf("%s: nobody listens meanwhile: %v", address, err)
		}
		defer c.Close()
		next, err := listen(address, false, "", left)
		if err != nil || next.Addr().String() != at.String() || left.Has(address) {
			t.Fatalf("%v, %v", err, next)
		}
		served, err := next.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if err := served.Close(); err != nil {
			t.Error(err)
		}
		if err := next.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket's file is left: %v", err)
	}
}

// TestWhatIsLeftMustFit: protection is asked for again, and a file that is no socket
// is refused and closed.
func TestWhatIsLeftMustFit(t *testing.T) {
	file := func() *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	left := &Sockets{}
	f := file()
	left.Put("127.0.0.1:1", f)
	if l, err := listen("127.0.0.1:1", false, "", left); err == nil || left.Has("127.0.0.1:1") {
		t.Errorf("a file became %v", l)
	}
	if err := f.Close(); err == nil {
		t.Error("the file was left open")
	}
	left.Put("0.0.0.0:1", file())
	if l, err := listen("0.0.0.0:1", false, "x", left); err == nil {
		t.Errorf("unprotected: %v", l)
	}
	if err := left.Close(); err != nil || left.Has("0.0.0.0:1") {
		t.Errorf("close: %v", err)
	}
}
