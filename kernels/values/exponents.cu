// The exponents of the lists of a quotient in values, from known secrets (the
// formulas are in backend/values/exponents.go). Callers: backend/cuda/values_setup.go.
#include "../setup/power.cuh"
#include "form.cuh"

// Products stand in many places here and are made once a key: one copy of the code
// keeps the module small.
__device__ __noinline__ fr_t times(fr_t a, fr_t b) { return fr_mul(a, b); }

// A sequence whose ratio of elements j+1 and j is (x_j - top) turn / (x_j - low) with
// x_j = start step^j.
struct sequence_t {
    fr_t start, step, top, low, turn;
};

// What element j is multiplied by, and what it is divided by, to be the next one.
__device__ __forceinline__ fr_t over_of(const sequence_t* k, const fr_t& x) { return times(fr_sub(x, k->top), k->turn); }
__device__ __forceinline__ fr_t under_of(const sequence_t* k, const fr_t& x) { return fr_sub(x, k->low); }

// A thread's chunk of the sequence: its first element, and the end of the ratios.
struct chunk_t {
    uint64_t from, to;
    fr_t x;
};
__device__ __forceinline__ chunk_t chunk_of(const sequence_t* k, uint64_t n, uint32_t chunk) {
    chunk_t c;
    c.from = global_id() * chunk;
    c.to = c.from + chunk < n - 1 ? c.from + chunk : n - 1;
    c.x = times(k->start, fr_pow(k->step, c.from));
    return c;
}

// The products of both over each chunk of a sequence of n elements, one after the
// other. The last element has no ratio.
extern "C" __global__ void __launch_bounds__(256) values_chunks(const sequence_t* k, uint64_t n, uint32_t chunk, fr_t* products) {
    if (global_id() * chunk >= n) return;
    chunk_t c = chunk_of(k, n, chunk);
    fr_t over = fr_set_one(), under = over, step = k->step;
    for (uint64_t j = c.from; j < c.to; j++) {
        over = times(over, over_of(k, c.x));
        under = times(under, under_of(k, c.x));
        c.x = times(c.x, step);
    }
    fr_store(products + 2 * global_id(), over);
    fr_store(products + 2 * global_id() + 1, under);
}

// The sequence, from the first element of each chunk and the inverse of the chunk's
// second product. On the way there out holds the elements without what they are
// divided by.
extern "C" __global__ void __launch_bounds__(256)
    values_sequence(const sequence_t* k, uint64_t n, uint32_t chunk, const fr_t* starts, fr_t* out) {
    if (global_id() * chunk >= n) return;
    chunk_t c = chunk_of(k, n, chunk);
    fr_t y = fr_load(starts + 2 * global_id()), under = fr_load(starts + 2 * global_id() + 1), step = k->step;
    for (uint64_t j = c.from; j < c.to; j++) {
        fr_store(out + j, y);
        y = times(y, over_of(k, c.x));
        c.x = times(c.x, step);
    }
    // The last element of all has no ratio, so no turn above.
    if (c.to == n - 1 && c.to < c.from + chunk) fr_store(out + c.to, times(y, under));
    fr_t back = fr_inv(step);
    for (uint64_t j = c.to; j > c.from; j--) {
        c.x = times(c.x, back);
        under = times(under, under_of(k, c.x));
        fr_store(out + j - 1, times(fr_load(out + j - 1), under));
    }
}

// Numbers of the lists, in Montgomery form.
struct exponents_t {
    fr_t tau, omega, g;
    fr_t top;              // G(tau)
    fr_t rows;             // (tau^n - 1)/(n delta)
    fr_t part[MAX_PARTS];  // -G(tau) (tau^n - 1)/(2 delta 2^(lg - stride) level)
    fr_t level[MAX_PARTS]; // x^(2^(lg - stride)) on the part
};

// A thread's way through points x that have a common ratio, with the factors of
// Z_S at each of them.
struct way_t {
    fr_t x, step, y[MAX_PARTS], z[MAX_PARTS];

    // The powers of x and of step that the factors need.
    __device__ __forceinline__ void powers(const form_t* f) {
#pragma unroll
        for (int p = 0; p < MAX_PARTS; p++) {
            y[p] = x, z[p] = step;
            if (p < f->parts) {
                y[p] = fr_pow(x, 1ul << (f->lg - f->stride[p]));
                z[p] = fr_pow(step, 1ul << (f->lg - f->stride[p]));
            }
        }
    }
    __device__ __forceinline__ void next(const form_t* f) {
        x = times(x, step);
#pragma unroll
        for (int p = 0; p < MAX_PARTS; p++)
            if (p < f->parts) y[p] = times(y[p], z[p]);
    }
    // Z_S(x) without the factor of one part.
    __device__ __forceinline__ fr_t vanish(const exponents_t* k, const form_t* f, uint32_t without) const {
        fr_t d = fr_set_one();
#pragma unroll
        for (int p = 0; p < MAX_PARTS; p++)
            if (p < f->parts && p != without) d = times(d, fr_sub(y[p], k->level[p]));
        return d;
    }
    // Turns round.
    __device__ __forceinline__ void turn(const form_t* f) {
        step = fr_inv(step);
#pragma unroll
        for (int p = 0; p < MAX_PARTS; p++)
            if (p < f->parts) z[p] = fr_pow(step, 1ul << (f->lg - f->stride[p]));
    }
};

// out[t] = fn(way, t) / (d (tau - x)) for n points, d being Z_S(x) without a part.
// A thread's points are a grid's width apart and share one inversion; out holds the
// products before each on the way.
template <class F>
__device__ __forceinline__ void divided(const exponents_t* k, const form_t* f, const fr_t& first, const fr_t& unit, uint32_t n,
                                        uint32_t without, fr_t* out, F fn) {
    uint64_t t = global_id(), width = global_size();
    if (t >= n) return;
    way_t w;
    w.x = times(first, fr_pow(unit, t)), w.step = fr_pow(unit, width);
    w.powers(f);
    fr_t p = fr_set_one();
    for (; t < n; t += width) {
        fr_store(out + t, p);
        p = times(p, times(w.vanish(k, f, without), fr_sub(k->tau, w.x)));
        w.next(f);
    }
    fr_t inv = fr_inv(p);
    w.turn(f);
    while (t >= width) {
        t -= width;
        w.next(f);
        fr_store(out + t, times(times(inv, fr_load(out + t)), fn(w, t)));
        inv = times(inv, times(w.vanish(k, f, without), fr_sub(k->tau, w.x)));
    }
}

// The n exponents of a part of the list K. z2 has 1/Z2 at all points of the coset.
extern "C" __global__ void __launch_bounds__(256)
    values_points(const exponents_t* k, const form_t* f, uint32_t part, uint32_t n, const fr_t* z2, fr_t* out) {
    uint32_t from = f->from[part], stride = f->stride[part];
    fr_t scale = k->part[part];
    divided(k, f, times(k->g, fr_pow(k->omega, from)), fr_pow(k->omega, 1ul << stride), n, part, out + f->first[part],
            [&](const way_t& w, uint64_t t) { return times(times(scale, w.x), fr_load(z2 + from + (t << stride))); });
}

// The n exponents of the list M. z2 has 1/Z2 on the rows.
extern "C" __global__ void __launch_bounds__(256)
    values_rows(const exponents_t* k, const form_t* f, uint32_t n, const fr_t* z2, fr_t* out) {
    divided(k, f, fr_set_one(), k->omega, n, MAX_PARTS, out, [&](const way_t& w, uint64_t i) {
        fr_t d = fr_sub(times(k->top, fr_load(z2 + i)), w.vanish(k, f, MAX_PARTS));
        return times(times(k->rows, w.x), d);
    });
}
