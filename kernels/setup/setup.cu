// The exponents of a key from known secrets: what each variable's polynomials are
// at tau. Callers: backend/cuda/setup.go.
//
// With L_j the Lagrange basis of the domain, A_v(tau) is the sum over the rows j
// of coefficient times L_j(tau): the transpose of what rows.cu computes. Terms of
// one variable stand in many instances, so they are added with atomics, limb by
// limb into 64-bit counters that cannot overflow, and reduced at the end.
#include "../rows/atomic.cuh"
#include "../rows/program.cuh"
#include "power.cuh"

// Numbers of a setup in Montgomery form.
struct setup_t {
    fr_t tau, omega; // omega generates the domain of n points
    fr_t scale;      // (tau^n - 1)/n
    fr_t first;      // (tau^n - 1)/delta
    fr_t alpha, beta;
    fr_t gamma_inv, delta_inv;
};

// out[j] = L_j(tau) = scale omega^j / (tau - omega^j), j < n. A thread's elements
// are a grid's width apart and share one inversion; out holds the products before
// each on the way.
extern "C" __global__ void __launch_bounds__(256) setup_basis(const setup_t* k, uint64_t n, fr_t* out) {
    fr_t w = fr_pow(k->omega, global_id()), step = fr_pow(k->omega, global_size()), p = fr_set_one();
    uint64_t j = global_id(), width = global_size();
    if (j >= n) return;
    fr_t tau = k->tau;
    for (; j < n; j += width) {
        fr_store(out + j, p);
        p = fr_mul(p, fr_sub(tau, w));
        w = fr_mul(w, step);
    }
    fr_t inv = fr_mul(k->scale, fr_inv(p)), back = fr_inv(step);
    // inv carries the factor scale from here on; so does every quotient.
    while (j >= width) {
        j -= width;
        w = fr_mul(w, back);
        fr_store(out + j, fr_mul(fr_mul(inv, fr_load(out + j)), w));
        inv = fr_mul(inv, fr_sub(tau, w));
    }
}

// out[i] = first tau^(from + i), i < n.
extern "C" __global__ void __launch_bounds__(256) setup_powers(const setup_t* k, uint64_t from, uint64_t n, fr_t* out) {
    uint64_t i = global_id(), width = global_size();
    if (i >= n) return;
    fr_t x = fr_mul(k->first, fr_pow(k->tau, from + i)), step = fr_pow(k->tau, width);
    for (; i < n; i += width) {
        fr_store(out + i, x);
        x = fr_mul(x, step);
    }
}

// Where a variable's sum is kept: inputs, then bits, then elements.
struct places_t {
    uint64_t* sums; // eight counters a variable, one a limb
    uint32_t inputs, bits;
};

__device__ __forceinline__ void add_limbs(uint64_t* to, const fr_t& x) {
#pragma unroll
    for (int i = 0; i < 8; i++) atomic_add64(to + i, x.v[i]);
}

// Adds coefficient times basis to the term's variable, or to one for the constant.
__device__ __forceinline__ void scatter(const program_t* p, const places_t& to, const instance_t& at, const term_t& t,
                                        const fr_t& basis, fr_t& one) {
    int32_t small = small_of(t);
    if (small == 0) return; // filling
    fr_t x = basis;
    if (small == -1) x = fr_neg(x);
    else if (small != 1) x = fr_mul(fr_load(p->coefs + (t.coef & COEF_INDEX)), x);
    uint32_t ref = resolve(p, at, t.ref), i = ref & CLASS_INDEX;
    if (ref == REF_ONE) {
        one = fr_add(one, x);
        return;
    }
    uint64_t place = i;
    if (REF_CLASS(ref) == CLASS_BIT) place += to.inputs;
    if (REF_CLASS(ref) == CLASS_ELEMENT) place += (uint64_t)to.inputs + to.bits;
    add_limbs(to.sums + 8 * place, x);
}

// Adds the warp's share of the constant, which stands in every second row.
__device__ __forceinline__ void scatter_one(const places_t& to, fr_t one) {
    one = warp_sum(one);
    if (lane_id() == 0 && !fr_is_zero(one)) add_limbs(to.sums, one);
}

// The terms of one matrix in slices; a warp a slice of an instance.
extern "C" __global__ void __launch_bounds__(256)
    setup_slices(const program_t* p, uint32_t matrix, const fr_t* basis, uint64_t* sums, uint32_t inputs, uint32_t bits) {
    uint32_t unit = (uint32_t)(global_id() / 32);
    if (unit >= p->units) return;
    const template_t* t = template_of<&template_t::first_unit>(p, unit);
    uint32_t k = unit - t->first_unit, nth = k / t->slices;
    instance_t at = p->instances[t->instance + nth];
    slice_t s = p->slices[t->slice + (k - nth * t->slices)];
    const term_t* terms = p->terms + s.first;
    for (uint32_t m = 0; m < matrix; m++) terms += 32 * (s.shape >> (8 + 8 * m) & 255);
    uint32_t n = s.shape >> (8 + 8 * matrix) & 255;
    if (n == 0) return;
    places_t to = {sums, inputs, bits};
    fr_t one = fr_set_zero(), x = one;
    if (lane_id() < (s.shape & 255)) x = fr_load(basis + (uint64_t)at.row + s.row + lane_id());
#pragma unroll 1
    for (uint32_t j = 0; j < n; j++) scatter(p, to, at, terms[32 * j + lane_id()], x, one);
    scatter_one(to, one);
}

// The long combinations of one matrix.
extern "C" __global__ void __launch_bounds__(256)
    setup_longs(const program_t* p, uint32_t matrix, const fr_t* basis, uint64_t* sums, uint32_t inputs, uint32_t bits) {
    uint32_t unit = (uint32_t)(global_id() / 32);
    if (unit >= p->long_units) return;
    const template_t* t = template_of<&template_t::first_long>(p, unit);
    uint32_t k = unit - t->first_long, nth = k / t->longs;
    instance_t at = p->instances[t->instance + nth];
    long_t l = p->longs[t->combination + (k - nth * t->longs)];
    if (l.matrix != matrix) return;
    places_t to = {sums, inputs, bits};
    fr_t one = fr_set_zero(), x = fr_load(basis + (uint64_t)at.row + l.row);
#pragma unroll 1
    for (uint32_t j = lane_id(); j < l.count; j += 32) scatter(p, to, at, p->terms[l.first + j], x, one);
    scatter_one(to, one);
}

// The rows after the circuit's put input i into A, with the basis from row 0 of
// these on.
extern "C" __global__ void __launch_bounds__(256) setup_inputs(const fr_t* basis, uint32_t n, uint64_t* sums) {
    uint64_t i = global_id();
    if (i < n) add_limbs(sums + 8 * i, fr_load(basis + i));
}

// Counters to elements: the low 256 bits, and what is above them times 2^256,
// which is what Montgomery form multiplies by.
extern "C" __global__ void __launch_bounds__(256) setup_reduce(const uint64_t* sums, uint64_t n, fr_t* out) {
    uint64_t i = global_id();
    if (i >= n) return;
    fr_t low, high = fr_set_zero();
    uint64_t c = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        uint64_t v = sums[8 * i + k], t = c + v;
        low.v[k] = (uint32_t)t;
        // c and v can pass 2^64 together; the carry is then 2^32 more.
        c = (t >> 32) | (uint64_t)(t < c) << 32;
    }
    high.v[0] = (uint32_t)c, high.v[1] = (uint32_t)(c >> 32);
    low = fr_reduce(fr_reduce(low));
    fr_store(out + i, fr_add(low, fr_to_mont(high)));
}

// c[v] = (beta a[v] + alpha b[v] + c[v]) over gamma for inputs, over delta for the
// others; zero sets *zeros: a variable without a row.
extern "C" __global__ void __launch_bounds__(256)
    setup_combine(const setup_t* k, const fr_t* a, const fr_t* b, fr_t* c, uint32_t inputs, uint64_t n, uint32_t* zeros) {
    uint64_t i = global_id();
    if (i >= n) return;
    fr_t x = fr_add(fr_mul(k->beta, fr_load(a + i)), fr_mul(k->alpha, fr_load(b + i)));
    x = fr_add(x, fr_load(c + i));
    if (fr_is_zero(x)) atomic_add(zeros, 1);
    fr_store(c + i, fr_mul(x, i < inputs ? k->gamma_inv : k->delta_inv));
}

// The exponents of the aux variables 32 first ... 32 (first + words) - 1 that are in
// the set, in the order of the variables: member has them, before how many there are
// in the words before, and kinds, kinds_before the same for all variables that are
// bits. x has the exponents of bits, then those of elements. The first of them goes
// to out, which is number skip of the set.
extern "C" __global__ void __launch_bounds__(256)
    setup_gather(const fr_t* x, uint32_t bits, uint32_t first, uint32_t words, const uint32_t* member, const uint32_t* before,
                 const uint32_t* kinds, const uint32_t* kinds_before, uint32_t skip, fr_t* out) {
    uint64_t i = global_id();
    if (i >= 32ul * words) return;
    uint32_t w = first + (uint32_t)(i / 32), bit = 1u << (i & 31), below = bit - 1, m = member[w], k = kinds[w];
    if (!(m & bit)) return;
    uint32_t nth_bit = kinds_before[w] + popcount(k & below), v = 32 * w + (uint32_t)(i & 31);
    uint64_t from = k & bit ? nth_bit : (uint64_t)bits + (v - nth_bit);
    fr_store(out + (before[w] - skip + popcount(m & below)), fr_load(x + from));
}
