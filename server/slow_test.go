package server_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"cuzk/api/cuzkv1"
	"cuzk/server"
)

// TestCallersWhoTakeNoAnswerHurtNobody: some send requests and never ask for the
// answer, others open the stream of events and read no byte of it. Others are
// served meanwhile, and the daemon ends in time.
func TestCallersWhoTakeNoAnswerHurtNobody(t *testing.T) {
	d := boot(t, func(d *daemon) { d.unit = time.Millisecond })
	for n := range 20 {
		s, err := d.conn().NewStream(d.ctx(), &grpc.StreamDesc{ClientStreams: true}, cuzkv1.ProvingEngine_Prove_FullMethodName)
		must(t, err)
		must(t, s.SendMsg(&cuzkv1.ProveRequest{Submit: porep(1000, uint64(n), "")}))
		must(t, s.CloseSend())
		conn, err := net.Dial("tcp", d.at.Admin.String())
		must(t, err)
		defer conn.Close()
		must(t, conn.(*net.TCPConn).SetReadBuffer(4096))
		_, err = io.WriteString(conn, "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		must(t, err)
	}
	prove(t, d.ctx(), d.dial(), winning(1))
	start := time.Now()
	d.stop()
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the end took %v", took)
	}
}

// TestOneByteTooMany: a message that is announced as 256 MiB and a byte is refused
// by its length, before any of it is received; one of 256 MiB is waited for.
func TestOneByteTooMany(t *testing.T) {
	d := boot(t, func(d *daemon) { d.cfg.ReceiveTimeout = 300 * time.Millisecond })
	var h2 http.Protocols
	h2.SetUnencryptedHTTP2(true)
	c := http.Client{Transport: &http.Transport{Protocols: &h2}}
	defer c.CloseIdleConnections()
	for size, want := range map[uint32]codes.Code{server.MaxMessage: codes.DeadlineExceeded, server.MaxMessage + 1: codes.ResourceExhausted, 1<<32 - 1: codes.ResourceExhausted} {
		body, w := io.Pipe()
		go func() { _, _ = w.Write(binary.BigEndian.AppendUint32([]byte{0}, size)) }()
		r, err := http.NewRequestWithContext(d.ctx(), http.MethodPost, "http://"+d.at.Listen.String()+cuzkv1.ProvingEngine_Prove_FullMethodName, body)
		must(t, err)
		r.Header.Set("Content-Type", "application/grpc")
		r.Header.Set("Te", "trailers")
		resp, err := c.Do(r)
		must(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		w.Close()
		got := resp.Trailer.Get("Grpc-Status") + resp.Header.Get("Grpc-Status")
		if got != fmt.Sprint(int(want)) {
			t.Errorf("announced %d bytes: status %s, want %v", size, got, want)
		}
	}
	prove(t, d.ctx(), d.dial(), winning(1))
}

// TestGarbageAtTheAdminListener: it is answered with an error or closed, and the
// pages stay.
func TestGarbageAtTheAdminListener(t *testing.T) {
	d := boot(t, nil)
	for _, text := range []string{"\x16\x03\x01\x02\x00\x01", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /" + string(make([]byte, 70<<10)), "POST /api/jobs/%2e%2e/cancel HTTP/1.1\r\nHost: localhost\r\n\r\n", "\r\n\r\n"} {
		conn, err := net.Dial("tcp", d.at.Admin.String())
		must(t, err)
		_, _ = io.WriteString(conn, text)
		must(t, conn.(*net.TCPConn).CloseWrite())
		must(t, conn.SetReadDeadline(time.Now().Add(5*time.Second)))
		if _, err := io.Copy(io.Discard, conn); err != nil && isTimeout(err) {
			t.Errorf("%.20q: still open", text)
		}
		conn.Close()
	}
	r, err := http.Get("http://" + d.at.Admin.String() + "/healthz")
	must(t, err)
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Errorf("healthz: %s", r.Status)
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}
