package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cuzk/api/cuzkv1"
	"cuzk/client"
	"cuzk/internal/testutil"
	"cuzk/job"
	"cuzk/server"
)

func TestAddressesThatOthersReachAreRefused(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:9820", "example.org:9820", "9820", "unix://relative", "unix:///etc/passwd"} {
		d := &daemon{t: t, dir: t.TempDir(), unit: time.Millisecond}
		if err := server.Run(t.Context(), server.Config{Listen: addr}, d.engine()); err == nil {
			t.Errorf("%s was accepted", addr)
		}
		d.store.Close()
		d.engine()
		if err := server.Run(t.Context(), server.Config{Listen: "127.0.0.1:0", Admin: addr}, d.engine()); err == nil {
			t.Errorf("%s was accepted for the admin page", addr)
		}
		d.store.Close()
	}
}

func TestExplicitPlaintextIsAccepted(t *testing.T) {
	d := boot(t, func(d *daemon) { d.cfg.Listen, d.cfg.AllowPlaintext = "0.0.0.0:0", true })
	prove(t, d.ctx(), d.dial(), winning(1))
}

func TestPortInUse(t *testing.T) {
	d := boot(t, nil)
	e := &daemon{t: t, dir: t.TempDir(), unit: time.Millisecond}
	err := server.Run(t.Context(), server.Config{Listen: d.at.Listen.String()}, e.engine())
	if err == nil || !strings.Contains(err.Error(), "another daemon") {
		t.Fatalf("got %v", err)
	}
	e.store.Close()
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "cuzk.sock")
	d := boot(t, func(d *daemon) { d.cfg.Listen = "unix://" + path })
	c, err := client.Dial("unix://"+path, client.Options{})
	d.must(err)
	defer c.Close()
	if _, err := c.Prove(d.ctx(), winning(1)); err != nil {
		t.Fatal(err)
	}
	e := &daemon{t: t, dir: t.TempDir(), unit: time.Millisecond}
	if err := server.Run(t.Context(), server.Config{Listen: "unix://" + path}, e.engine()); err == nil {
		t.Fatal("a second daemon took the socket")
	}
	e.store.Close()
	d.stop()
	l, err := net.Listen("unix", path) // a socket that a killed daemon left behind
	d.must(err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	d.start()
	d.stop()
}

func TestToken(t *testing.T) {
	d := boot(t, func(d *daemon) { d.cfg.Token = "s3cret" })
	for _, token := range []string{"", "wrong", "s3cret "} {
		c, err := client.Dial(d.at.Listen.String(), client.Options{Token: token})
		d.must(err)
		defer c.Close()
		if _, err := c.Prove(d.ctx(), winning(1)); status.Code(err) != codes.Unauthenticated {
			t.Errorf("token %q: %v", token, err)
		}
		if _, err := c.API().GetStatus(d.ctx(), &cuzkv1.GetStatusRequest{}); status.Code(err) != codes.Unauthenticated {
			t.Errorf("token %q: %v", token, err)
		}
	}
	c, err := client.Dial(d.at.Listen.String(), client.Options{Token: "s3cret"})
	d.must(err)
	defer c.Close()
	if _, err := c.Prove(d.ctx(), winning(1)); err != nil {
		t.Error(err)
	}
}

// TestTokenIsReadAgain: another secret in the file takes the place of the first, an
// unusable file does not.
func TestTokenIsReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(path, []byte("first\n"), 0o600))
	d := boot(t, func(d *daemon) { d.cfg.TokenFile = path })
	status := func(token string) codes.Code {
		c, err := client.Dial(d.at.Listen.String(), client.Options{Token: token})
		must(t, err)
		defer c.Close()
		_, err = c.API().GetStatus(d.ctx(), &cuzkv1.GetStatusRequest{})
		return status.Code(err)
	}
	for _, step := range []struct{ file, holds, not string }{
		{"second secret\n", "second secret", "first"}, {" \n", "second secret", ""},
	} {
		must(t, os.WriteFile(path, []byte(step.file), 0o600))
		time.Sleep(server.LookAtFiles + 100*time.Millisecond)
		if got := status(step.holds); got != codes.OK {
			t.Errorf("%.8q in the file: %q gets %v", step.file, step.holds, got)
		}
		if got := status(step.not); got != codes.Unauthenticated {
			t.Errorf("%.8q in the file: %q gets %v", step.file, step.not, got)
		}
	}
	// Without a secret nothing starts.
	must(t, os.WriteFile(path, nil, 0o600))
	if _, err := server.ReadToken(path); err == nil {
		t.Error("an empty file is a secret")
	}
}

// authority makes certificates for tests.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.issue("ca", nil)
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// issue writes NAME.pem and NAME.key.
func (a *authority) issue(name string, parent *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(a.t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: parent == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	by, signer := c, key
	if parent != nil {
		by, signer = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, signer)
	must(a.t, err)
	raw, err := x509.MarshalECPrivateKey(key)
	must(a.t, err)
	must(a.t, os.WriteFile(a.path(name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(a.t, os.WriteFile(a.path(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}), 0o600))
	made, err := x509.ParseCertificate(der)
	must(a.t, err)
	return made, key
}

func (a *authority) client(name string) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	cfg := &tls.Config{RootCAs: pool}
	if name != "" {
		cert, err := tls.LoadX509KeyPair(a.path(name+".pem"), a.path(name+".key"))
		must(a.t, err)
		cfg.Certificates = []tls.Certificate{cert}
	}
	return cfg
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMutualTLS(t *testing.T) {
	a := newAuthority(t)
	a.issue("server", a)
	a.issue("friend", a)
	stranger := newAuthority(t)
	stranger.issue("stranger", stranger)
	d := boot(t, func(d *daemon) {
		d.cfg.Listen = "0.0.0.0:0" // permitted: it is protected
		d.cfg.CertFile, d.cfg.KeyFile, d.cfg.ClientCAFile = a.path("server.pem"), a.path("server.key"), a.path("ca.pem")
	})
	addr := fmt.Sprintf("127.0.0.1:%d", d.at.Listen.(*net.TCPAddr).Port)
	foreign := a.client("")
	foreign.Certificates = stranger.client("stranger").Certificates
	for name, cfg := range map[string]*tls.Config{"plaintext": nil, "no certificate": a.client(""), "a stranger's": foreign} {
		c, err := client.Dial(addr, client.Options{TLS: cfg})
		must(t, err)
		defer c.Close()
		if _, err := c.Prove(d.ctx(), winning(1)); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := client.Dial(addr, client.Options{TLS: a.client("friend")})
	must(t, err)
	defer c.Close()
	if _, err := c.Prove(d.ctx(), winning(1)); err != nil {
		t.Error(err)
	}
}

// TestCertificateIsRenewedWithoutRestart: new connections get the new one, with
// new authorities; connections that are there stay. A file that cannot be used
// changes nothing.
func TestCertificateIsRenewedWithoutRestart(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.issue("server", a)
	a.issue("friend", a)
	d := boot(t, func(d *daemon) {
		d.cfg.CertFile, d.cfg.KeyFile, d.cfg.ClientCAFile = a.path("server.pem"), a.path("server.key"), a.path("ca.pem")
	})
	dial := func(cfg *tls.Config) *client.Client {
		c, err := client.Dial(d.at.Listen.String(), client.Options{TLS: cfg})
		must(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	status := func(c *client.Client) error {
		_, err := c.API().GetStatus(d.ctx(), &cuzkv1.GetStatusRequest{})
		return err
	}
	first := dial(a.client("friend"))
	must(t, status(first))

	b := newAuthority(t)
	b.issue("server", b)
	b.issue("friend", b)
	copyOver := func(from *authority, names ...string) {
		for _, name := range names {
			raw, err := os.ReadFile(from.path(name))
			must(t, err)
			must(t, os.WriteFile(a.path(name), raw, 0o600))
		}
	}
	renewed := b.client("friend")
	copyOver(b, "server.pem") // without its key
	time.Sleep(server.LookAtFiles + 100*time.Millisecond)
	if err := status(dial(renewed)); err == nil {
		t.Fatal("half of a pair was served")
	}
	old := a.client("friend")
	must(t, status(dial(old)))
	copyOver(b, "server.key", "ca.pem")
	time.Sleep(server.LookAtFiles + 100*time.Millisecond)
	must(t, status(dial(renewed)))
	if err := status(dial(old)); err == nil {
		t.Error("the old authority's client was let in")
	}
	must(t, status(first))
}

func TestBadTLSFilesAreSaid(t *testing.T) {
	a := newAuthority(t)
	a.issue("server", a)
	must(t, os.WriteFile(a.path("empty.pem"), nil, 0o600))
	for name, cfg := range map[string]server.Config{
		"no key":    {CertFile: a.path("server.pem")},
		"wrong key": {CertFile: a.path("server.pem"), KeyFile: a.path("ca.key")},
		"ca alone":  {ClientCAFile: a.path("ca.pem")},
		"empty ca":  {CertFile: a.path("server.pem"), KeyFile: a.path("server.key"), ClientCAFile: a.path("empty.pem")},
	} {
		cfg.Listen = "127.0.0.1:0"
		d := &daemon{t: t, dir: t.TempDir(), unit: time.Millisecond}
		if err := server.Run(t.Context(), cfg, d.engine()); err == nil || !strings.Contains(err.Error(), "tls_") {
			t.Errorf("%s: %v", name, err)
		}
		d.store.Close()
	}
}

func TestGarbageAndIdleConnectionsHurtNobody(t *testing.T) {
	d := boot(t, nil)
	n := 1000
	if testing.Short() {
		n = 200
	}
	for i := range n {
		conn, err := net.Dial("tcp", d.at.Listen.String())
		must(t, err)
		defer conn.Close()
		switch i % 4 {
		case 1:
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		case 2:
			_, _ = conn.Write(make([]byte, 4096))
		case 3:
			_, _ = io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
		}
	}
	prove(t, d.ctx(), d.dial(), winning(1))
}

func TestSlowCallersDoNotBlockOthersForLong(t *testing.T) {
	d := boot(t, func(d *daemon) { d.cfg.MaxReceiving, d.cfg.ReceiveTimeout = 2, 200*time.Millisecond })
	ctx, cancel := context.WithCancel(d.ctx())
	defer cancel()
	var slow sync.WaitGroup
	for range 4 { // all places are taken by callers who send nothing
		s, err := d.conn().NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, cuzkv1.ProvingEngine_Prove_FullMethodName)
		must(t, err)
		slow.Go(func() {
			if err := s.RecvMsg(new(cuzkv1.ProveResponse)); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("slow caller got %v", err)
			}
		})
	}
	prove(t, d.ctx(), d.dial(), winning(1))
	slow.Wait()
}

// TestSmallRequestsPassLargeOnes: while large ones are decoded, and others wait for
// that, a WinningPoSt is received and proved.
func TestSmallRequestsPassLargeOnes(t *testing.T) {
	d := boot(t, func(d *daemon) { d.cfg.MaxReceiving, d.decode = 2, time.Minute })
	ctx, cancel := context.WithCancel(d.ctx())
	var large sync.WaitGroup
	for n := range 3 {
		m := porep(1000, uint64(n), strings.Repeat(" ", 2<<20))
		large.Go(func() {
			if _, err := d.dial().SubmitProof(ctx, m); err == nil {
				t.Error("it was decoded: the test shows nothing")
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	prove(t, d.ctx(), d.dial(), winning(1))
	cancel()
	large.Wait()
}

func TestTwoMessagesInAUnaryCall(t *testing.T) {
	d := boot(t, nil)
	s, err := d.conn().NewStream(d.ctx(), &grpc.StreamDesc{ClientStreams: true}, cuzkv1.ProvingEngine_SubmitProof_FullMethodName)
	must(t, err)
	for range 2 {
		must(t, s.SendMsg(winning(1)))
	}
	must(t, s.CloseSend())
	if err := s.RecvMsg(new(cuzkv1.SubmitProofResponse)); status.Code(err) != codes.Internal {
		t.Fatalf("got %v", err)
	}
	s, err = d.conn().NewStream(d.ctx(), &grpc.StreamDesc{ClientStreams: true}, cuzkv1.ProvingEngine_SubmitProof_FullMethodName)
	must(t, err)
	must(t, s.CloseSend())
	if err := s.RecvMsg(new(cuzkv1.SubmitProofResponse)); status.Code(err) != codes.Internal {
		t.Fatalf("no message: got %v", err)
	}
}

func TestLargestMessages(t *testing.T) {
	testutil.Slow(t, "messages of 256 MiB")
	d := boot(t, nil)
	c := d.dial(grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(300 << 20)))
	m := porep(1, 1, "")
	m.VanillaProof = make([]byte, 256<<20-200)
	prove(t, d.ctx(), c, m)
	m.VanillaProof = make([]byte, 256<<20+1)
	if _, err := c.Prove(d.ctx(), &cuzkv1.ProveRequest{Submit: m}); status.Code(err) != codes.ResourceExhausted {
		t.Fatalf("256 MiB and a byte: %v", err)
	}
}

func TestDrainAnswersEveryCaller(t *testing.T) {
	d := boot(t, nil)
	c := d.dial()
	running := make(chan error, 1)
	go func() {
		_, err := c.Prove(d.ctx(), &cuzkv1.ProveRequest{Submit: porep(1000, 1, "")})
		running <- err
	}()
	for d.devices[0].Proofs()+d.devices[1].Proofs() == 0 {
		time.Sleep(time.Millisecond)
	}
	d.stop()
	if err := <-running; err != nil {
		t.Errorf("the running job's caller got %v", err)
	}
	if _, err := c.Prove(d.ctx(), &cuzkv1.ProveRequest{Submit: winning(1)}); status.Code(err) != codes.Unavailable {
		t.Errorf("a caller after the end got %v", err)
	}
	d.start()
	prove(t, d.ctx(), d.dial(), porep(1000, 1, ""))
	if n := d.devices[0].Proofs() + d.devices[1].Proofs(); n != 10 {
		t.Errorf("%d proofs were made", n)
	}
}

func TestAbortEndsAtOnce(t *testing.T) {
	abort, second := context.WithCancel(context.Background())
	d := boot(t, func(d *daemon) { d.cfg.Abort, d.cfg.DrainTimeout = abort, time.Hour })
	c := d.dial()
	m := porep(1000, 1, "")
	m.VanillaProof = []byte("fake: prove=1h")
	waiting := make(chan error, 1)
	go func() {
		_, err := c.Prove(d.ctx(), &cuzkv1.ProveRequest{Submit: m})
		waiting <- err
	}()
	for d.devices[0].Proofs()+d.devices[1].Proofs() == 0 {
		time.Sleep(time.Millisecond)
	}
	go func() { time.Sleep(50 * time.Millisecond); second() }()
	d.stop()
	if err := <-waiting; status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "goes on after its next start") {
		t.Errorf("the waiting caller got %v", err)
	}
	e := &daemon{t: t, dir: d.dir, unit: time.Millisecond}
	_ = e.engine()
	if live, err := e.store.Live(d.ctx()); err != nil || len(live) != 1 || live[0].State != job.Live {
		t.Errorf("stored: %v, %v", live, err)
	}
}
