/* SPDX-License-Identifier: MIT */
/*
 * Lent buffers in the kernel's hands: a ring of provided buffers, from which a receive takes one when data has
 * come. The ring has room for all there can ever be, so adding one cannot fail. Its memory is shared with the
 * kernel by pages, so a fork must not copy it.
 *
 * A buffer comes back by the completion that names it, whatever became of the operation, and never otherwise.
 */
#include <sys/mman.h>

#include "runtime/plane/lends.h"
#include "runtime/plane/uring.h"

enum { RING_BYTES = COIR_LENT_BUFFERS * sizeof(struct io_uring_buf) };

static bool make_ring(struct coir_uring_plane *p)
{
    void *at = coir_alloc_fails() ? MAP_FAILED
             : mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct io_uring_buf_reg reg = { .ring_addr = (uintptr_t)at, .ring_entries = COIR_LENT_BUFFERS,
                                    .bgid = COIR_LENDS_GROUP };

    if (at == MAP_FAILED)
        return false;
    madvise(at, RING_BYTES, MADV_DONTFORK);
    io_uring_buf_ring_init(at);
    if (io_uring_register_buf_ring(&p->ring, &reg, 0) < 0) {
        munmap(at, RING_BYTES);
        return false;
    }
    p->buffers = at;
    return true;
}

bool coir_uring_provide(struct coir_plane *plane, unsigned id)
{
    struct coir_uring_plane *p = coir_uring_self(plane);
    struct io_uring_buf_ring *ring;

    if (!(p->features & COIR_RING_BUFRING))
        return false;
    if (!p->buffers && !make_ring(p)) {
        p->features &= ~(unsigned)COIR_RING_BUFRING;
        return false;
    }
    ring = p->buffers;
    io_uring_buf_ring_add(ring, coir_lends_at(plane->lends, id), COIR_LENT_MAX, (unsigned short)id,
                          COIR_LENT_BUFFERS - 1, 0);
    io_uring_buf_ring_advance(ring, 1);
    return true;
}

void coir_uring_lent(struct coir_uring_plane *p, struct coir_io *io, int res, unsigned flags)
{
    struct coir_lends *l = p->base.lends;
    const unsigned id = flags >> IORING_CQE_BUFFER_SHIFT;

    if (io)
        coir_lends_set_id(io, -1);
    if (!(flags & IORING_CQE_F_BUFFER))
        return;
    coir_lends_filled(l, id, res > 0 ? (size_t)res : 0);
    if (res > 0 && io)
        coir_lends_set_id(io, (int)id);
    else                                     /* at the end of a stream some kernels take one all the same */
        coir_lends_release(l, id);
}

void coir_uring_unprovide(struct coir_uring_plane *p)
{
    if (!p->buffers)
        return;
    io_uring_unregister_buf_ring(&p->ring, COIR_LENDS_GROUP);
    munmap(p->buffers, RING_BYTES);
    p->buffers = NULL;
}
