package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cuzk/api/cuzkv1"
	"cuzk/client"
	"cuzk/groth16"
	"cuzk/job"
	"cuzk/kind"
	"cuzk/server"
	"cuzk/srs"
)

// submitted is a request as the contract's message. id may be empty.
func submitted(r *kind.Request, id string) *cuzkv1.SubmitProofRequest {
	number := int32(0)
	for _, w := range kind.Wires() {
		if w.Name == r.Kind {
			number = w.Number
		}
	}
	return &cuzkv1.SubmitProofRequest{RequestId: id, ProofKind: cuzkv1.ProofKind(number), SectorSize: r.SectorSize, RegisteredProof: r.RegisteredProof,
		VanillaProof: r.VanillaProof, VanillaProofs: r.VanillaProofs, SectorNumber: r.SectorNumber, MinerId: r.MinerID, Randomness: r.Randomness,
		PartitionIndex: r.PartitionIndex, CommROld: r.CommROld, CommRNew: r.CommRNew, CommDNew: r.CommDNew}
}

// remoteError gives a daemon's failures the classes of our own.
func remoteError(err error, addr string) error {
	var f *client.Failed
	switch {
	case errors.As(err, &f):
	case client.Busy(err):
		return hint(spoken(err), "is a daemon at %s? \"cuzk status\" shows what it does", addr)
	default:
		return spoken(err)
	}
	text := errors.New(f.Message)
	switch job.Failure(f.Class) {
	case job.BadInput, job.Unsatisfied:
		return classed{text, kind.ErrBadInput}
	case job.NoKey:
		return classed{text, srs.ErrCorrupt}
	case job.BadProof:
		return fmt.Errorf("%w: %w", groth16.ErrSelfCheck, text)
	}
	return fmt.Errorf("%s: %w", f.Class, text)
}

// spoken is a gRPC error without what only programs want to know.
func spoken(err error) error {
	var s interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &s) || errors.Is(err, context.Canceled) || s.GRPCStatus().Code() == codes.Canceled {
		return err
	}
	text := s.GRPCStatus().Message()
	if _, quoted, ok := strings.Cut(text, "connection error: desc = "); ok {
		if plain, err := strconv.Unquote(quoted); err == nil {
			return fmt.Errorf("no daemon answers: %s", strings.TrimPrefix(plain, "transport: Error while dialing: "))
		}
	}
	return fmt.Errorf("the daemon: %s", text)
}

// remoteFlags say which daemon is to prove.
type remoteFlags struct {
	addr, id               string
	token                  string // file
	tlsCA, tlsCert, tlsKey string // files in PEM form
}

func (f *remoteFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.addr, "daemon", "", "have the daemon at this `address` prove: host:port, unix:///path or https://host:port")
	f.registerSecrets(cmd)
	cmd.Flags().StringVar(&f.id, "id", "", "with --daemon: request `id`; the same id and request is one job, a proof that is there already is fetched")
}

// registerSecrets adds what a daemon may want to see of a caller, and the caller of it.
func (f *remoteFlags) registerSecrets(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.token, "token-file", "", "`file` with the daemon's secret, if it wants one")
	cmd.Flags().StringVar(&f.tlsCA, "tls-ca", "", "PEM `file` of the authorities for the daemon's certificate (default those of the system)")
	cmd.Flags().StringVar(&f.tlsCert, "tls-cert", "", "PEM `file` of the certificate to show, if the daemon wants one")
	cmd.Flags().StringVar(&f.tlsKey, "tls-key", "", "PEM `file` of its private key")
}

// options reads the files that the flags name.
func (f *remoteFlags) options() (o client.Options, err error) {
	if o.Token, err = readToken(f.token); err != nil || f.tlsCA == "" && f.tlsCert == "" && f.tlsKey == "" {
		return o, err
	}
	o.TLS = &tls.Config{}
	if f.tlsCA != "" {
		text, err := os.ReadFile(f.tlsCA)
		if err != nil {
			return o, badInput(fmt.Errorf("--tls-ca: %w", err))
		}
		if o.TLS.RootCAs = x509.NewCertPool(); !o.TLS.RootCAs.AppendCertsFromPEM(text) {
			return o, badInput(fmt.Errorf("--tls-ca: no certificate in %s", f.tlsCA))
		}
	}
	if f.tlsCert != "" || f.tlsKey != "" {
		cert, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
		if err != nil {
			return o, badInput(fmt.Errorf("--tls-cert and --tls-key: %w", err))
		}
		o.TLS.Certificates = []tls.Certificate{cert}
	}
	return o, nil
}

// check refuses what does not go together.
func (f *remoteFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"token-file", "id", "tls-ca", "tls-cert", "tls-key"} {
		if f.addr == "" && cmd.Flags().Changed(name) {
			return usageError("--%s goes with --daemon", name)
		}
	}
	for _, name := range []string{"params-dir", "circuit-dir", "cache-dir", "insecure", "c1", "snap", "fixed-r", "fixed-s"} {
		if f.addr != "" && cmd.Flags().Changed(name) {
			return usageError("--daemon goes with a REQUEST, not with --%s: the daemon has its own keys and randomness", name)
		}
	}
	return nil
}

// requestID names the request for a partition.
func (f *remoteFlags) requestID(k int) string {
	if k == 0 {
		return f.id
	}
	return fmt.Sprintf("%s-%d", f.id, k)
}

// readToken reads the secret of a file; empty without one.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	token, err := server.ReadToken(path)
	if err != nil {
		return "", badInput(fmt.Errorf("token file: %w", err))
	}
	return token, nil
}

// A daemon that was there may be away for a restart, for awayLimit; it is looked for
// every awayPause. A request that it does not take is sent again, resends times.
const (
	awayLimit = 2 * time.Minute
	awayPause = 500 * time.Millisecond
	resends   = 5
)

// proveOne asks for one proof, under an id, so that asking again is the same job.
func (f *remoteFlags) proveOne(ctx context.Context, u *ui, c *client.Client, m *cuzkv1.SubmitProofRequest) ([]byte, error) {
	if _, err := c.API().GetStatus(ctx, &cuzkv1.GetStatusRequest{}); err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		p, err := c.Prove(ctx, m)
		if status.Code(err) != codes.Unavailable || try == resends || !f.answers(ctx, u, c) {
			return p.Proof, err
		}
	}
}

// answers waits a moment, and then until the daemon answers. It tells whether it does.
func (f *remoteFlags) answers(ctx context.Context, u *ui, c *client.Client) bool {
	for away := time.Duration(0); ; away += awayPause {
		time.Sleep(awayPause)
		_, err := c.API().GetStatus(ctx, &cuzkv1.GetStatusRequest{})
		if err == nil || ctx.Err() != nil || away > awayLimit {
			return err == nil
		}
		if away == 0 {
			u.note("the daemon at %s is away; the same request is sent again when it is back", f.addr)
		}
	}
}

// prove has the daemon prove a request file. Partitions of a WindowPoSt are
// asked for one by one, as the contract wants it.
func (f *remoteFlags) prove(ctx context.Context, st *stages, path string) (proof []byte, err error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	data, err := readSmall(nil, path)
	if err != nil {
		return nil, err
	}
	rs, err := kind.WireRequests(data, func(name string) ([]byte, error) { return readSmall(nil, filepath.Join(filepath.Dir(path), name)) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.id == "" {
		f.id = "prove-" + rand.Text()
	}
	c, err := client.Dial(f.addr, o)
	if err != nil {
		return nil, usageError("--daemon: %v", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	err = st.watch().Run("daemon", func() (string, error) {
		for k, r := range rs {
			p, err := f.proveOne(ctx, st.u, c, submitted(r, f.requestID(k)))
			if err != nil {
				return "", remoteError(err, f.addr)
			}
			proof = append(proof, p...)
		}
		return fmt.Sprintf("%d bytes from %s", len(proof), f.addr), nil
	})
	return proof, err
}
