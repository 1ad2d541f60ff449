// curve/wide.cuh for the host, with the ranges checked.
#pragma once
#include "lazy.cuh"

struct fp_wide_t {
    uint32_t v[24];
};

inline words_t<12> wide_w(const fp_wide_t& a) {
    words_t<12> r;
    __builtin_memcpy(&r, &a, sizeof r);
    return r;
}
inline fp_wide_t wide_v(const words_t<12>& a) {
    fp_wide_t r;
    __builtin_memcpy(&r, &a, sizeof r);
    return r;
}

inline fp_wide_t wide_mul(const fp_t& a, const fp_t& b) {
    words_t<6> x = fp_w(a), y = fp_w(b);
    words_t<12> t = {{0}};
    for (int i = 0; i < 6; i++) {
        unsigned __int128 c = 0;
        for (int j = 0; j < 6; j++) c += (unsigned __int128)x.w[i] * y.w[j] + t.w[i + j], t.w[i + j] = (uint64_t)c, c >>= 64;
        t.w[i + 6] = (uint64_t)c;
    }
    return wide_v(t);
}

// k p^2.
inline words_t<12> wide_multiple(uint64_t k) {
    words_t<12> r = {{0}}, q = wide_w(wide_mul(fp_v(fp_p()), fp_v(fp_p())));
    for (uint64_t i = 0; i < k; i++) add_words(r, r, q);
    return r;
}
inline void wide_check(const words_t<12>& a, uint64_t k, const char* where) {
    words_t<12> d;
    if (!sub_words(d, wide_multiple(k), a)) return;
    fprintf(stderr, "%s: a product above %d p^2\n", where, (int)k);
    abort();
}

inline fp_wide_t wide_plus(const fp_wide_t& a, const fp_wide_t& b) {
    words_t<12> r;
    add_words(r, wide_w(a), wide_w(b));
    wide_check(r, 16, "wide_plus");
    return wide_v(r);
}
inline fp_wide_t wide_minus(const fp_wide_t& a, const fp_wide_t& b) {
    words_t<12> r;
    if (sub_words(r, wide_w(a), wide_w(b))) {
        fprintf(stderr, "wide_minus: below zero\n");
        abort();
    }
    return wide_v(r);
}
inline fp_wide_t wide_minus_4pp(const fp_wide_t& a, const fp_wide_t& b) {
    wide_check(wide_w(a), 4, "wide_minus_4pp");
    wide_check(wide_w(b), 4, "wide_minus_4pp");
    words_t<12> r;
    add_words(r, wide_w(a), wide_multiple(4));
    sub_words(r, r, wide_w(b));
    return wide_v(r);
}
inline fp_t wide_reduce(const fp_wide_t& a) {
    wide_check(wide_w(a), 8, "wide_reduce");
    uint64_t t[13] = {0};
    for (int i = 0; i < 12; i++) t[i] = wide_w(a).w[i];
    for (int i = 0; i < 6; i++) {
        uint64_t m = t[i] * 0x89f3fffcfffcfffdull;
        unsigned __int128 c = 0;
        for (int j = 0; j < 6; j++) c += (unsigned __int128)m * fp_p().w[j] + t[i + j], t[i + j] = (uint64_t)c, c >>= 64;
        for (int j = i + 6; j < 13; j++) c += t[j], t[j] = (uint64_t)c, c >>= 64;
    }
    words_t<6> r;
    for (int i = 0; i < 6; i++) r.w[i] = t[6 + i];
    lazy_check(fp_v(r), 2, true, "wide_reduce");
    return fp_v(r);
}
