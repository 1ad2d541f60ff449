package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"

	gpu "cuzk/cuda"
	"cuzk/r1cs"
	"cuzk/srs"
)

// RawSink takes the points of a key in the form and the order of a .params file:
// h, l, a and b of G1, then b of G2. [srs.Writer] is one.
type RawSink interface {
	// Raw takes whole points of one query. The bytes are the caller's again when it
	// returns.
	Raw(points []byte) error
}

// filePiece is how many points of G1 are made at a time; of G2 half as many, so that
// a piece has the same bytes. A multiple of 64.
const filePiece = 1 << 19

// SetupFile makes the key of a circuit from known secrets on the device, byte for
// byte what groth16.Setup makes, and streams it out: the points are made in the
// file's order, piece by piece, and none stays on the device. open is called once,
// when the verifying key is known; progress, which may be nil, gets bytes made.
//
// Device memory: three field elements a variable, while they are added up two more
// and the Lagrange basis, and about a GiB. It is released when SetupFile returns.
func (b *Backend) SetupFile(ctx context.Context, circuit *r1cs.Compiled, s *Secrets, open func(*srs.VerifyingKey, srs.Shape) (RawSink, error), progress func(section string, done, total int64)) error {
	m, err := b.stand()
	if err != nil {
		return err
	}
	return errors.Join(fileOn(ctx, m, filePiece, circuit, s, open, progress), m.close())
}

// fileOn is SetupFile on a machine, with points of G1 a piece.
func fileOn(ctx context.Context, m machine, points int, circuit *r1cs.Compiled, s *Secrets, open func(*srs.VerifyingKey, srs.Shape) (RawSink, error), progress func(string, int64, int64)) error {
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	w, err := newFileWriter(m, points, circuit, s, progress)
	if err == nil {
		err = errors.Join(w.run(ctx, circuit, open), w.free())
	}
	if err != nil {
		return fmt.Errorf("setup of %s on the device: %w", circuit.Name(), err)
	}
	return nil
}

// fileWriter makes a key for a file.
type fileWriter struct {
	*generator
	report func(section string, done, total int64)
	size   int // points of G1 a piece
	out    *outbox
	kinds  deviceRanks
	points gpu.Memory // of a piece
	raw    gpu.Memory // the same in the file's form
	bad    gpu.Memory // count of infinite points
	done   int64      // bytes
	total  int64
}

// newFileWriter has no plan: it holds no key and works on no assignment.
func newFileWriter(m machine, points int, circuit *r1cs.Compiled, s *Secrets, progress func(string, int64, int64)) (*fileWriter, error) {
	layout, pack, err := layoutOf(circuit)
	if err != nil {
		return nil, err
	}
	p := &prover{machine: m, circuit: circuit, layout: layout, pack: pack}
	w := &fileWriter{generator: &generator{prover: p, secrets: s}, report: progress, size: points, total: layout.Shape.ParamsBytes()}
	w.progress = func(stage string, done float64) { progress(stage, int64(done*float64(w.total)), w.total) }
	w.held.m, w.temp.m = m, m
	return w, nil
}

func (w *fileWriter) free() error { return errors.Join(w.held.free(), w.temp.free()) }

func (w *fileWriter) run(ctx context.Context, circuit *r1cs.Compiled, open func(*srs.VerifyingKey, srs.Shape) (RawSink, error)) (err error) {
	if w.rows, err = newRows(ctx, &w.held, w.pack, w.layout.Counts); err != nil {
		return err
	}
	w.pack = nil
	if err = w.polynomials(ctx); err != nil {
		return err
	}
	vk, err := w.verifyingKey(ctx)
	if err != nil {
		return err
	}
	sink, err := open(vk, w.layout.Shape)
	if err != nil {
		return err
	}
	if err := w.prepare(ctx, circuit.BitKinds()); err != nil {
		return err
	}
	if w.out, err = newOutbox(w.machine, int64(w.size)*curveG1.point); err != nil {
		return err
	}
	err = errors.Join(w.stream(ctx, sink, circuit.BitKinds()), w.out.close())
	if err == nil {
		err = w.finite()
	}
	return err
}

// prepare takes the memory of a piece, and makes the tables.
func (w *fileWriter) prepare(ctx context.Context, kinds r1cs.Bitset) (err error) {
	if w.kinds, err = w.temp.ranks(ctx, newRanks(kinds)); err != nil {
		return err
	}
	for _, a := range []struct {
		to    *gpu.Memory
		bytes int64
	}{
		{&w.selected, int64(max(w.size, w.layout.Counts.Inputs)) * fr.Bytes}, {&w.points, int64(w.size) * curveG1.point},
		{&w.raw, int64(w.size) * curveG1.point}, {&w.bad, 4},
	} {
		if *a.to, err = w.temp.alloc(a.bytes); err != nil {
			return err
		}
	}
	if err := w.machine.do(func(q queue) error { return q.fill(w.bad, 0) }); err != nil {
		return err
	}
	return w.makeTables(ctx, w.size)
}

// stream makes points while the sink takes those before.
func (w *fileWriter) stream(parent context.Context, sink RawSink, kinds r1cs.Bitset) error {
	g, ctx := errgroup.WithContext(parent)
	g.Go(func() error {
		defer close(w.out.full)
		return w.queries(ctx, kinds)
	})
	g.Go(func() error {
		for s := range w.out.full {
			if err := sink.Raw(s.data); err != nil {
				return err
			}
			w.out.empty <- s.slot
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return parent.Err()
}

// queries makes all lists in the file's order.
func (w *fileWriter) queries(ctx context.Context, kinds r1cs.Bitset) error {
	if err := w.listH(ctx); err != nil {
		return err
	}
	a, b := w.layout.A, w.layout.B
	for _, q := range []struct {
		section   string
		cv        curve
		exponents gpu.Memory
		d         r1cs.Density
	}{
		{StageL, curveG1, w.exponents[2], r1cs.Density{}}, {StageA, curveG1, w.exponents[0], a},
		{"b_g1", curveG1, w.exponents[1], b}, {"b_g2", curveG2, w.exponents[1], b},
	} {
		if err := w.list(ctx, q.section, q.cv, q.exponents, q.d); err != nil {
			return fmt.Errorf("query %s: %w", q.section, err)
		}
	}
	return nil
}

// listH makes the exponents of h piece by piece.
func (w *fileWriter) listH(ctx context.Context) error {
	n := w.layout.Shape.H
	for from := 0; from < n; from += w.size {
		part := min(w.size, n-from)
		err := enqueue(w.machine, func(s *steps) {
			s.launch("setup_powers", w.wide(int64(part)), w.constants, uint64(from), uint64(part), w.selected)
		})
		if err == nil {
			err = w.emit(ctx, StageH, curveG1, w.selected, part)
		}
		if err != nil {
			return fmt.Errorf("query h: %w", err)
		}
	}
	return nil
}

// list makes a query of variables: the inputs with a point, then the aux variables
// in order. A density without aux has no input and every aux.
func (w *fileWriter) list(ctx context.Context, section string, cv curve, exponents gpu.Memory, d r1cs.Density) error {
	n, aux := w.layout.Counts, d.Aux
	inputs := exponents.Slice(0, int64(n.Inputs)*fr.Bytes)
	others := exponents.Slice(inputs.Bytes, exponents.Bytes-inputs.Bytes)
	temp := &holding{m: w.machine}
	defer func() { w.temp.list = append(w.temp.list, temp.list...) }() // released with the rest
	if aux == nil {
		aux = complement(r1cs.NewBitset(n.Aux), n.Aux)
	} else if err := w.listInputs(ctx, temp, section, cv, inputs, d.Inputs); err != nil {
		return err
	}
	return w.listAux(ctx, temp, section, cv, others, newRanks(aux))
}

func (w *fileWriter) listInputs(ctx context.Context, temp *holding, section string, cv curve, inputs gpu.Memory, who r1cs.Bitset) error {
	set, err := temp.ranks(ctx, newRanks(who))
	if err != nil {
		return err
	}
	if err := enqueue(w.machine, func(s *steps) { s.selectElements(inputs, w.layout.Counts.Inputs, set, w.selected) }); err != nil {
		return err
	}
	step := w.piece(cv)
	for from := 0; from < set.count; from += step {
		part := min(step, set.count-from)
		if err := w.emit(ctx, section, cv, w.selected.Slice(int64(from)*fr.Bytes, int64(part)*fr.Bytes), part); err != nil {
			return err
		}
	}
	return nil
}

func (w *fileWriter) listAux(ctx context.Context, temp *holding, section string, cv curve, exponents gpu.Memory, who ranks) error {
	set, err := temp.ranks(ctx, who)
	if err != nil {
		return err
	}
	step := w.piece(cv) / 32
	for at := 0; at < len(who.masks); at += step {
		words := min(step, len(who.masks)-at)
		from, end := int(who.before[at]), who.count
		if at+words < len(who.masks) {
			end = int(who.before[at+words])
		}
		err := enqueue(w.machine, func(s *steps) {
			s.launch("setup_gather", perThread(32*int64(words)), exponents, uint32(w.layout.Counts.Bits), uint32(at), uint32(words),
				set.masks, set.before, w.kinds.masks, w.kinds.before, uint32(from), w.selected)
		})
		if err == nil {
			err = w.emit(ctx, section, cv, w.selected, end-from)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// piece is how many points are made at a time.
func (w *fileWriter) piece(cv curve) int { return w.size * int(curveG1.point) / int(cv.point) }

// emit makes n points and hands their bytes to the sink's goroutine.
func (w *fileWriter) emit(ctx context.Context, section string, cv curve, exponents gpu.Memory, n int) error {
	if n == 0 {
		return nil
	}
	if err := w.multiply(ctx, cv, exponents, n, w.points); err != nil {
		return err
	}
	bytes := int64(n) * cv.point
	err := enqueue(w.machine, func(s *steps) { s.launch(cv.keyKernel("file"), perPoint(n), w.points, uint32(n), w.raw, w.bad) })
	if err == nil {
		err = w.out.put(ctx, w.raw.Slice(0, bytes))
	}
	w.done += bytes
	w.report(section, w.done, w.total)
	return err
}

// finite reads the count of infinite points.
func (w *fileWriter) finite() error {
	var n [4]byte
	err := w.machine.do(func(q queue) error { return q.download(n[:], w.bad) })
	if bad := binary.LittleEndian.Uint32(n[:]); err == nil && bad > 0 {
		err = fmt.Errorf("%d points are infinite: polynomials vanish at tau; choose other secrets", bad)
	}
	return err
}
