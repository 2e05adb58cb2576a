/* SPDX-License-Identifier: MIT */
/*
 * Stores by paths, on a real filesystem: what init refuses and says, and what it does not leave behind; finding all
 * files by any one of them, where they were moved to, what is locked.
 */
#include "volume/find.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../ops/scratch.h"

#define MIB ((uint64_t)1 << 20)

static struct coir_files *files;
static struct coir_complaint complaint;

static struct coir_files *fresh(void)
{
    free(files);
    files = calloc(1, sizeof *files);
    complaint.status = 0;
    complaint.text[0] = 0;
    return files;
}

static bool is_open(void)
{
    for (unsigned i = 0; i < COIR_STORE_FILES; i++)
        if (files->file[i].device)
            return true;
    return false;
}

/* In a body: makes, or finds, and compares the status and what is complained of. */
#define INIT(status_, words, forced, ...) do { \
    f->list[0] = f->list[1] = f->list[2] = (struct coir_new_file){ NULL, 0 }; \
    memcpy(f->list, ((struct coir_new_file[]){ __VA_ARGS__ }), sizeof (struct coir_new_file[]){ __VA_ARGS__ }); \
    coir_await(f, &f->init, coir_files_create, .files = fresh(), .list = f->list, .complaint = &complaint, \
               .n = sizeof (struct coir_new_file[]){ __VA_ARGS__ } / sizeof (struct coir_new_file), \
               .force = (forced)); \
    JUDGE(status_, words, &f->init); \
    } while (0)

#define FIND(status_, words, path_, ...) do { \
    coir_await(f, &f->find, coir_store_find, .files = fresh(), .path = (path_), .complaint = &complaint, __VA_ARGS__); \
    JUDGE(status_, words, &f->find); \
    } while (0)

#define JUDGE(status_, words, slot) do { \
    EQ(coir_status(slot), status_, "line %d: %s", __LINE__, complaint.text); \
    if ((status_) < 0) \
        OK(strstr(complaint.text, words), "it says \"%s\": %s", words, complaint.text); \
    if ((status_) < 0) \
        OK(!is_open(), "and nothing is open"); \
    } while (0)

#define CLOSE() coir_await(f, &f->close, coir_files_close, .files = files)

#define TASK(name) \
    struct name { \
        coir_frame_void; \
        coir_no_args; \
        struct coir_new_file list[3]; \
        struct coir_moved_file moved[2]; \
        unsigned i; \
        struct coir_files_create init; \
        struct coir_store_find find; \
        struct coir_files_close close; \
        struct coir_files_mend mend; \
        struct coir_file_open open; \
    }; \
    static coir_declare(name)

static void put(const char *path, const void *bytes, size_t n, off_t offset)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0 || pwrite(fd, bytes, n, offset) != (ssize_t)n)
        OK(false, "%s: %m", path);
    close(fd);
}

/* Runs a program without output; false: it failed, or is not there. */
static bool run(const char *command)
{
    char line[300];

    snprintf(line, sizeof line, "PATH=$PATH:/usr/sbin:/sbin; (%s) >log 2>&1", command);
    const int status = system(line);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- making ---- */

TASK(make);
coir_body(make, f) {
    INIT(0, "", false, { "a.coir", 64 * MIB });
    EQ(size_of("a.coir"), (1536 + 512) * 4096, "it is as long as an empty store of 64 MiB is");
    OK(files->file[0].path[0] == '/' && strstr(files->file[0].path, "/a.coir"), "its path is absolute");
    CLOSE();
    INIT(-EEXIST, "holds a store already", false, { "a.coir", 64 * MIB });
    INIT(0, "", true, { "a.coir", 40 * MIB });
    EQ(files->file[0].layout.blocks, 10240, "--force makes another one of it");
    CLOSE();

    INIT(-EINVAL, "say how large", false, { "new", 0 });
    EQ(size_of("new"), -1, "what was made is removed");
    INIT(-ENOSPC, "at least 32 MiB", false, { "new", 31 * MIB });
    EQ(size_of("new"), -1, "what was made is removed");
    INIT(-EEXIST, "a.coir: it holds a store", false, { "new", 64 * MIB }, { "a.coir", 64 * MIB });
    EQ(size_of("new"), -1, "what was made is removed, when it is another one that is refused");
    INIT(-EBUSY, "named twice", false, { "new", 64 * MIB }, { "./new", 64 * MIB });
    EQ(size_of("new"), -1, "what was made is removed");
    INIT(-ENOENT, "no/such/folder", false, { "no/such/folder", 64 * MIB });
    INIT(-ENOTBLK, "neither a file nor a block device", false, { "/dev/null", 64 * MIB });
    coir_await(f, &f->init, coir_files_create, .files = fresh(), .list = f->list, .n = 65, .complaint = &complaint);
    JUDGE(-EINVAL, "1 to 64 files", &f->init);

    put("text", "hello", 5, 0);
    INIT(-EEXIST, "it is not empty (5 bytes)", false, { "text", 64 * MIB });
    EQ(size_of("text"), 5, "it was not touched");
    INIT(0, "", true, { "text", 64 * MIB });
    CLOSE();
    FIND(0, "", "text");
    CLOSE();
    EQ(truncate("text", 0), 0, "a file that is empty");
    INIT(0, "", false, { "text", 64 * MIB });
    CLOSE();
    unlink("hole");
    put("hole", "", 0, 0);
    EQ(truncate("hole", 48 * MIB), 0, "a file that is all hole");
    INIT(0, "", false, { "hole", 0 });
    EQ(files->file[0].layout.blocks, 48 * 256, "gives a store of its size");
    EQ(size_of("hole"), (1536 + 512) * 4096, "but is as long as it has to be");
    CLOSE();
} coir_end

/* ---- what others have put there ---- */

TASK(foreign);
coir_body(foreign, f) {
    static const unsigned char mbr[66] = { 0, 0x20, 0x21, 0, 0x83, 0x29, 0x03, 0x04, 0, 8, 0, 0, 0, 0x40, 0, 0 };
    static const unsigned char end[2] = { 0x55, 0xAA };

    put("mbr", mbr, sizeof mbr, 446);
    put("mbr", end, 2, 510);
    put("mbr", "", 1, 64 * MIB - 1);
    INIT(-EEXIST, "it holds a partition table (dos)", false, { "mbr", 64 * MIB });
    put("swap", "SWAPSPACE2", 10, 4086);
    put("swap", "\1\0\0\0\0\20\0\0", 8, 1024);
    put("swap", "", 1, 64 * MIB - 1);
    INIT(-EEXIST, "it holds swap", false, { "swap", 64 * MIB });
    INIT(0, "", true, { "swap", 64 * MIB });
    CLOSE();
    FIND(0, "", "swap");
    CLOSE();
    if (run("command -v mke2fs")) {
        OK(run("mke2fs -q -L photos ext4 64M"), "a filesystem");
        INIT(-EEXIST, "it holds ext2 (filesystem), labelled photos", false, { "ext4", 0 });
    } else {
        SKIP("no mke2fs here");
    }
    if (run("command -v sfdisk")) {
        put("gpt", "", 1, 64 * MIB - 1);
        OK(run("printf 'label: gpt\n,10M\n' | sfdisk gpt"), "a partition table");
        INIT(-EEXIST, "it holds a partition table (gpt)", false, { "gpt", 0 });
    } else {
        SKIP("no sfdisk here");
    }
} coir_end

/* ---- finding ---- */

TASK(several);
coir_body(several, f) {
    OK(mkdir("x", 0700) == 0 && mkdir("y", 0700) == 0, "folders");
    INIT(0, "", false, { "x/one", 64 * MIB }, { "x/two", 32 * MIB }, { "x/three", 32 * MIB });
    CLOSE();
    for (f->i = 0; f->i < 3; f->i++) {
        FIND(0, "", f->i == 0 ? "x/one" : f->i == 1 ? "x/two" : "x/three");
        EQ(files->n, 3, "all three are found by each");
        OK(strstr(files->file[2].path, "/x/three"), "in their order");
        EQ(files->file[f->i].stale_paths, 0, "each knows where the others are");
        CLOSE();
    }

    EQ(rename("x/two", "y/two"), 0, "one is moved");
    FIND(-ENOENT, "file 1 of the store was not found", "x/one");
    OK(strstr(complaint.text, "--file 1=PATH") && strstr(complaint.text, "/x/two: No such file"),
       "and how to name it: %s", complaint.text);
    f->moved[0] = (struct coir_moved_file){ 1, "y/two" };
    FIND(0, "", "x/one", .moved = f->moved, .n = 1);
    EQ(files->file[0].stale_paths, 2, "the first one has an old path of the second");
    coir_await(f, &f->mend, coir_files_mend, .files = files, .complaint = &complaint);
    EQ(coir_status(&f->mend), 0, "which is written again");
    EQ(files->file[0].stale_paths, 0, "and then is right");
    CLOSE();
    FIND(0, "", "x/three");
    CLOSE();
    FIND(0, "", "y/two");
    OK(strstr(files->file[0].path, "/x/one"), "the one that was moved knows the others still");
    CLOSE();

    f->moved[0] = (struct coir_moved_file){ 2, "y/two" };
    FIND(-EBADMSG, "it is file 1 of the store, and is named as file 2", "x/one", .moved = f->moved, .n = 1);
    f->moved[0] = (struct coir_moved_file){ 3, "y/two" };
    FIND(-EINVAL, "has 3 files, and no file 3", "x/one", .moved = f->moved, .n = 1);
    f->moved[0] = (struct coir_moved_file){ 0, "x/one" };
    FIND(-EINVAL, "file 0 of the store is named twice", "x/one", .moved = f->moved, .n = 1);
    f->moved[0] = (struct coir_moved_file){ 1, "a.coir" };
    FIND(-EBADMSG, "belongs to another store", "x/one", .moved = f->moved, .n = 1);

    EQ(rename("y/two", "x/two"), 0, "back again");
    EQ(rename("x", "z"), 0, "all of them are moved, with their folder");
    FIND(0, "", "z/two");
    OK(strstr(files->file[0].path, "/z/one") && strstr(files->file[2].path, "/z/three"), "and found beside each other");
    EQ(files->file[2].stale_paths, 7, "all paths are old");
    CLOSE();
    EQ(unlink("z/three"), 0, "one is gone");
    put("z/three", "", 1, 40 * MIB);
    FIND(-EBADMSG, "headers are damaged", "z/one");
} coir_end

/* ---- locks, reading only, what is no store ---- */

TASK(locks);
coir_body(locks, f) {
    static struct coir_files *served;

    FIND(-ENOENT, "none: ", "none");
    FIND(-ENODATA, "shorter than the first MiB", "log");
    FIND(-EBADMSG, "no store, or its headers are damaged: the one at block 0 is all zeros", "mbr0");
    FIND(0, "", "a.coir");
    served = files;
    files = NULL;
    FIND(-EBUSY, "in use: another process has the store open", "a.coir");
    FIND(-EBUSY, "in use", "a.coir", .read_only = true);
    INIT(-EBUSY, "in use by another process", true, { "a.coir", 64 * MIB });
    coir_await(f, &f->close, coir_files_close, .files = served);
    free(served);
    FIND(0, "", "a.coir", .read_only = true);
    OK(files->read_only, "it is for reading");
    files->file[0].bad_header[1] = true;
    coir_await(f, &f->mend, coir_files_mend, .files = files, .complaint = &complaint);
    EQ(coir_status(&f->mend), 0, "nothing is mended");
    OK(files->file[0].bad_header[1], "and that stays known");
    served = files;
    files = NULL;
    FIND(0, "", "a.coir", .read_only = true);
    CLOSE();
    coir_await(f, &f->close, coir_files_close, .files = served);
    free(served);
} coir_end

int main(void)
{
    char path[COIR_PATH_MAX + 1], longest[COIR_PATH_MAX + 10];

    scratch_begin();
    const int descriptors = open_descriptors();
    WITHOUT_CHANCE("whole");
    EQ(coir_run(NULL, coir_new(make)), 0, "making");
    EQ(coir_run(NULL, coir_new(foreign)), 0, "what others have put there");
    EQ(coir_run(NULL, coir_new(several)), 0, "finding");
    put("mbr0", "", 1, 2 * MIB);
    EQ(coir_run(NULL, coir_new(locks)), 0, "locks");
    EQ(open_descriptors(), descriptors, "no descriptor is left");

    EQ(coir_path_absolute(path, "/a/b"), 0, "an absolute path");
    STR_EQ(path, "/a/b", "stays");
    EQ(coir_path_absolute(path, "b"), 0, "a relative one");
    OK(path[0] == '/' && strcmp(strrchr(path, '/'), "/b") == 0, "does not: %s", path);
    memset(longest, 'x', sizeof longest);
    longest[0] = '/';
    longest[COIR_PATH_MAX] = 0;
    EQ(coir_path_absolute(path, longest), 0, "the longest");
    longest[COIR_PATH_MAX] = 'x';
    longest[COIR_PATH_MAX + 1] = 0;
    EQ(coir_path_absolute(path, longest), -ENAMETOOLONG, "one longer");
    free(files);
    scratch_end();
    return DONE();
}
