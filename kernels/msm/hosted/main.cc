// A device made of one CPU thread, for tests of the kernels and of their host
// code on machines without a GPU. The kernels are compiled for the host with the
// headers of this folder; requests come on standard input, answers go to standard
// output, all numbers little endian:
//
//   'a' bytes:u64                      -> address:u64
//   'f' address:u64
//   'w' address:u64 bytes:u64 data
//   'r' address:u64 bytes:u64          -> data
//   's' address:u64 bytes:u64 value:u8
//   'l' name:32 bytes, grid x, y, block, shared, count of arguments: u32,
//       arguments: u64 each            -> 1 byte, 0 for an unknown kernel
//
// Memory is filled with 0xa5 when given out. A warp operation or barrier that not
// all threads reach ends the program: it would hang or be undefined on a GPU.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../../curve/curve.cu"
#include "../msm_g1.cu"
#include "../msm_g1_async.cu"
#include "../msm_g2.cu"
#include "../msm_g2_async.cu"
#include "../msm_sort.cu"
#include "../msm_tree.cu"

place_t place;

namespace {

const size_t stack_bytes = 64 << 10;
const uint32_t max_threads = 1024;

// A fiber is entered once by its context and then by jumps, which cost no system
// call.
struct fiber_t {
    ucontext_t ctx;
    jmp_buf at;
    bool begun, done;
};

// One meeting point: of a warp or of the block.
struct meeting_t {
    uint32_t here, generation;
};

fiber_t fibers[max_threads];
char* stacks;
jmp_buf scheduler;
meeting_t warps[max_threads / 32], whole;
uint32_t words[2][max_threads], live, progress;
std::function<void()> body;
std::vector<uint64_t> dynamic;

void yield() {
    if (_setjmp(fibers[place.tid].at) == 0) _longjmp(scheduler, 1);
}

void meet(meeting_t& m, uint32_t all) {
    uint32_t g = m.generation;
    progress++;
    if (++m.here == all) {
        m.here = 0;
        m.generation++;
        return;
    }
    while (m.generation == g) yield();
}

void start() {
    body();
    fibers[place.tid].done = true;
    live--;
    progress++;
    yield();
}

void resume(uint32_t t) {
    place.tid = t;
    if (_setjmp(scheduler) != 0) return;
    if (fibers[t].begun) _longjmp(fibers[t].at, 1);
    fibers[t].begun = true;
    setcontext(&fibers[t].ctx);
}

void run_block() {
    for (uint32_t t = 0; t < place.ntid; t++) {
        fiber_t& f = fibers[t];
        getcontext(&f.ctx);
        f.ctx.uc_stack.ss_sp = stacks + t * stack_bytes;
        f.ctx.uc_stack.ss_size = stack_bytes;
        f.begun = f.done = false;
        makecontext(&f.ctx, start, 0);
    }
    live = place.ntid;
    whole.here = 0;
    for (auto& w : warps) w.here = 0;
    while (live > 0) {
        uint32_t before = progress;
        // A warp runs until it waits for the block, then the next one does.
        for (uint32_t w = 0; w < place.ntid; w += 32) {
            uint32_t last;
            do {
                last = progress;
                for (uint32_t t = w; t < w + 32; t++)
                    if (!fibers[t].done) resume(t);
            } while (progress != last);
        }
        if (progress == before && live > 0) {
            fprintf(stderr, "threads wait for ones that do not come\n");
            abort();
        }
    }
}

template <class T>
T argument(uint64_t v) {
    T t;
    memcpy(&t, &v, sizeof t);
    return t;
}

template <class... A, size_t... I>
void call(void (*f)(A...), const uint64_t* v, std::index_sequence<I...>) {
    f(argument<A>(v[I])...);
}

typedef std::function<void(const uint64_t*)> kernel_t;

template <class... A>
kernel_t kernel(void (*f)(A...)) {
    return [f](const uint64_t* v) { call(f, v, std::index_sequence_for<A...>()); };
}

#define K(name) {#name, kernel(name)}
const std::map<std::string, kernel_t> kernels = {
    K(msm_recode),
    K(msm_fixed_refs),
    K(msm_count_digits),
    K(msm_sort_flags),
    K(msm_move_digits),
    K(msm_sort_bins),
    K(msm_count_pairs),
    K(msm_move_pairs),
    K(msm_clear_ranges),
    K(msm_bounds),
    K(msm_ends_to_sizes),
    K(msm_sizes),
    K(msm_scan_sums),
    K(msm_scan_top),
    K(msm_scan_apply),
    K(msm_tree_bases),
    K(msm_tree_even),
    K(msm_tree_ops),
    K(msm_tree_refs),
    K(msm_reduce_ops),
    K(msm_copy_ops),
    K(msm_bit_ops),
    K(msm_pair_ops),
    K(msm_table_ops),
    K(msm_bits_count),
    K(msm_bits_list),
    K(g1_curve_check),
    K(g2_curve_check),
    K(g1_ops),
    K(g2_ops),
    K(g1_ops_async),
    K(g2_ops_async),
};

void get(void* p, size_t n) {
    if (n > 0 && fread(p, 1, n, stdin) != n) exit(0);
}

template <class T>
T get() {
    T v;
    get(&v, sizeof v);
    return v;
}

void put(const void* p, size_t n) { fwrite(p, 1, n, stdout); }

void launch() {
    char name[33] = {0};
    get(name, 32);
    uint32_t gx = get<uint32_t>(), gy = get<uint32_t>(), block = get<uint32_t>(), shared = get<uint32_t>();
    std::vector<uint64_t> args(get<uint32_t>());
    get(args.data(), 8 * args.size());
    auto k = kernels.find(name);
    char ok = k != kernels.end() && block % 32 == 0 && block <= max_threads;
    put(&ok, 1);
    if (!ok) return;
    dynamic.assign((shared + 7) / 8, 0xa5a5a5a5a5a5a5a5);
    body = [&] { k->second(args.data()); };
    for (uint32_t y = 0; y < gy; y++)
        for (uint32_t x = 0; x < gx; x++) {
            place = {0, block, x, y, gx};
            run_block();
        }
}

}  // namespace

void block_sync() { meet(whole, live); }

// Two sets of words take turns: a lane is at most one meeting ahead.
const uint32_t* warp_exchange(uint32_t v) {
    uint32_t w = place.tid / 32;
    uint32_t* row = words[warps[w].generation & 1] + 32 * w;
    row[place.tid % 32] = v;
    meet(warps[w], 32);
    return row;
}

void* dynamic_shared() { return dynamic.data(); }

int main() {
    stacks = (char*)malloc(max_threads * stack_bytes);
    for (;;) {
        char c = get<char>();
        if (c == 'l') {
            launch();
        } else if (c == 'a') {
            uint64_t n = get<uint64_t>(), p = (uint64_t)aligned_alloc(256, (n + 255) / 256 * 256);
            memset((void*)p, 0xa5, n);
            put(&p, 8);
        } else {
            char* p = (char*)get<uint64_t>();
            if (c == 'f') free(p);
            uint64_t n = c == 'f' ? 0 : get<uint64_t>();
            if (c == 'w') get(p, n);
            if (c == 'r') put(p, n);
            if (c == 's') memset(p, get<char>(), n);
        }
        fflush(stdout);
    }
}
