/* The loops that a careful C programmer writes, compiled with -O3: a peer of `cargo xtask bench pack`.
   Lengths are arguments, as in a library; packed numbers are copied with memcpy, which the compiler turns
   into single moves. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PUT(value) (memcpy(packed, &(value), sizeof(value)), packed += sizeof(value))
#define GET(value) (memcpy(&(value), packed, sizeof(value)), packed += sizeof(value))

void c_pack_contiguous(const double *restrict memory, size_t n, char *restrict packed) {
    memcpy(packed, memory, 8 * n);
}
void c_unpack_contiguous(double *restrict memory, size_t n, const char *restrict packed) {
    memcpy(memory, packed, 8 * n);
}

/* `n` numbers, `stride` numbers apart. */
void c_pack_strided(const double *restrict memory, size_t n, size_t stride, char *restrict packed) {
    double *target = (double *)packed;
    for (size_t i = 0; i < n; i++) target[i] = memory[i * stride];
}
void c_unpack_strided(double *restrict memory, size_t n, size_t stride, const char *restrict packed) {
    const double *source = (const double *)packed;
    for (size_t i = 0; i < n; i++) memory[i * stride] = source[i];
}

/* `n` blocks of `length` numbers, `stride` numbers apart. */
void c_pack_blocks(const double *restrict memory, size_t n, size_t length, size_t stride,
                   char *restrict packed) {
    for (size_t i = 0; i < n; i++) memcpy(packed + 8 * i * length, memory + i * stride, 8 * length);
}
void c_unpack_blocks(double *restrict memory, size_t n, size_t length, size_t stride,
                     const char *restrict packed) {
    for (size_t i = 0; i < n; i++) memcpy(memory + i * stride, packed + 8 * i * length, 8 * length);
}

void c_pack_indexed(const double *restrict memory, const int32_t *restrict indices, size_t n,
                    char *restrict packed) {
    double *target = (double *)packed;
    for (size_t i = 0; i < n; i++) target[i] = memory[indices[i]];
}
void c_unpack_indexed(double *restrict memory, const int32_t *restrict indices, size_t n,
                      const char *restrict packed) {
    const double *source = (const double *)packed;
    for (size_t i = 0; i < n; i++) memory[indices[i]] = source[i];
}

/* The inner 8 x 8 x 8 cells of blocks of 16 x 16 x 16 cells of 24 variables, of one variable. */
void c_pack_flash(const double *restrict memory, size_t blocks, char *restrict packed) {
    double *target = (double *)packed;
    for (size_t b = 0; b < blocks; b++)
        for (size_t z = 4; z < 12; z++)
            for (size_t y = 4; y < 12; y++)
                for (size_t x = 4; x < 12; x++)
                    *target++ = memory[(((b * 16 + z) * 16 + y) * 16 + x) * 24 + 3];
}
void c_unpack_flash(double *restrict memory, size_t blocks, const char *restrict packed) {
    const double *source = (const double *)packed;
    for (size_t b = 0; b < blocks; b++)
        for (size_t z = 4; z < 12; z++)
            for (size_t y = 4; y < 12; y++)
                for (size_t x = 4; x < 12; x++)
                    memory[(((b * 16 + z) * 16 + y) * 16 + x) * 24 + 3] = *source++;
}

struct particle {
    double position[3], velocity[3];
    uint64_t id;
    uint32_t kind;
};
void c_pack_particle(const struct particle *restrict v, size_t n, char *restrict packed) {
    for (size_t i = 0; i < n; i++, packed += 60) memcpy(packed, v + i, 60);
}
void c_unpack_particle(struct particle *restrict v, size_t n, const char *restrict packed) {
    for (size_t i = 0; i < n; i++, packed += 60) memcpy(v + i, packed, 60);
}

struct mixed {
    uint8_t flag;
    double value;
    int16_t level;
    float weight;
};
void c_pack_mixed(const struct mixed *restrict v, size_t n, char *restrict packed) {
    for (size_t i = 0; i < n; i++, v++) {
        PUT(v->flag);
        PUT(v->value);
        PUT(v->level);
        PUT(v->weight);
    }
}
void c_unpack_mixed(struct mixed *restrict v, size_t n, const char *restrict packed) {
    for (size_t i = 0; i < n; i++, v++) {
        GET(v->flag);
        GET(v->value);
        GET(v->level);
        GET(v->weight);
    }
}

struct twelve {
    uint8_t a;
    double b;
    int16_t c;
    float d;
    uint8_t e;
    uint64_t f;
    int32_t g;
    uint8_t h;
    double i;
    uint16_t j;
    float k;
    uint8_t l;
};
void c_pack_twelve(const struct twelve *restrict v, size_t n, char *restrict packed) {
    for (size_t i = 0; i < n; i++, v++) {
        PUT(v->a);
        PUT(v->b);
        PUT(v->c);
        PUT(v->d);
        PUT(v->e);
        PUT(v->f);
        PUT(v->g);
        PUT(v->h);
        PUT(v->i);
        PUT(v->j);
        PUT(v->k);
        PUT(v->l);
    }
}
void c_unpack_twelve(struct twelve *restrict v, size_t n, const char *restrict packed) {
    for (size_t i = 0; i < n; i++, v++) {
        GET(v->a);
        GET(v->b);
        GET(v->c);
        GET(v->d);
        GET(v->e);
        GET(v->f);
        GET(v->g);
        GET(v->h);
        GET(v->i);
        GET(v->j);
        GET(v->k);
        GET(v->l);
    }
}

#pragma pack(push, 1)
struct packed_fields {
    uint8_t a;
    double b;
    int16_t c;
    float d;
};
#pragma pack(pop)
void c_pack_packed(const struct packed_fields *restrict v, size_t n, char *restrict packed) {
    memcpy(packed, v, 15 * n);
}
void c_unpack_packed(struct packed_fields *restrict v, size_t n, const char *restrict packed) {
    memcpy(v, packed, 15 * n);
}

struct inner {
    uint8_t tag;
    uint32_t number;
};
struct middle {
    struct inner inner[2];
    uint16_t level;
};
struct outer {
    double value;
    struct middle middle;
    uint8_t last;
};
void c_pack_nested(const struct outer *restrict v, size_t n, char *restrict packed) {
    for (size_t i = 0; i < n; i++, v++) {
        PUT(v->value);
        PUT(v->middle.inner[0].tag);
        PUT(v->middle.inner[0].number);
        PUT(v->middle.inner[1].tag);
        PUT(v->middle.inner[1].number);
        PUT(v->middle.level);
        PUT(v->last);
    }
}
void c_unpack_nested(struct outer *restrict v, size_t n, const char *restrict packed) {
    for (size_t i = 0; i < n; i++, v++) {
        GET(v->value);
        GET(v->middle.inner[0].tag);
        GET(v->middle.inner[0].number);
        GET(v->middle.inner[1].tag);
        GET(v->middle.inner[1].number);
        GET(v->middle.level);
        GET(v->last);
    }
}

void c_pack_row_column(const double *restrict memory, size_t n, char *restrict packed) {
    memcpy(packed, memory, 8 * n);
    c_pack_strided(memory + n, n - 1, n, packed + 8 * n);
}
void c_unpack_row_column(double *restrict memory, size_t n, const char *restrict packed) {
    memcpy(memory, packed, 8 * n);
    c_unpack_strided(memory + n, n - 1, n, packed + 8 * n);
}

void c_pack_triangle(const double *restrict memory, size_t n, char *restrict packed) {
    for (size_t i = 0; i < n; packed += 8 * (n - i), i++) memcpy(packed, memory + i * n + i, 8 * (n - i));
}
void c_unpack_triangle(double *restrict memory, size_t n, const char *restrict packed) {
    for (size_t i = 0; i < n; packed += 8 * (n - i), i++) memcpy(memory + i * n + i, packed, 8 * (n - i));
}

/* In tiles that stay in the cache. */
#define TILE 16
void c_pack_transpose(const double *restrict memory, size_t n, char *restrict packed) {
    double *target = (double *)packed;
    for (size_t jj = 0; jj < n; jj += TILE)
        for (size_t ii = 0; ii < n; ii += TILE)
            for (size_t j = jj; j < n && j < jj + TILE; j++)
                for (size_t i = ii; i < n && i < ii + TILE; i++) target[j * n + i] = memory[i * n + j];
}
void c_unpack_transpose(double *restrict memory, size_t n, const char *restrict packed) {
    const double *source = (const double *)packed;
    for (size_t ii = 0; ii < n; ii += TILE)
        for (size_t jj = 0; jj < n; jj += TILE)
            for (size_t i = ii; i < n && i < ii + TILE; i++)
                for (size_t j = jj; j < n && j < jj + TILE; j++) memory[i * n + j] = source[j * n + i];
}

/* Blocks of `lengths[i]` numbers that begin at number `starts[i]`. */
void c_pack_lengths(const double *restrict memory, const int32_t *restrict starts,
                    const int32_t *restrict lengths, size_t n, char *restrict packed) {
    for (size_t i = 0; i < n; i++) {
        memcpy(packed, memory + starts[i], 8 * (size_t)lengths[i]);
        packed += 8 * (size_t)lengths[i];
    }
}
void c_unpack_lengths(double *restrict memory, const int32_t *restrict starts,
                      const int32_t *restrict lengths, size_t n, const char *restrict packed) {
    for (size_t i = 0; i < n; i++) {
        memcpy(memory + starts[i], packed, 8 * (size_t)lengths[i]);
        packed += 8 * (size_t)lengths[i];
    }
}

/* A box of a four-dimensional array of n numbers in each dimension. */
static const char *c_unpack_box(double *restrict memory, size_t n, const size_t *from, const size_t *to,
                                const char *packed) {
    for (size_t i = from[0]; i < to[0]; i++)
        for (size_t j = from[1]; j < to[1]; j++)
            for (size_t k = from[2]; k < to[2]; k++) {
                memcpy(memory + ((i * n + j) * n + k) * n + from[3], packed, 8 * (to[3] - from[3]));
                packed += 8 * (to[3] - from[3]);
            }
    return packed;
}
static char *c_pack_box(const double *restrict memory, size_t n, const size_t *from, const size_t *to,
                        char *packed) {
    for (size_t i = from[0]; i < to[0]; i++)
        for (size_t j = from[1]; j < to[1]; j++)
            for (size_t k = from[2]; k < to[2]; k++) {
                memcpy(packed, memory + ((i * n + j) * n + k) * n + from[3], 8 * (to[3] - from[3]));
                packed += 8 * (to[3] - from[3]);
            }
    return packed;
}
/* Applies `box` to the cells outside of the inner cells, at both ends of each dimension. */
#define FACES(box)                                                                                           \
    for (size_t d = 0; d < 4; d++)                                                                           \
        for (size_t end = 0; end < 2; end++) {                                                               \
            size_t from[4] = {1, 1, 1, 1}, to[4] = {n - 1, n - 1, n - 1, n - 1};                             \
            from[d] = end ? n - 1 : 0;                                                                       \
            to[d] = from[d] + 1;                                                                             \
            packed = box(memory, n, from, to, packed);                                                       \
        }
void c_pack_halo(const double *restrict memory, size_t n, char *restrict packed) { FACES(c_pack_box) }
void c_unpack_halo(double *restrict memory, size_t n, const char *restrict packed) { FACES(c_unpack_box) }
