package server_test

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc"

	"cuzk/api/cuzkv1"
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
