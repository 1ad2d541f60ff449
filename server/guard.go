package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"runtime/debug"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// guards stand before every call: the token, and a net for panics.
type guards struct {
	token func() string // empty: no token is asked for
	log   *slog.Logger
}

// admit checks the token in constant time.
func (g guards) admit(ctx context.Context) error {
	token := g.token()
	if token == "" {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	for _, v := range md.Get("authorization") {
		secret, ok := strings.CutPrefix(v, "Bearer ")
		a, b := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(token))
		if ok && subtle.ConstantTimeCompare(a[:], b[:]) == 1 {
			return nil
		}
	}
	return status.Error(codes.Unauthenticated, "this daemon wants a token: send the metadata 'authorization: Bearer TOKEN'")
}

func (g guards) catch(method string, err *error) {
	if r := recover(); r != nil {
		g.log.Error("panic in a call", "method", method, "panic", r, "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "panic in the daemon: %v; its log has the place", r)
	}
}

func (g guards) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
	defer g.catch(info.FullMethod, &err)
	if err := g.admit(ctx); err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func (g guards) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer g.catch(info.FullMethod, &err)
	if err := g.admit(ss.Context()); err != nil {
		return err
	}
	return next(srv, ss)
}
