/* SPDX-License-Identifier: MIT */
/* Growing. One at a time: two who find no space would else each make a file grow by what one of them needs. */
#include "volume/grow.h"

#include "device/rules.h"
#include "runtime/base/assert.h"

enum { STEP = (64 << 20) / COIR_BLOCK };

void coir_grower_init(struct coir_grower *grower, struct coir_files *files, struct coir_space *space)
{
    *grower = (struct coir_grower){ .files = files, .space = space };
    coir_event_init(&grower->ended);
}

/* What says that there is no room, and not that the device is broken: the disk, the quota, the filesystem's or the
 * process's largest file. */
static bool is_full(int status)
{
    return status == -ENOSPC || status == -EDQUOT || status == -EFBIG;
}

static uint64_t limit(uint64_t step, uint64_t most)
{
    return step < most ? step : most;
}

coir_body(coir_grow_file, f) {
    f->device = f->grower->files->file[f->file].device;
    f->step = limit(f->grower->step ? f->grower->step : STEP,
                    f->grower->files->file[f->file].layout.blocks - coir_space_grown_to(f->grower->space, f->file));
    COIR_ASSERT(f->step > 0 && f->step % COIR_REGION == 0);
    do {
        f->grown = coir_space_grown_to(f->grower->space, f->file) + f->step;
        coir_await(f, &f->grow, coir_device_grow, .device = f->device, .size = f->grown * COIR_BLOCK);
        f->step = f->step / 2 / COIR_REGION * COIR_REGION;
    } while (is_full(coir_status(&f->grow)) && f->step > 0);
    if (is_full(coir_status(&f->grow)))
        coir_fail(f, ENOSPC);
    if (coir_status(&f->grow) < 0)
        coir_fail(f, coir_complain(f->complaint, coir_status(&f->grow), "%s: cannot grow: %s", f->device->name,
                                   coir_strerror(coir_status(&f->grow))));
    if (COIR_RULE(GROWN_IS_DURABLE))
        coir_await(f, &f->flush, coir_device_flush, .device = f->device);
    if (COIR_RULE(GROWN_IS_DURABLE) && coir_status(&f->flush) < 0)
        coir_fail(f, coir_complain(f->complaint, coir_status(&f->flush), "%s: cannot make its length durable: %s",
                                   f->device->name, coir_strerror(coir_status(&f->flush))));
    if (coir_space_grown(f->grower->space, f->file, f->grown) < 0)
        coir_fail(f, ENOMEM);
} coir_end

coir_body(coir_space_grow, f) {
    f->mine = false;
    if (f->grower->busy) {
        coir_try(f, &f->wait, coir_event_wait, .event = &f->grower->ended);
        coir_return(f);
    }
    f->grower->busy = f->mine = true;
    coir_event_reset(&f->grower->ended);
    for (f->tried = 0;; f->tried |= (uint64_t)1 << f->file) {
        f->file = coir_space_to_grow(f->grower->space, false, f->tried);
        if (f->file < 0)
            f->file = coir_space_to_grow(f->grower->space, true, f->tried);
        if (f->file < 0)
            coir_fail(f, ENOSPC);
        coir_await(f, &f->grow, coir_grow_file, .grower = f->grower, .file = (unsigned)f->file,
                   .complaint = f->complaint);
        if (coir_status(&f->grow) != -ENOSPC) {
            coir_check(f, &f->grow);
            coir_return(f);
        }
        coir_space_stuck(f->grower->space, (unsigned)f->file);
    }
    coir_finally(f) {
        if (f->mine) {
            f->grower->busy = false;
            coir_event_set(&f->grower->ended);
        }
    }
} coir_end
