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

type releaseKey struct{}

// answer receives the one message of a call, runs it and sends its reply. The
// slot for receiving is kept until the call has put the payload away (see
// received).
func answer[Req, Resp proto.Message](s *service, ss grpc.ServerStream, req Req, call func(context.Context, Req) (Resp, error)) error {
	ctx := ss.Context()
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	release := sync.OnceFunc(func() { <-s.slots })
	defer release()
	if err := s.receive(ss, req); err != nil {
		return err
	}
	resp, err := call(context.WithValue(ctx, releaseKey{}, release), req)
	if err != nil {
		return err
	}
	return ss.SendMsg(resp)
}

// received gives the slot for receiving back: the payload is out of memory.
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
