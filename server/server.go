// Package server is the daemon's outside: the inherited gRPC service
// cuzk.v1.ProvingEngine, and the admin listener with metrics, health and status.
//
// Behaviour follows the wire contract (proto/cuzk/v1/proving.proto) as its
// clients rely on it:
//
//  1. A proof that failed is an OK reply with status FAILED and a message; an
//     error status means that no proof was tried. The class of a failure stands
//     first in the message and in the trailer cuzk-failure.
//  2. The same request id and content is one job; a retry joins it or gets its
//     proof. The same id with other content is another job.
//  3. Messages of 256 MiB pass in both directions. Large requests are received a
//     few at a time and leave memory for the spool at once.
//  4. Who can connect is decided before anything is served: loopback and unix
//     sockets by default; other addresses need TLS or an explicit setting.
//  5. A caller who goes away loses nothing but its answer.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"cuzk/api/cuzkv1"
	"cuzk/engine"
	"cuzk/event"
)

// MaxMessage is the largest message in bytes, in both directions, as the
// contract's clients set it.
const MaxMessage = 256 << 20

// Config says where the server listens and who may connect.
type Config struct {
	Listen         string // host:port or unix:///path
	Admin          string // the same, for HTTP; empty for none
	CertFile       string // PEM; with KeyFile turns TLS on for Listen
	KeyFile        string
	ClientCAFile   string // PEM; when set, clients must show a certificate of these
	Token          string // when set, calls must carry "authorization: Bearer TOKEN"
	TokenFile      string // file with the token, read again when it changes; instead of Token
	AllowPlaintext bool   // permit addresses that others can reach without TLS

	MaxReceiving   int           // large requests worked on at a time, and as many more received; 0 is 8
	ReceiveTimeout time.Duration // for one request to arrive; 0 is 5 minutes
	CancelOnLeave  bool          // cancel a job when the last caller that waits for it goes away
	DrainTimeout   time.Duration // for jobs that have begun, after the context is done

	Metrics Metrics         // for GetMetrics and /metrics; nil: there are none
	Events  *event.Hub      // for the admin listener's stream; may be nil
	Web     http.Handler    // shown at the admin listener's root; may be nil
	Logger  *slog.Logger    // nil: none
	Abort   context.Context // when done, Run ends without draining; may be nil
	Restart <-chan struct{} // when closed, Run ends soon: a new process is to take over; may be nil
	Sockets *Sockets        // of the process before; after Restart, those for the next. Nil: none
	Ready   func(Addresses) // called once both listeners are open; may be nil
}

// Metrics gives all metrics in Prometheus text form.
type Metrics interface{ Text() (string, error) }

// Addresses are where the server can be reached, after ports were chosen.
type Addresses struct{ Listen, Admin net.Addr }

// Run serves until the context is done, then drains the engine and closes it.
// It returns when all calls have been answered, or at the latest after the drain
// timeout and a few seconds.
func Run(ctx context.Context, cfg Config, e *engine.Engine) error {
	s, err := open(cfg, e)
	if err != nil {
		return errors.Join(err, e.Close(ctx))
	}
	if cfg.Ready != nil {
		cfg.Ready(s.addresses())
	}
	return s.run(ctx)
}

type server struct {
	cfg    Config
	engine *engine.Engine
	log    *slog.Logger
	lis    net.Listener
	admin  net.Listener // nil for none
	grpc   *grpc.Server
	http   *http.Server
	health *health.Server
}

func open(cfg Config, e *engine.Engine) (*server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	tlsConfig, err := loadTLS(cfg)
	if err != nil {
		return nil, err
	}
	token, err := loadToken(cfg)
	if err != nil {
		return nil, err
	}
	s := &server{cfg: cfg, engine: e, log: cfg.Logger, health: health.NewServer()}
	if s.lis, err = listen(cfg.Listen, tlsConfig != nil || cfg.AllowPlaintext, "tls_cert and tls_key", cfg.Sockets); err != nil {
		return nil, fmt.Errorf("listen for clients: %w", err)
	}
	if cfg.Admin != "" {
		if s.admin, err = listen(cfg.Admin, cfg.AllowPlaintext, "a proxy that has TLS", cfg.Sockets); err != nil {
			return nil, errors.Join(fmt.Errorf("listen for the admin page: %w", err), s.lis.Close())
		}
	}
	s.grpc = s.newGRPC(tlsConfig, token)
	s.http = &http.Server{Handler: s.adminHandler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	return s, nil
}

func (s *server) newGRPC(tlsConfig *tls.Config, token func() string) *grpc.Server {
	guard := guards{token: token, log: s.log}
	opts := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage), grpc.MaxConcurrentStreams(4096),
		grpc.ChainUnaryInterceptor(guard.unary), grpc.ChainStreamInterceptor(guard.stream),
		grpc.ConnectionTimeout(20 * time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 2 * time.Minute, Timeout: 30 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	if tlsConfig != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(tlsConfig)))
	}
	g := grpc.NewServer(opts...)
	register(g, newService(s.cfg, s.engine))
	healthpb.RegisterHealthServer(g, s.health)
	for _, name := range []string{"", cuzkv1.ProvingEngine_ServiceDesc.ServiceName} {
		s.health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	reflection.Register(g)
	return g
}

func (s *server) addresses() Addresses {
	a := Addresses{Listen: s.lis.Addr()}
	if s.admin != nil {
		a.Admin = s.admin.Addr()
	}
	return a
}

func (s *server) run(ctx context.Context) error {
	var g errgroup.Group
	failed := make(chan struct{}, 2)
	serve := func(what string, f func() error) {
		g.Go(func() error {
			if err := f(); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, grpc.ErrServerStopped) {
				failed <- struct{}{}
				return fmt.Errorf("serve %s: %w", what, err)
			}
			return nil
		})
	}
	serve("clients", func() error { return s.grpc.Serve(s.lis) })
	if s.admin != nil {
		serve("the admin page", func() error { return s.http.Serve(s.admin) })
	}
	select {
	case <-ctx.Done():
		s.drain(ctx)
	case <-failed:
		s.drain(ctx)
	case <-s.abort():
	case <-s.cfg.Restart:
		s.settle(ctx)
	}
	return errors.Join(s.shutdown(ctx), g.Wait())
}

func (s *server) abort() <-chan struct{} {
	if s.cfg.Abort == nil {
		return nil
	}
	return s.cfg.Abort.Done()
}

// closeTimeout bounds what happens after draining: workers stop, answers leave.
const closeTimeout = 10 * time.Second

// drain refuses new jobs and waits for those that have begun.
func (s *server) drain(ctx context.Context) {
	s.health.Shutdown()
	within, cancel := s.within(ctx, s.cfg.DrainTimeout)
	defer cancel()
	if err := s.engine.Drain(within); err != nil {
		s.log.Warn("drain ended early; unfinished jobs go on at the next start", "reason", err.Error())
	}
}

// settleTimeout is how long stages that run may take to end before a restart: a
// partition takes seconds on a card.
const settleTimeout = 2 * time.Minute

// settle takes new jobs in, starts nothing, and waits for what runs.
func (s *server) settle(ctx context.Context) {
	within, cancel := s.within(ctx, settleTimeout)
	defer cancel()
	if err := s.engine.Settle(within); err != nil {
		s.log.Warn("what runs is cut off; its partitions are made again after the restart", "reason", err.Error())
	}
	if err := s.leaveSockets(); err != nil {
		s.log.Warn("who connects during the restart is refused", "reason", err.Error())
	}
}

// leaveSockets keeps what others connect to, if somebody wants it.
func (s *server) leaveSockets() error {
	if s.cfg.Sockets == nil {
		return nil
	}
	err := s.cfg.Sockets.keep(s.cfg.Listen, s.lis)
	if s.admin != nil {
		err = errors.Join(err, s.cfg.Sockets.keep(s.cfg.Admin, s.admin))
	}
	return err
}

// within is a context that lasts so long, or until the end is not waited for.
func (s *server) within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(limit, 0))
	go func() {
		select {
		case <-s.abort():
			cancel()
		case <-within.Done():
		}
	}()
	return within, cancel
}

// shutdown ends everything: waiting callers get their answers or learn that the job
// goes on later.
func (s *server) shutdown(ctx context.Context) error {
	s.health.Shutdown()
	closing, cancelClose := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancelClose()
	err := s.engine.Close(closing)
	stopped := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-closing.Done():
		s.grpc.Stop()
	}
	return errors.Join(err, s.http.Close())
}
