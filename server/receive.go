package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"cuzk/api/cuzkv1"
)

// On the wire a unary call is a stream of one message each way. The two calls
// that carry payloads are registered as streams, so that this code decides when
// a message is read: a few at a time, the rest waits in the callers' hands.

// register adds the service, with SubmitProof and Prove as streams. Both
// directions are marked as streaming: otherwise gRPC takes them for unary calls
// and passes the interceptors by.
func register(g *grpc.Server, s *service) {
	d := cuzkv1.ProvingEngine_ServiceDesc
	d.Methods = slices.DeleteFunc(slices.Clone(d.Methods), func(m grpc.MethodDesc) bool {
		return m.MethodName == "SubmitProof" || m.MethodName == "Prove"
	})
	d.Streams = append(slices.Clone(d.Streams),
		grpc.StreamDesc{StreamName: "SubmitProof", ClientStreams: true, ServerStreams: true, Handler: func(_ any, ss grpc.ServerStream) error {
			return answer(s, ss, new(cuzkv1.SubmitProofRequest), s.SubmitProof)
		}},
		grpc.StreamDesc{StreamName: "Prove", ClientStreams: true, ServerStreams: true, Handler: func(_ any, ss grpc.ServerStream) error {
			return answer(s, ss, new(cuzkv1.ProveRequest), s.Prove)
		}})
	g.RegisterService(&d, s)
}

// lanes bound how many requests are in memory. A request is received on one of
// twice as many lanes as large ones may be worked on, so that a small one, which
// may be a WinningPoSt, does not wait behind large ones that are being decoded.
type lanes struct {
	receive, large chan struct{}
}

func newLanes(n int) lanes {
	return lanes{receive: make(chan struct{}, 2*n), large: make(chan struct{}, n)}
}

// smallRequest is the size in bytes below which a request gives its lane back as
// soon as it is received: all but PoReps and updates.
const smallRequest = 1 << 20

// take waits for a place; leave gives it back.
func take(ctx context.Context, lane chan struct{}) (leave func(), err error) {
	select {
	case lane <- struct{}{}:
		return sync.OnceFunc(func() { <-lane }), nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

type releaseKey struct{}

// answer receives the one message of a call, runs it and sends its reply. The
// places of a large request are kept until the call has put the payload away (see
// received).
func answer[Req, Resp proto.Message](s *service, ss grpc.ServerStream, req Req, call func(context.Context, Req) (Resp, error)) error {
	ctx := ss.Context()
	leave, err := take(ctx, s.lanes.receive)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.receive(ss, req); err != nil {
		return err
	}
	release := leave
	if proto.Size(req) < smallRequest {
		leave()
	} else {
		done, err := take(ctx, s.lanes.large)
		if err != nil {
			return err
		}
		defer done()
		release = func() { done(); leave() }
	}
	resp, err := call(context.WithValue(ctx, releaseKey{}, release), req)
	if err != nil {
		return err
	}
	return ss.SendMsg(resp)
}

// received gives the places of a request back: the payload is out of memory.
func received(ctx context.Context) {
	if f, ok := ctx.Value(releaseKey{}).(func()); ok {
		f()
	}
}

// receive reads exactly one message, within the time that a request may take.
func (s *service) receive(ss grpc.ServerStream, req proto.Message) error {
	done := make(chan error, 1)
	go func() {
		err := ss.RecvMsg(req)
		if err == nil {
			if err = ss.RecvMsg(new(cuzkv1.GetStatusRequest)); errors.Is(err, io.EOF) {
				err = nil
			} else if err == nil {
				err = status.Error(codes.Internal, "more than one message in a unary call")
			}
		}
		done <- err
	}()
	t := time.NewTimer(s.receiveTimeout)
	defer t.Stop()
	select {
	case err := <-done:
		if errors.Is(err, io.EOF) {
			return status.Error(codes.Internal, "no message in a unary call")
		}
		return err
	case <-t.C:
		return status.Error(codes.DeadlineExceeded, fmt.Sprintf("the request did not arrive within %v", s.receiveTimeout))
	}
}
