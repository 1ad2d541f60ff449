// Package client talks to a daemon in Go: it dials, submits, awaits, and turns
// answers into errors that a program can branch on.
//
// The wire contract is cuzk.v1 (package cuzkv1, frozen). Whatever the client
// sends can be sent again: a request with the same id and content is one job.
//
// Invariants:
//
//  1. A proof is returned only if the daemon says COMPLETED.
//  2. Everything else is an error: [*Failed] for a job that ended without a proof,
//     a gRPC status for a request that was refused or a daemon that is away.
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"cuzk/api/cuzkv1"
)

// MaxMessage is the largest message in bytes, in both directions.
const MaxMessage = 256 << 20

// Options say how to reach a daemon.
type Options struct {
	TLS   *tls.Config // nil: plaintext
	Token string      // sent with every call; empty: none
}

// Client is a connection to a daemon. It is safe for concurrent use.
type Client struct {
	conn *grpc.ClientConn
	api  cuzkv1.ProvingEngineClient
}

// Dial prepares a connection to host:port, http://host:port, https://host:port
// or unix:///path. It does not wait for the daemon: the first call does.
func Dial(addr string, o Options) (*Client, error) {
	target := strings.TrimPrefix(addr, "http://")
	if t, ok := strings.CutPrefix(addr, "https://"); ok {
		target = t
		if o.TLS == nil {
			o.TLS = &tls.Config{}
		}
	}
	if !strings.HasPrefix(target, "unix:") {
		target = "dns:///" + target
	}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
	}
	if o.TLS != nil {
		opts[0] = grpc.WithTransportCredentials(credentials.NewTLS(o.TLS))
	}
	if o.Token != "" {
		opts = append(opts, grpc.WithUnaryInterceptor(withToken(o.Token)))
	}
	conn, err := grpc.NewClient(target, opts...)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	return &Client{conn: conn, api: cuzkv1.NewProvingEngineClient(conn)}, nil
}

// withToken also works over unix sockets and loopback without TLS, where gRPC's
// own credentials refuse to send secrets.
func withToken(token string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return call(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token), method, req, reply, conn, opts...)
	}
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// API is the contract's client, for what has no method here.
func (c *Client) API() cuzkv1.ProvingEngineClient { return c.api }

// Failed is the error for a job that ended without a proof.
type Failed struct {
	Job     string
	Status  cuzkv1.AwaitProofResponse_Status
	Class   string // bad-input, device, self-check, ...; see package job
	Message string
}

// Error is the daemon's message.
func (f *Failed) Error() string {
	return fmt.Sprintf("job %s %s: %s", f.Job, strings.ToLower(f.Status.String()), f.Message)
}

// Permanent tells whether the same request must fail again.
func (f *Failed) Permanent() bool { return f.Class == "bad-input" || f.Class == "unsatisfied" }

// ErrPending: the job had not ended when the time to wait was over.
var ErrPending = errors.New("job has not ended yet")

// Result is a proof and how long it took.
type Result struct {
	Job                                 string
	Proof                               []byte // 192 bytes a partition
	Queue, Key, Synthesis, Prove, Total time.Duration
}

// Prove submits a request and waits for its proof.
func (c *Client) Prove(ctx context.Context, r *cuzkv1.SubmitProofRequest) (Result, error) {
	m, err := c.api.Prove(ctx, &cuzkv1.ProveRequest{Submit: r})
	if err != nil {
		return Result{}, fmt.Errorf("prove: %w", err)
	}
	return result(m.GetResult())
}

// Submit submits a request and returns the job's id.
func (c *Client) Submit(ctx context.Context, r *cuzkv1.SubmitProofRequest) (id string, err error) {
	m, err := c.api.SubmitProof(ctx, r)
	if err != nil {
		return "", fmt.Errorf("submit: %w", err)
	}
	return m.GetJobId(), nil
}

// Await waits for a job's end; at most for a time, if that is not 0, and then
// fails with ErrPending.
func (c *Client) Await(ctx context.Context, id string, atMost time.Duration) (Result, error) {
	m, err := c.api.AwaitProof(ctx, &cuzkv1.AwaitProofRequest{JobId: id, TimeoutMs: uint64(max(atMost, 0).Milliseconds())})
	if err != nil {
		return Result{}, fmt.Errorf("await job %s: %w", id, err)
	}
	return result(m)
}

// notEnded begins the message of a wait that ran out of time; the contract has
// no other sign that tells it from a job that missed its deadline.
const notEnded = "not finished within timeout_ms"

func result(m *cuzkv1.AwaitProofResponse) (Result, error) {
	ms := func(n uint64) time.Duration { return time.Duration(n) * time.Millisecond }
	switch {
	case m.GetStatus() == cuzkv1.AwaitProofResponse_COMPLETED:
		return Result{Job: m.GetJobId(), Proof: m.GetProof(), Queue: ms(m.GetQueueWaitMs()), Key: ms(m.GetSrsLoadMs()),
			Synthesis: ms(m.GetSynthesisMs()), Prove: ms(m.GetGpuComputeMs()), Total: ms(m.GetTotalMs())}, nil
	case m.GetStatus() == cuzkv1.AwaitProofResponse_TIMEOUT && strings.HasPrefix(m.GetErrorMessage(), notEnded):
		return Result{}, fmt.Errorf("job %s: %w", m.GetJobId(), ErrPending)
	}
	class, text, ok := strings.Cut(m.GetErrorMessage(), ": ")
	if !ok {
		class, text = "", m.GetErrorMessage()
	}
	return Result{}, &Failed{Job: m.GetJobId(), Status: m.GetStatus(), Class: class, Message: text}
}

// Cancel ends a job and tells whether it was still alive.
func (c *Client) Cancel(ctx context.Context, id string) (bool, error) {
	m, err := c.api.CancelProof(ctx, &cuzkv1.CancelProofRequest{JobId: id})
	if err != nil {
		return false, fmt.Errorf("cancel job %s: %w", id, err)
	}
	return m.GetWasRunning(), nil
}

// Busy tells whether an error means that the same request may be sent again
// later: the daemon is away, ending, or full.
func Busy(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted:
		return true
	}
	return false
}
