package server

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"cuzk/api/cuzkv1"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/job"
)

// service implements the calls of the contract.
type service struct {
	cuzkv1.UnimplementedProvingEngineServer
	engine         *engine.Engine
	metrics        Metrics
	kinds          map[cuzkv1.ProofKind]string
	lanes          lanes
	receiveTimeout time.Duration
	cancelOnLeave  bool
}

func newService(cfg Config, e *engine.Engine) *service {
	if cfg.MaxReceiving <= 0 {
		cfg.MaxReceiving = 8
	}
	if cfg.ReceiveTimeout <= 0 {
		cfg.ReceiveTimeout = 5 * time.Minute
	}
	s := &service{engine: e, metrics: cfg.Metrics, kinds: map[cuzkv1.ProofKind]string{}, lanes: newLanes(cfg.MaxReceiving),
		receiveTimeout: cfg.ReceiveTimeout, cancelOnLeave: cfg.CancelOnLeave}
	for _, k := range e.Kinds() {
		s.kinds[cuzkv1.ProofKind(k.Number())] = k.Name()
	}
	return s
}

// SubmitProof accepts a job.
func (s *service) SubmitProof(ctx context.Context, m *cuzkv1.SubmitProofRequest) (*cuzkv1.SubmitProofResponse, error) {
	a, err := s.submit(ctx, m)
	if err != nil {
		return nil, err
	}
	return &cuzkv1.SubmitProofResponse{JobId: a.ID, QueuePosition: uint32(a.Position)}, nil
}

func (s *service) submit(ctx context.Context, m *cuzkv1.SubmitProofRequest) (engine.Accepted, error) {
	kind, ok := s.kinds[m.GetProofKind()]
	if !ok {
		return engine.Accepted{}, status.Errorf(codes.InvalidArgument, "proof_kind %d: this daemon does not prove it", m.GetProofKind())
	}
	o := engine.Options{RequestID: m.GetRequestId(), Class: class(m.GetPriority())}
	if at, ok := ctx.Deadline(); ok && s.cancelOnLeave {
		o.Deadline = at
	}
	a, err := s.engine.Submit(ctx, request(kind, m), o)
	received(ctx)
	return a, statusOf(err)
}

// Prove accepts a job and waits for its end.
func (s *service) Prove(ctx context.Context, m *cuzkv1.ProveRequest) (*cuzkv1.ProveResponse, error) {
	if m.GetSubmit() == nil {
		return nil, status.Error(codes.InvalidArgument, "submit is missing")
	}
	a, err := s.submit(ctx, m.GetSubmit())
	if err != nil {
		return nil, err
	}
	m.Reset() // the payload is in the spool; waiting may take long
	j, err := s.engine.Wait(ctx, a.ID)
	if err != nil {
		if ctx.Err() != nil && s.cancelOnLeave {
			s.engine.Abandon(a.ID)
		}
		return nil, statusOf(err)
	}
	mark(ctx, j)
	return &cuzkv1.ProveResponse{Result: response(j)}, nil
}

// mark adds to the trailer what the contract has no field for.
func mark(ctx context.Context, j job.Job) {
	md := metadata.Pairs("cuzk-job", j.ID)
	if j.Result.Failure != "" {
		md.Set("cuzk-failure", string(j.Result.Failure))
	}
	_ = grpc.SetTrailer(ctx, md) // there is no trailer when the stream has gone
}

// AwaitProof waits for a job's end. When timeout_ms passes before, the reply has
// status TIMEOUT and the job goes on.
func (s *service) AwaitProof(ctx context.Context, m *cuzkv1.AwaitProofRequest) (*cuzkv1.AwaitProofResponse, error) {
	wait, cancel := ctx, context.CancelFunc(func() {})
	if n := m.GetTimeoutMs(); n > 0 {
		wait, cancel = context.WithTimeout(ctx, time.Duration(min(n, 1<<40))*time.Millisecond)
	}
	defer cancel()
	j, err := s.engine.Wait(wait, m.GetJobId())
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return &cuzkv1.AwaitProofResponse{JobId: m.GetJobId(), Status: cuzkv1.AwaitProofResponse_TIMEOUT,
			ErrorMessage: "not finished within timeout_ms; the job goes on and can be awaited again"}, nil
	}
	if err != nil {
		return nil, statusOf(err)
	}
	mark(ctx, j)
	return response(j), nil
}

// CancelProof ends a job that lives.
func (s *service) CancelProof(ctx context.Context, m *cuzkv1.CancelProofRequest) (*cuzkv1.CancelProofResponse, error) {
	was, err := s.engine.Cancel(ctx, m.GetJobId(), "cancelled by CancelProof")
	if err != nil {
		return nil, statusOf(err)
	}
	return &cuzkv1.CancelProofResponse{WasRunning: was}, nil
}

// GetMetrics returns the metrics as text.
func (s *service) GetMetrics(context.Context, *cuzkv1.GetMetricsRequest) (*cuzkv1.GetMetricsResponse, error) {
	if s.metrics == nil {
		return nil, status.Error(codes.Unimplemented, "this daemon keeps no metrics")
	}
	text, err := s.metrics.Text()
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &cuzkv1.GetMetricsResponse{PrometheusText: text}, nil
}

// PreloadSRS loads a key and returns when a device has it.
func (s *service) PreloadSRS(ctx context.Context, m *cuzkv1.PreloadSrsRequest) (*cuzkv1.PreloadSrsResponse, error) {
	start := time.Now()
	already, err := s.engine.Preload(ctx, m.GetCircuitId())
	if err != nil {
		return nil, statusOf(err)
	}
	return &cuzkv1.PreloadSrsResponse{AlreadyLoaded: already, LoadTimeMs: ms(time.Since(start))}, nil
}

// EvictSRS drops a key.
func (s *service) EvictSRS(ctx context.Context, m *cuzkv1.EvictSrsRequest) (*cuzkv1.EvictSrsResponse, error) {
	was, freed, err := s.engine.Evict(ctx, m.GetCircuitId())
	if err != nil {
		return nil, statusOf(err)
	}
	return &cuzkv1.EvictSrsResponse{WasLoaded: was, FreedBytes: uint64(freed)}, nil
}

// GetStatus looks at devices, keys and queues.
func (s *service) GetStatus(ctx context.Context, _ *cuzkv1.GetStatusRequest) (*cuzkv1.GetStatusResponse, error) {
	st, err := s.engine.Status(ctx)
	if err != nil {
		return nil, statusOf(err)
	}
	m := &cuzkv1.GetStatusResponse{LoadedSrs: keyRows(&st), UptimeSeconds: uint64(st.Uptime / time.Second),
		PinnedMemoryBytes: uint64(st.Pinned.Used), PinnedMemoryLimitBytes: uint64(st.Pinned.Limit)}
	for i, d := range st.Devices {
		m.Gpus = append(m.Gpus, deviceRow(uint32(i), d, st.KindOf))
	}
	for _, k := range st.Kinds {
		m.Queues = append(m.Queues, &cuzkv1.QueueStatus{ProofKind: k.Name, Pending: uint32(k.Pending), InProgress: uint32(k.InProgress)})
		m.TotalProofsCompleted += k.Completed
		m.TotalProofsFailed += k.Failed + k.TimedOut
	}
	return m, nil
}

// deviceRow is the row of one physical device, the processor among them.
func deviceRow(n uint32, d sched.DeviceView, kinds map[string]string) *cuzkv1.GPUStatus {
	row := &cuzkv1.GPUStatus{Ordinal: n, Name: d.Name, VramTotalBytes: uint64(d.Pool.Limit), VramFreeBytes: uint64(d.Pool.Free())}
	if row.Name == "" {
		row.Name = d.ID
	}
	if d.State != sched.InService {
		row.Name += " (" + string(d.State) + ")"
	}
	if len(d.Work) > 0 {
		row.CurrentJobId = d.Work[0].Job
		row.CurrentProofKind = kinds[row.CurrentJobId]
	}
	return row
}

// keyRows has one row a key: hot if a device has it, else as the files are; keys
// that are nowhere have none.
func keyRows(st *engine.Status) []*cuzkv1.SRSStatus {
	tiers := map[string]cuzkv1.SRSStatus_Tier{"warm": cuzkv1.SRSStatus_WARM, "cold": cuzkv1.SRSStatus_COLD}
	var rows []*cuzkv1.SRSStatus
	at := map[string]*cuzkv1.SRSStatus{}
	for _, k := range st.Known {
		if t, ok := tiers[k.Tier]; ok {
			at[k.ID] = &cuzkv1.SRSStatus{CircuitId: k.ID, Tier: t, SizeBytes: uint64(k.Bytes)}
			rows = append(rows, at[k.ID])
		}
	}
	for _, v := range st.View.Keys {
		if v.State != "loaded" {
			continue
		}
		row := at[v.Key]
		if row == nil {
			row = &cuzkv1.SRSStatus{CircuitId: v.Key, SizeBytes: uint64(v.Need.Host + v.Need.Pinned + v.Need.Device)}
			at[v.Key] = row
			rows = append(rows, row)
		}
		row.Tier = cuzkv1.SRSStatus_HOT
		row.RefCount += uint32(v.Refs)
	}
	return rows
}
