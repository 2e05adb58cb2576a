/* SPDX-License-Identifier: MIT */
/*
 * The library's natives that wait, when something fails: each allocation of the heap, each of libcoir's, each system
 * call in its turn. Whatever it is, the program ends by itself, or is told by a trap it can catch; nothing is left of
 * it, and no descriptor is open. It runs in this process, from its text to its end.
 */
#include <fcntl.h>

#include "lang/compile.h"
#include "lang/emit.h"
#include "runtime/base/fault.h"
#include "runtime/base/pool.h"
#include "tests/ops/scratch.h"
#include "vm/native.h"
#include "vm/vm.h"

static const char everything[] =
    "use env, fs, io, net, time\n"
    "fn serve(own l: net.Listener) {\n"
    "    let c = l.accept()\n"
    "    while let line = c.read_line() { c.write(\"${line}!\") }\n"
    "    c.finish()\n"
    "}\n"
    "fn talk() -> Text {\n"
    "    let l = net.listen(\"unix:s\")\n"
    "    let t = spawn serve(l)\n"
    "    let (r, w) = net.connect(\"unix:s\").split()\n"
    "    w.write(\"one\\ntwo\\n\")\n"
    "    let got = r.read_exactly(8) ?? \"\"\n"
    "    w.close()\n"
    "    let end = r.read(9) ?? \"end\"\n"
    "    t.join()\n"
    "    return \"${got} ${end}\"\n"
    "}\n"
    "fn files() -> Text {\n"
    "    fs.make_dir(\"d/e\")\n"
    "    fs.write(\"d/a\", \"x\\ny\\n\")\n"
    "    fs.append(\"d/a\", \"z\")\n"
    "    let f = fs.open(\"d/a\") ?? return \"none\"\n"
    "    let line = f.read_line()\n"
    "    let g = fs.create(\"d/g\")\n"
    "    g.write(f.read(100) ?? \"\")\n"
    "    g.sync()\n"
    "    g.seek(1)\n"
    "    let said = \"${line} ${g.read(1)} ${g.size()} ${fs.list(\"d\")} ${fs.read(\"d/a\")} ${fs.exists(\"d/g\")}\"\n"
    "    g.close()\n"
    "    fs.rename(\"d/g\", \"d/h\")\n"
    "    if let info = fs.stat(\"d/h\") { assert info.size == 3 }\n"
    "    return \"${said} ${fs.remove(\"d/h\")} ${fs.remove(\"d/e\")}\"\n"
    "}\n"
    "fn main() {\n"
    "    print(env.cwd(), env.get(\"HOME\"), env.args(), env.all().len())\n"
    "    io.write(time.format(time.now(), \"%Y %b %d\"))\n"
    "    io.write(\"x\".repeat(70_000))\n"
    "    io.eprint(\"y\")\n"
    "    time.sleep(1us)\n"
    "    io.write(io.read_line() ?? \"\")\n"
    "    io.write(io.read_all())\n"
    "    try { within 1us { time.sleep(1h) } } catch e { assert e.code == \"Timeout\" or e.code == \"Memory\" }\n"
    "    fs.write(\"said\", \"${files()} ${talk()}\")\n"
    "}\n";

static const char whole[] = "x \n 3 [\"a\", \"e\", \"g\"] x\ny\nz true true true one!two! end";

/* ---- with the standard streams elsewhere ---- */

static int streams[3];

static void streams_away(void)
{
    static const int flags[3] = { O_RDONLY, O_WRONLY | O_CREAT | O_TRUNC, O_WRONLY | O_CREAT | O_TRUNC };
    static const char *const names[3] = { "in", "out", "err" };

    for (int i = 0; i < 3; i++) {
        const int fd = open(names[i], flags[i] | O_CLOEXEC, 0600);

        streams[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
        dup2(fd, i);
        close(fd);
    }
}

static void streams_back(void)
{
    for (int i = 0; i < 3; i++) {
        dup2(streams[i], i);
        close(streams[i]);
    }
}

static void *image;
static size_t length;
static struct coir_vm_report last;

static bool compiled(void)
{
    struct coir_budget memory = { 0 };
    struct coir_compilation c;

    EQ(coir_compile_text(&c, &memory, "everything.coir", everything, strlen(everything)), 0, "it can be read");
    if (!EQ(c.diagnostics.errors, 0, "it is right"))
        coir_diagnostics_print(&c.diagnostics, stdout);
    else
        EQ(coir_emit(&c.typed, COIR_EMIT_MAIN, &image, &length, &c.diagnostics), 0, "it has an image");
    coir_compilation_free(&c);
    return image != NULL;
}

static int run(void)
{
    static const struct coir_vm_options options = { .natives = coir_standard_natives, .seed = 1 };
    static char *const args[] = { "a", "b" };
    int code;

    unlink("said");
    unlink("s");
    memset(&last, 0, sizeof last);
    streams_away();
    code = coir_vm_run(image, length, 2, args, &options, &last);
    streams_back();
    return code;
}

static const char *said(void)
{
    static char text[1000];
    const int fd = open("said", O_RDONLY);
    const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

    text[n > 0 ? n : 0] = 0;
    if (fd >= 0)
        close(fd);
    return text;
}

/* ---- each fails ---- */

#ifdef COIR_FAULTS
enum { MOST = 3000 };

/* `at` is what counts down to the failure. */
static void each_fails(const char *what, long *at, int least)
{
    const int before = open_descriptors();
    int wrong = 0, odd = 0, open_files = 0;
    long n = 0;

    for (; n < MOST; n++) {
        *at = n + 1;
        const int code = run();
        const bool failed = *at == 0;

        *at = 0;
        if (!failed)
            break;
        wrong += last.lives != 0;
        odd += code != 0 && code != 1 && code != 2;
        open_files += open_descriptors() != before;
    }
    OK(n > least && n < MOST, "%ld %s fail, one after the other", n, what);
    EQ(wrong, 0, "each time everything is given back");
    EQ(odd, 0, "and main ends by itself, or is told");
    EQ(open_files, 0, "and nothing is left open");
    STR_EQ(said(), whole, "with all of them it runs to its end");
}

static void all_fail(void)
{
    each_fails("allocations", &coir_heap_fail_at, 100);
    each_fails("allocations of libcoir", &coir_fail_alloc_at, 5);
    coir_fail_syscall_with = EIO;
    each_fails("system calls", &coir_fail_syscall_at, 10);
}
#else
static void all_fail(void)
{
    SKIP("nothing fails in builds without faults");
}
#endif

int main(void)
{
    scratch_begin();
    const int fd = open("in", O_WRONLY | O_CREAT, 0600);
    EQ(write(fd, "a line\nand more", 15), 15, "there is a stdin");
    close(fd);
    if (compiled()) {
        EQ(run(), 0, "all of it ends well");
        EQ(last.lives, 0, "leaving nothing");
        STR_EQ(said(), whole, "and is what was meant");
        all_fail();
    }
    free(image);
    scratch_end();
    return DONE();
}
