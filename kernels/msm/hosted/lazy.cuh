// curve/lazy.cuh for the host: the same ranges, so that a value that leaves them
// is found here too.
#pragma once
#include <stdio.h>
#include <stdlib.h>

#include "../field/fp.cuh"

inline words_t<6> lazy_multiple(uint64_t k) {
    words_t<6> r = {{0}}, p = fp_p();
    for (uint64_t i = 0; i < k; i++) add_words(r, r, p);
    return r;
}

// Ends the program when a is not below (or equal to, for a strict of 0) k p.
inline void lazy_check(const fp_t& a, uint64_t k, bool strict, const char* where) {
    words_t<6> d;
    bool below = sub_words(d, fp_w(a), lazy_multiple(k));
    if (below) return;
    bool equal = true;
    for (int i = 0; i < 6; i++) equal = equal && d.w[i] == 0;
    if (equal && !strict) return;
    fprintf(stderr, "%s: a value reached %d p\n", where, (int)k);
    abort();
}

inline fp_t lazy_sub(const fp_t& a, const fp_t& b) {
    lazy_check(a, 2, false, "lazy_sub");
    lazy_check(b, 2, false, "lazy_sub");
    words_t<6> r;
    if (sub_words(r, fp_w(a), fp_w(b))) add_words(r, r, lazy_multiple(2));
    return fp_v(r);
}
inline fp_t lazy_add(const fp_t& a, const fp_t& b) {
    lazy_check(a, 2, false, "lazy_add");
    lazy_check(b, 2, false, "lazy_add");
    words_t<6> r;
    add_words(r, fp_w(a), fp_w(b));
    return fp_v(reduce_words(r, lazy_multiple(2)));
}
inline fp_t wide_sub(const fp_t& a, const fp_t& b) {
    lazy_check(a, 2, false, "wide_sub");
    lazy_check(b, 2, false, "wide_sub");
    words_t<6> r;
    add_words(r, fp_w(a), lazy_multiple(2));
    sub_words(r, r, fp_w(b));
    return fp_v(r);
}
inline fp_t wide_add(const fp_t& a, const fp_t& b) {
    words_t<6> r;
    add_words(r, fp_w(a), fp_w(b));
    lazy_check(fp_v(r), 4, false, "wide_add");
    return fp_v(r);
}
inline fp_t lazy_mul(const fp_t& a, const fp_t& b) {
    lazy_check(a, 4, false, "lazy_mul");
    lazy_check(b, 4, false, "lazy_mul");
    fp_t r = fp_v(mont_mul(fp_w(a), fp_w(b), fp_p(), 0x89f3fffcfffcfffdull));
    lazy_check(r, 2, true, "lazy_mul");
    return r;
}
inline fp_t lazy_sqr(const fp_t& a) { return fp_reduce(lazy_mul(a, a)); }
inline fp_t lazy_exact(const fp_t& a) { return fp_reduce(fp_reduce(a)); }
inline bool lazy_maybe_zero(const fp_t& a) {
    fp_t r = fp_reduce(fp_reduce(fp_reduce(fp_reduce(a))));
    return fp_is_zero(r);
}
