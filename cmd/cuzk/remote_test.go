package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// selfSigned writes cert.pem and key.pem for 127.0.0.1 into a folder.
func selfSigned(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(key)
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
			os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestProveOverTLS: a daemon with certificates on both sides is reached with the right
// ones, and says then that it has no key; else nothing gets through.
func TestProveOverTLS(t *testing.T) {
	dir, other, addr := selfSigned(t), selfSigned(t), freePort(t)
	t.Setenv("CUZK_DAEMON_TLS_CERT", dir+"/cert.pem")
	t.Setenv("CUZK_DAEMON_TLS_KEY", dir+"/key.pem")
	t.Setenv("CUZK_DAEMON_TLS_CLIENT_CA", dir+"/cert.pem")
	cmd, log := startProcess(t, t.TempDir(), "daemon", "--listen", addr, "--admin-listen=", "--state-dir", filepath.Join(dir, "state"), "--params-dir", dir, "--insecure")
	ask := func(flags ...string) (int, string) {
		code, _, errOut := runIn(append([]string{"prove", "../../testdata/requests/winning-2KiB.json", "-o", filepath.Join(dir, "proof"), "--daemon", "https://" + addr}, flags...)...)
		return code, errOut
	}
	shown := []string{"--tls-cert", dir + "/cert.pem", "--tls-key", dir + "/key.pem"}
	known := []string{"--tls-ca", dir + "/cert.pem"}
	code, text := 0, "refused"
	for tries := 0; tries < 200 && strings.Contains(text, "refused"); tries++ {
		time.Sleep(20 * time.Millisecond)
		code, text = ask(append(shown, known...)...)
	}
	if code != exitKey || !strings.Contains(text, "winning-2KiB: key missing") {
		t.Errorf("%d %s", code, text)
	}
	for want, flags := range map[string][]string{
		"certificate signed by unknown authority": shown,
		"is a daemon at https://":                 known,
		"signed by unknown authority":             {"--tls-ca", other + "/cert.pem"},
	} {
		if code, text := ask(flags...); code != exitInternal || !strings.Contains(text, want) {
			t.Errorf("%v: %d %s, want %s", flags, code, text, want)
		}
	}
	for _, flags := range [][]string{{"--tls-ca", dir + "/none"}, {"--tls-ca", dir + "/key.pem"}, {"--tls-cert", dir + "/cert.pem"}} {
		if code, text := ask(flags...); code != exitBadInput || !strings.Contains(text, "--tls-c") {
			t.Errorf("%v: %d %s", flags, code, text)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if t.Failed() {
		t.Logf("%s", log)
	}
}
