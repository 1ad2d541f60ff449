package affine

// lanes is how many additions share an inversion. Below 256 the inversion
// shows, above 4096 the working set leaves the second level cache.
const lanes = 1024

// Sum adds a stream of points. It keeps as many running sums as additions
// share an inversion, so 2·lanes points are held. The zero value is an empty
// sum; one goroutine may use it at a time.
type Sum[P Point[F], F any, PF Field[F]] struct {
	acc   []P
	batch []P
	adder Adder[P, F, PF]
}

// Next gives room for the next point: the caller writes the point there before
// the next call. What is written is added later.
func (s *Sum[P, F, PF]) Next() *P {
	if s.batch == nil {
		s.batch, s.acc = make([]P, 0, lanes), make([]P, 0, lanes)
	}
	if len(s.batch) == lanes {
		s.flush()
	}
	s.batch = s.batch[:len(s.batch)+1]
	return &s.batch[len(s.batch)-1]
}

// Add adds a point.
func (s *Sum[P, F, PF]) Add(p *P) { *s.Next() = *p }

func (s *Sum[P, F, PF]) flush() {
	old := len(s.acc)
	n := min(old, len(s.batch))
	s.adder.Add(s.acc[:n], s.batch[:n])
	s.acc = append(s.acc, s.batch[n:]...)
	s.batch = s.batch[:0]
}

// Total is the sum of all points since the last Total, and empties the sum.
func (s *Sum[P, F, PF]) Total() (total P) {
	s.flush()
	for n := len(s.acc); n > 1; n = (n + 1) / 2 {
		half := (n + 1) / 2
		s.adder.Add(s.acc[:n-half], s.acc[half:n])
	}
	if len(s.acc) > 0 {
		total = s.acc[0]
	}
	s.acc = s.acc[:0]
	return total
}
