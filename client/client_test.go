package client

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"cuzk/api/cuzkv1"
)

// script answers every call with what it was given.
type script struct {
	cuzkv1.UnimplementedProvingEngineServer
	reply *cuzkv1.AwaitProofResponse
	err   error
	token []string
}

func (s *script) Prove(ctx context.Context, _ *cuzkv1.ProveRequest) (*cuzkv1.ProveResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	s.token = md.Get("authorization")
	return &cuzkv1.ProveResponse{Result: s.reply}, s.err
}

func (s *script) AwaitProof(context.Context, *cuzkv1.AwaitProofRequest) (*cuzkv1.AwaitProofResponse, error) {
	return s.reply, s.err
}

func dial(t *testing.T, s *script, o Options) *Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	cuzkv1.RegisterProvingEngineServer(g, s)
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	c, err := Dial("http://"+l.Addr().String(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestOnlyCompletedIsAProof(t *testing.T) {
	s := &script{reply: &cuzkv1.AwaitProofResponse{JobId: "j", Status: cuzkv1.AwaitProofResponse_COMPLETED, Proof: []byte{1}, TotalMs: 1500}}
	c := dial(t, s, Options{Token: "t"})
	r, err := c.Prove(t.Context(), &cuzkv1.SubmitProofRequest{})
	if err != nil || len(r.Proof) != 1 || r.Job != "j" || r.Total != 1500*time.Millisecond {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(s.token) != 1 || s.token[0] != "Bearer t" {
		t.Fatalf("token %v", s.token)
	}
	for st := range cuzkv1.AwaitProofResponse_Status_name {
		s.reply = &cuzkv1.AwaitProofResponse{JobId: "j", Status: cuzkv1.AwaitProofResponse_Status(st), Proof: []byte{1}, ErrorMessage: "bad-input: no"}
		_, err := c.Prove(t.Context(), &cuzkv1.SubmitProofRequest{})
		var f *Failed
		if completed := s.reply.Status == cuzkv1.AwaitProofResponse_COMPLETED; completed != (err == nil) || !completed && !errors.As(err, &f) {
			t.Errorf("status %v: %v", s.reply.Status, err)
		}
		if f != nil && (f.Class != "bad-input" || f.Message != "no" || !f.Permanent()) {
			t.Errorf("failure %+v", f)
		}
	}
	s.reply = nil
	if _, err := c.Prove(t.Context(), &cuzkv1.SubmitProofRequest{}); err == nil {
		t.Error("an empty reply is no proof")
	}
}

func TestWaitThatRanOutIsPending(t *testing.T) {
	s := &script{reply: &cuzkv1.AwaitProofResponse{Status: cuzkv1.AwaitProofResponse_TIMEOUT, ErrorMessage: notEnded + "; the job goes on"}}
	c := dial(t, s, Options{})
	if _, err := c.Await(t.Context(), "j", time.Second); !errors.Is(err, ErrPending) {
		t.Fatal(err)
	}
	s.reply.ErrorMessage = "deadline: not finished at its deadline"
	var f *Failed
	if _, err := c.Await(t.Context(), "j", time.Second); !errors.As(err, &f) || f.Class != "deadline" {
		t.Fatal(err)
	}
}

func TestBusyMeansTryAgain(t *testing.T) {
	s := &script{}
	c := dial(t, s, Options{})
	for code, want := range map[codes.Code]bool{codes.Unavailable: true, codes.ResourceExhausted: true, codes.InvalidArgument: false, codes.FailedPrecondition: false} {
		s.err = status.Error(code, "no")
		if _, err := c.Prove(t.Context(), &cuzkv1.SubmitProofRequest{}); Busy(err) != want {
			t.Errorf("%v: busy %v", err, !want)
		}
	}
	gone, err := Dial("unix:///nowhere/socket", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	if _, err := gone.Prove(t.Context(), &cuzkv1.SubmitProofRequest{}); !Busy(err) {
		t.Errorf("a daemon that is away: %v", err)
	}
}
