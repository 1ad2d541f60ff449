// Modular arithmetic on 64-bit words in place of the generated carry chains.
#pragma once
#include "base.cuh"

template <int N>
struct words_t {
    uint64_t w[N];
};

// Montgomery product, word by word; p has a spare bit.
template <int N>
inline words_t<N> mont_mul(const words_t<N>& a, const words_t<N>& b, const words_t<N>& p, uint64_t inv) {
    uint64_t t[N + 2] = {0};
    for (int i = 0; i < N; i++) {
        unsigned __int128 c = 0;
        for (int j = 0; j < N; j++) c += (unsigned __int128)a.w[j] * b.w[i] + t[j], t[j] = (uint64_t)c, c >>= 64;
        c += t[N], t[N] = (uint64_t)c, t[N + 1] = (uint64_t)(c >> 64);
        uint64_t m = t[0] * inv;
        c = ((unsigned __int128)m * p.w[0] + t[0]) >> 64;
        for (int j = 1; j < N; j++) c += (unsigned __int128)m * p.w[j] + t[j], t[j - 1] = (uint64_t)c, c >>= 64;
        c += t[N], t[N - 1] = (uint64_t)c, t[N] = t[N + 1] + (uint64_t)(c >> 64);
    }
    words_t<N> r;
    for (int j = 0; j < N; j++) r.w[j] = t[j];
    return r;
}

template <int N>
inline bool sub_words(words_t<N>& r, const words_t<N>& a, const words_t<N>& b) {
    unsigned __int128 c = 0;
    for (int j = 0; j < N; j++) {
        c = (unsigned __int128)a.w[j] - b.w[j] - (uint64_t)c;
        r.w[j] = (uint64_t)c;
        c = (uint64_t)(c >> 64) & 1;
    }
    return c != 0;
}

template <int N>
inline void add_words(words_t<N>& r, const words_t<N>& a, const words_t<N>& b) {
    unsigned __int128 c = 0;
    for (int j = 0; j < N; j++) c += (unsigned __int128)a.w[j] + b.w[j], r.w[j] = (uint64_t)c, c >>= 64;
}

template <int N>
inline words_t<N> reduce_words(const words_t<N>& a, const words_t<N>& p) {
    words_t<N> d;
    return sub_words(d, a, p) ? a : d;
}

// The functions of a generated header for a field T of N 64-bit words.
#define FIELD_FUNCTIONS(T, N, INV)                                                                        \
    inline words_t<N> T##_w(const T##_t& a) { words_t<N> r; __builtin_memcpy(&r, &a, sizeof r); return r; } \
    inline T##_t T##_v(const words_t<N>& a) { T##_t r; __builtin_memcpy(&r, &a, sizeof r); return r; }      \
    inline words_t<N> T##_p() { const T##_t p = {T##_modulus}; return T##_w(p); }                           \
    inline T##_t T##_reduce(const T##_t& a) { return T##_v(reduce_words(T##_w(a), T##_p())); }              \
    inline T##_t T##_add(const T##_t& a, const T##_t& b) {                                                  \
        words_t<N> r; add_words(r, T##_w(a), T##_w(b)); return T##_v(reduce_words(r, T##_p())); }           \
    inline T##_t T##_sub(const T##_t& a, const T##_t& b) {                                                  \
        words_t<N> r; if (sub_words(r, T##_w(a), T##_w(b))) add_words(r, r, T##_p()); return T##_v(r); }    \
    inline T##_t T##_mul(const T##_t& a, const T##_t& b) {                                                  \
        return T##_v(reduce_words(mont_mul(T##_w(a), T##_w(b), T##_p(), INV), T##_p())); }
