// Service times of the oracle's servers in C: those of service_times() in oracle.py, from the same generator and seed.
// The source is C that a C++ compiler accepts; -ffp-contract=off, so that the times equal Python's on any CPU.

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { WORDS = 624, HALF = 397 };

// Python's random.Random(SEED): MT19937, seeded by init_by_array (Matsumoto & Nishimura 2002).
static uint32_t state[WORDS];
static int position = WORDS;

static void seed_generator(uint32_t seed) {
    int i, k;
    state[0] = 19650218u;
    for (i = 1; i < WORDS; i++) state[i] = 1812433253u * (state[i - 1] ^ (state[i - 1] >> 30)) + (uint32_t)i;
    for (i = 1, k = 0; k < WORDS; k++) {
        state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1664525u)) + seed;
        if (++i == WORDS) state[0] = state[WORDS - 1], i = 1;
    }
    for (k = 1; k < WORDS; k++) {
        state[i] = (state[i] ^ ((state[i - 1] ^ (state[i - 1] >> 30)) * 1566083941u)) - (uint32_t)i;
        if (++i == WORDS) state[0] = state[WORDS - 1], i = 1;
    }
    state[0] = 0x80000000u;
}

static uint32_t random_word(void) {
    if (position == WORDS) {
        for (int i = 0; i < WORDS; i++) {
            uint32_t mixed = (state[i] & 0x80000000u) | (state[(i + 1) % WORDS] & 0x7fffffffu);
            state[i] = state[(i + HALF) % WORDS] ^ (mixed >> 1) ^ ((mixed & 1u) ? 0x9908b0dfu : 0u);
        }
        position = 0;
    }
    uint32_t word = state[position++];
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680u;
    word ^= (word << 15) & 0xefc60000u;
    return word ^ (word >> 18);
}

static double random_fraction(void) {  // from 0 to below 1, 53 bits
    uint32_t high = random_word() >> 5, low = random_word() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

// The next service time in us, without freezes: of a distribution by its name, with that mean.
static double law_time_us(const char* law, double mean_us) {
    if (!strcmp(law, "exponential")) return -mean_us * log(1.0 - random_fraction());
    if (!strcmp(law, "bimodal")) return mean_us * (random_fraction() < 0.1 ? 5.5 : 0.5);
    return mean_us;
}
