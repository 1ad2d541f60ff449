package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend"
	gpu "cuzk/cuda"
	"cuzk/r1cs"
	"cuzk/srs"
)

// Secrets are the numbers behind a key, as groth16.Secrets.
type Secrets struct {
	Alpha, Beta, Gamma, Delta, Tau fr.Element
}

// Setup makes the key of a circuit from known secrets in device memory, the same
// points as groth16.Setup, and a prover that holds it; h may be in values. The points stay on the device,
// or in pinned memory where the key is streamed; the verifying key is returned.
// While it is made, exponents take three field elements a variable and more beyond
// the plan.
func (b *Backend) Setup(ctx context.Context, circuit *r1cs.Compiled, s *Secrets, progress func(stage string, done float64)) (backend.Prover, *srs.VerifyingKey, error) {
	return b.setup(ctx, circuit, s, b.opt, progress)
}

func (b *Backend) setup(ctx context.Context, circuit *r1cs.Compiled, s *Secrets, o Options, progress func(string, float64)) (backend.Prover, *srs.VerifyingKey, error) {
	p, err := b.open(circuit, o.withLists(true))
	if err != nil {
		return nil, nil, err
	}
	return made(ctx, p, s, progress)
}

// made fills a new prover from secrets, or closes it.
func made(ctx context.Context, p *prover, s *Secrets, progress func(string, float64)) (backend.Prover, *srs.VerifyingKey, error) {
	if progress == nil {
		progress = func(string, float64) {}
	}
	g := &generator{prover: p, secrets: s, progress: progress}
	vk, err := g.run(ctx)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("setup of %s on the device: %w", p.circuit.Name(), err), p.Close())
	}
	p.ready()
	return p, vk, nil
}

// generator is the state of one setup. Exponents are kept by variable: inputs,
// bits, elements.
type generator struct {
	*prover
	secrets  *Secrets
	progress func(string, float64)

	temp      holding
	constants gpu.Memory    // setup_t
	exponents [3]gpu.Memory // A_v, B_v, and of C_v those of ic and l
	zeros     gpu.Memory    // variables without a row
	selected  gpu.Memory    // exponents of one list
	tables    [2]gpu.Memory // of the generators of G1 and G2
	scratch   gpu.Memory    // for multiplications
	piece     gpu.Memory    // points on their way to the host
}

// variables is how many exponents a matrix has.
func (g *generator) variables() int64 {
	return int64(g.layout.Counts.Inputs) + int64(g.layout.Counts.Aux)
}

func (g *generator) run(ctx context.Context) (vk *srs.VerifyingKey, err error) {
	if g.plan.Slice > 0 && !g.plan.Pinned {
		return nil, fmt.Errorf("%w: %d MiB of points have no file to stay in, and may not be pinned", gpu.ErrOutOfMemory, g.plan.HostTotal()>>20)
	}
	if err := g.allocateKey(ctx); err != nil {
		return nil, err
	}
	g.temp.m = g.machine
	if err = g.polynomials(ctx); err == nil {
		vk, err = g.points(ctx)
	}
	// The work on assignments takes the place of the exponents.
	if err = errors.Join(err, g.temp.free()); err != nil {
		return nil, err
	}
	return vk, g.allocateWork()
}

// polynomials fills exponents.
func (g *generator) polynomials(ctx context.Context) error {
	constants, err := g.constantsOf()
	if err != nil {
		return err
	}
	if g.constants, err = g.temp.put(ctx, rawBytes(constants)); err != nil {
		return err
	}
	if g.zeros, err = g.temp.alloc(4); err != nil {
		return err
	}
	for i := range g.exponents {
		if g.exponents[i], err = g.temp.alloc(g.variables() * fr.Bytes); err != nil {
			return err
		}
	}
	if err := g.matrices(ctx); err != nil {
		return err
	}
	return g.combine(ctx)
}

// constantsOf is setup_t.
func (g *generator) constantsOf() ([]fr.Element, error) {
	s, m := g.secrets, uint64(g.layout.M())
	omega, err := fr.Generator(m)
	if err != nil {
		return nil, err
	}
	var vanish, scale, first, gammaInv, deltaInv, one fr.Element
	one.SetOne()
	vanish.Exp(s.Tau, new(big.Int).SetUint64(m))
	vanish.Sub(&vanish, &one)
	if vanish.IsZero() || s.Gamma.IsZero() || s.Delta.IsZero() {
		return nil, errors.New("gamma or delta is zero, or tau lies on the domain: choose other secrets")
	}
	gammaInv.Inverse(&s.Gamma)
	deltaInv.Inverse(&s.Delta)
	scale.SetUint64(m)
	scale.Div(&vanish, &scale)
	first.Mul(&vanish, &deltaInv)
	return []fr.Element{s.Tau, omega, scale, first, s.Alpha, s.Beta, gammaInv, deltaInv}, nil
}

// matrices adds up each matrix's terms.
func (g *generator) matrices(ctx context.Context) error {
	temp := holding{m: g.machine}
	n := g.layout.Counts
	rows := int64(n.Rows + n.Inputs)
	basis, err := temp.alloc(rows * fr.Bytes)
	if err != nil {
		return err
	}
	sums, err := temp.alloc(g.variables() * 64)
	if err != nil {
		return errors.Join(err, temp.free())
	}
	err = enqueue(g.machine, func(s *steps) { s.launch("setup_basis", g.wide(rows), g.constants, uint64(rows), basis) })
	for m := 0; m < len(g.exponents) && err == nil; m++ {
		err = enqueue(g.machine, func(s *steps) { g.matrix(s, m, basis, sums) })
		if err == nil {
			err = settle(ctx, g.machine)
		}
		g.progress("matrices", float64(m+1)/3)
	}
	return errors.Join(err, temp.free())
}

// wide is a launch of many items a thread.
func (g *generator) wide(items int64) shape {
	s := perThread(items)
	s.grid = min(s.grid, 8*g.machine.facts().sms)
	return s
}

// matrix enqueues one of them.
func (g *generator) matrix(s *steps, m int, basis, sums gpu.Memory) {
	n := g.layout.Counts
	s.fill(sums, 0)
	s.launch("setup_slices", perWarp(g.rows.units), g.rows.descriptor, uint32(m), basis, sums, uint32(n.Inputs), uint32(n.Bits))
	if g.rows.longUnits > 0 {
		s.launch("setup_longs", perWarp(g.rows.longUnits), g.rows.descriptor, uint32(m), basis, sums, uint32(n.Inputs), uint32(n.Bits))
	}
	if m == 0 {
		at := int64(n.Rows) * fr.Bytes
		s.launch("setup_inputs", perThread(int64(n.Inputs)), basis.Slice(at, basis.Bytes-at), uint32(n.Inputs), sums)
	}
	s.launch("setup_reduce", perThread(g.variables()), sums, uint64(g.variables()), g.exponents[m])
}

// combine makes the exponents of ic and l of the three matrices'.
func (g *generator) combine(ctx context.Context) error {
	err := enqueue(g.machine, func(s *steps) {
		s.fill(g.zeros, 0)
		s.launch("setup_combine", perThread(g.variables()), g.constants, g.exponents[0], g.exponents[1], g.exponents[2],
			uint32(g.layout.Counts.Inputs), uint64(g.variables()), g.zeros)
	})
	if err == nil {
		err = settle(ctx, g.machine)
	}
	var zeros [4]byte
	if err == nil {
		err = g.machine.do(func(q queue) error { return q.download(zeros[:], g.zeros) })
	}
	if n := binary.LittleEndian.Uint32(zeros[:]); err == nil && n > 0 {
		err = fmt.Errorf("%d variables are in no row, or their polynomials vanish at tau", n)
	}
	return err
}

// points multiplies the generators by the exponents.
func (g *generator) points(ctx context.Context) (*srs.VerifyingKey, error) {
	var err error
	bits, others := g.sets.a.points()
	h, most := g.pointsH, int64(g.layout.Shape.H)
	if v := g.plan.values; v != nil {
		h, most = g.pointsValues, int64(v.form.Rows())
	}
	most = max(most, int64(bits), int64(others)) // l has no more
	if g.selected, err = g.temp.alloc(most * fr.Bytes); err != nil {
		return nil, err
	}
	if g.plan.Slice > 0 {
		if g.piece, err = g.temp.alloc(min(most, setupPass) * curveG2.point); err != nil {
			return nil, err
		}
	}
	if err := g.makeTables(ctx, int(most)); err != nil {
		return nil, err
	}
	steps := []func(context.Context) error{
		h,
		func(ctx context.Context) error { return g.query(ctx, &g.key.l, g.exponents[2], nil) },
		func(ctx context.Context) error { return g.query(ctx, &g.key.a, g.exponents[0], &g.key.selA) },
		func(ctx context.Context) error { return g.query(ctx, &g.key.b1, g.exponents[1], &g.key.selB) },
		func(ctx context.Context) error { return g.query(ctx, &g.key.b2, g.exponents[1], &g.key.selB) },
	}
	for i, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
		g.progress("points", float64(i+1)/float64(len(steps)))
	}
	return g.verifyingKey(ctx)
}

// setupPass is how many multiplications of a pass the scratch memory is for.
const setupPass = 1 << 21

// takeScratch is memory for the tables and for passes over most multiples.
func (g *generator) takeScratch(most int) (err error) {
	c := carver{dry: true}
	c.take(fixedWindows * fixedRows / 2 * 8)
	new(fixedPlan).carve(g.machine.facts(), curveG2, int64(min(most, setupPass)), &c)
	g.scratch, err = g.temp.alloc(c.used)
	return err
}

func (g *generator) makeTables(ctx context.Context, most int) (err error) {
	_, _, p, q := bls12381.Generators()
	if err = g.takeScratch(most); err != nil {
		return err
	}
	if g.tables[0], err = g.temp.alloc(TableBytesG1); err != nil {
		return err
	}
	if g.tables[1], err = g.temp.alloc(TableBytesG2); err != nil {
		return err
	}
	if err = g.machine.summer().TableG1(ctx, p, g.tables[0], g.scratch); err != nil {
		return err
	}
	return g.machine.summer().TableG2(ctx, q, g.tables[1], g.scratch)
}

// multiply sets out to the multiples of a generator by n exponents.
func (g *generator) multiply(ctx context.Context, cv curve, exponents gpu.Memory, n int, out gpu.Memory) error {
	if n == 0 {
		return nil
	}
	k := Scalars{exponents, n, Montgomery}
	if cv == curveG2 {
		return g.machine.summer().FixedG2(ctx, g.tables[1], k, out, g.scratch)
	}
	return g.machine.summer().FixedG1(ctx, g.tables[0], k, out, g.scratch)
}

// makeList makes the points of a list where they belong, on the device or in pinned
// memory.
func (g *generator) makeList(ctx context.Context, l *list, exponents gpu.Memory) error {
	h, away := l.home.(*hostList)
	if !away {
		return g.multiply(ctx, l.curve, exponents, l.n, l.mem)
	}
	for from := int64(0); from < int64(l.n); from += setupPass {
		n := min(setupPass, int64(l.n)-from)
		to := g.piece.Slice(0, n*l.curve.point)
		if err := g.multiply(ctx, l.curve, exponents.Slice(from*fr.Bytes, n*fr.Bytes), int(n), to); err != nil {
			return err
		}
		if err := h.keep(g.machine, from*l.curve.point, to); err != nil {
			return err
		}
		// The points are made on the sums' stream, and copied on the machine's.
		if err := settle(ctx, g.machine); err != nil {
			return err
		}
	}
	return nil
}

func (g *generator) pointsH(ctx context.Context) error {
	n := g.layout.Shape.H
	err := enqueue(g.machine, func(s *steps) {
		s.launch("setup_powers", g.wide(int64(n)), g.constants, uint64(0), uint64(n), g.selected)
	})
	if err != nil {
		return err
	}
	return g.makeList(ctx, &g.key.h, g.selected)
}

// parts are the exponents of inputs, bits and elements.
func (g *generator) parts(x gpu.Memory) (inputs, bits, elements gpu.Memory) {
	n := g.layout.Counts
	at, to := int64(n.Inputs)*fr.Bytes, int64(n.Inputs+n.Bits)*fr.Bytes
	return x.Slice(0, at), x.Slice(at, to-at), x.Slice(to, x.Bytes-to)
}

// query makes both lists of a query. No selection means every aux and no input.
func (g *generator) query(ctx context.Context, q *query, exponents gpu.Memory, s *sel) error {
	n := g.layout.Counts
	inputs, bits, elements := g.parts(exponents)
	if s == nil {
		if err := g.makeList(ctx, &q.bits, bits); err != nil {
			return err
		}
		return g.makeList(ctx, &q.others, elements)
	}
	err := enqueue(g.machine, func(t *steps) { t.selectElements(bits, n.Bits, s.bits, g.selected) })
	if err == nil {
		err = g.makeList(ctx, &q.bits, g.selected)
	}
	if err == nil {
		err = enqueue(g.machine, func(t *steps) {
			at := int64(s.first.count) * fr.Bytes
			t.selectElements(inputs, n.Inputs, s.first, g.selected)
			t.selectElements(elements, n.Aux-n.Bits, s.elements, g.selected.Slice(at, g.selected.Bytes-at))
		})
	}
	if err != nil {
		return err
	}
	return g.makeList(ctx, &q.others, g.selected)
}

// verifyingKey computes its points on the host but for ic.
func (g *generator) verifyingKey(ctx context.Context) (*srs.VerifyingKey, error) {
	s := g.secrets
	_, _, p, q := bls12381.Generators()
	g1 := bls12381.BatchScalarMultiplicationG1(&p, []fr.Element{s.Alpha, s.Beta, s.Delta})
	g2 := bls12381.BatchScalarMultiplicationG2(&q, []fr.Element{s.Beta, s.Gamma, s.Delta})
	vk := &srs.VerifyingKey{
		AlphaG1: g1[0], BetaG1: g1[1], DeltaG1: g1[2],
		BetaG2: g2[0], GammaG2: g2[1], DeltaG2: g2[2],
	}
	k := make([]fr.Element, g.layout.Counts.Inputs)
	inputs, _, _ := g.parts(g.exponents[2])
	if err := g.machine.do(func(q queue) error { return q.download(rawBytes(k), inputs) }); err != nil {
		return nil, err
	}
	vk.IC = bls12381.BatchScalarMultiplicationG1(&p, k)
	return vk, ctx.Err()
}
