/* The loops that a user writes who packs by hand, for elements of each size: nothing is known before the
   call, nothing is clever. Lengths and places are in elements. Each returns how many elements it has
   packed or unpacked. */

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t half[2];
} sixteen;

#define LOOPS(ELEMENT, BYTES)                                                                              \
    /* Blocks at some places of a period, again and again. */                                              \
    size_t user_pack_periodic_##BYTES(const ELEMENT *restrict memory, ELEMENT *restrict packed,            \
                                      size_t count, size_t period, size_t blocks, const size_t *places,    \
                                      const size_t *lengths) {                                             \
        if (blocks == 1 && lengths[0] == 1) {                                                              \
            for (size_t i = 0; i < count; i++) packed[i] = memory[places[0] + i * period];                 \
            return count;                                                                                  \
        }                                                                                                  \
        size_t n = 0;                                                                                      \
        for (size_t i = 0; i < count; i++)                                                                 \
            for (size_t k = 0; k < blocks; k++) {                                                          \
                const ELEMENT *block = memory + i * period + places[k];                                    \
                for (size_t j = 0; j < lengths[k]; j++) packed[n++] = block[j];                            \
            }                                                                                              \
        return n;                                                                                          \
    }                                                                                                      \
    size_t user_unpack_periodic_##BYTES(ELEMENT *restrict memory, const ELEMENT *restrict packed,          \
                                        size_t count, size_t period, size_t blocks, const size_t *places,  \
                                        const size_t *lengths) {                                           \
        if (blocks == 1 && lengths[0] == 1) {                                                              \
            for (size_t i = 0; i < count; i++) memory[places[0] + i * period] = packed[i];                 \
            return count;                                                                                  \
        }                                                                                                  \
        size_t n = 0;                                                                                      \
        for (size_t i = 0; i < count; i++)                                                                 \
            for (size_t k = 0; k < blocks; k++) {                                                          \
                ELEMENT *block = memory + i * period + places[k];                                          \
                for (size_t j = 0; j < lengths[k]; j++) block[j] = packed[n++];                            \
            }                                                                                              \
        return n;                                                                                          \
    }                                                                                                      \
    /* Blocks of one length at places in a list. */                                                        \
    size_t user_pack_listed_##BYTES(const ELEMENT *restrict memory, ELEMENT *restrict packed,              \
                                    size_t count, size_t length, const int *places) {                      \
        if (length == 1) {                                                                                 \
            for (size_t i = 0; i < count; i++) packed[i] = memory[places[i]];                              \
            return count;                                                                                  \
        }                                                                                                  \
        for (size_t i = 0; i < count; i++)                                                                 \
            for (size_t j = 0; j < length; j++) packed[i * length + j] = memory[places[i] + j];            \
        return count * length;                                                                             \
    }                                                                                                      \
    size_t user_unpack_listed_##BYTES(ELEMENT *restrict memory, const ELEMENT *restrict packed,            \
                                      size_t count, size_t length, const int *places) {                    \
        if (length == 1) {                                                                                 \
            for (size_t i = 0; i < count; i++) memory[places[i]] = packed[i];                              \
            return count;                                                                                  \
        }                                                                                                  \
        for (size_t i = 0; i < count; i++)                                                                 \
            for (size_t j = 0; j < length; j++) memory[places[i] + j] = packed[i * length + j];            \
        return count * length;                                                                             \
    }

LOOPS(uint8_t, 1)
LOOPS(uint16_t, 2)
LOOPS(uint32_t, 4)
LOOPS(uint64_t, 8)
LOOPS(sixteen, 16)
