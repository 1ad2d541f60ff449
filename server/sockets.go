package server

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// Sockets are listening sockets that one process leaves to the next, by the address
// that [Config] has for them: whoever connects meanwhile waits and is not refused.
// A nil Sockets has none.
type Sockets struct{ files map[string]*os.File }

// Put adds a socket.
func (s *Sockets) Put(address string, f *os.File) {
	if s.files == nil {
		s.files = map[string]*os.File{}
	}
	s.files[address] = f
}

// Has tells whether there is a socket for an address.
func (s *Sockets) Has(address string) bool { return s != nil && s.files[address] != nil }

// All lists the sockets by address. They stay owned by s.
func (s *Sockets) All() map[string]*os.File { return s.files }

// Close closes those that are left.
func (s *Sockets) Close() (err error) {
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	s.files = nil
	return err
}

// take makes a listener of the socket for an address.
func (s *Sockets) take(address string) (net.Listener, error) {
	f := s.files[address]
	delete(s.files, address)
	l, err := net.FileListener(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("take over the socket of %s: %w", address, err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(true)
	}
	return l, nil
}

// keep leaves a listener's socket to the next process: closing the listener then
// neither closes the socket nor removes its file.
func (s *Sockets) keep(address string, l net.Listener) error {
	var f *os.File
	err := fmt.Errorf("%T cannot be left to another process", l)
	switch l := l.(type) {
	case *net.TCPListener:
		f, err = l.File()
	case *net.UnixListener:
		if f, err = l.File(); err == nil {
			l.SetUnlinkOnClose(false)
		}
	}
	if err != nil {
		return fmt.Errorf("keep the socket of %s: %w", address, err)
	}
	s.Put(address, f)
	return nil
}
