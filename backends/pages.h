/* Inside backends: memory that kernels stream through: 64-byte aligned, on huge pages where it is large, so that a tile
 * does not wait for translations of addresses. */
#ifndef GSRT_BACKENDS_PAGES_H
#define GSRT_BACKENDS_PAGES_H

#include <stddef.h>
#include <stdint.h>

/* `bytes` of unspecified content; owned; NULL: no memory. Free with the same number of bytes. */
uint8_t *gsrt__pages_create(size_t bytes);
void gsrt__pages_free(uint8_t *data, size_t bytes);

#endif
