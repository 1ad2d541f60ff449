package affine

import "cuzk/internal/lanes"

// sum implements [Sum]. It keeps as many running sums as additions share an
// inversion.
type sum[P comparable, A any] struct {
	e     *engine[P, A]
	adder adder[P]
	acc   []P
}

func (e *engine[P, A]) NewSum() Sum[A] { return &sum[P, A]{e: e, adder: e.adder()} }

func (s *sum[P, A]) Add(points List[A]) {
	p := s.e.points(points)
	if s.acc == nil {
		s.acc = make([]P, 0, lanes.Batch)
	}
	n := min(len(p), cap(s.acc)-len(s.acc))
	s.acc = append(s.acc, p[:n]...)
	for p = p[n:]; len(p) > 0; p = p[n:] {
		n = min(len(p), len(s.acc))
		s.adder.Accumulate(s.acc, p, inOrder[:n])
	}
}

func (s *sum[P, A]) Total() A {
	var total P
	for n := len(s.acc); n > 1; n = (n + 1) / 2 {
		half := (n + 1) / 2
		s.adder.Accumulate(s.acc[:half], s.acc[half:n], inOrder[:n-half])
	}
	if len(s.acc) > 0 {
		total = s.acc[0]
	}
	s.acc = s.acc[:0]
	return s.e.one(total)
}
