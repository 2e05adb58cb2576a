/* SPDX-License-Identifier: MIT */
/*
 * What programs cost in cells: that nothing is copied which nobody shares, that what is shared is copied once, and that
 * nothing is left. The counts are exact, and worked out by hand: a program is run with n and with 2n turns of its loop,
 * so that what it needs besides cancels out. It runs in this process, from its text to its end.
 */
#include <stdio.h>

#include "lang/compile.h"
#include "lang/emit.h"
#include "runtime/base/torture.h"
#include "tests/tap.h"
#include "vm/native.h"
#include "vm/vm.h"

enum { TURNS = 1000 };

/* The program, with the number of its turns before it. */
static struct coir_vm_report run(const char *name, const char *text, int n, uint32_t shards)
{
    const struct coir_vm_options options = {
        .natives = coir_standard_natives, .dispatch = "labels", .shards = shards
    };
    struct coir_vm_report report = { .lives = 1 };
    struct coir_budget memory = { 0 };
    struct coir_compilation c;
    char source[4096];
    void *image = NULL;
    size_t length;

    snprintf(source, sizeof source, "let turns = %d\n%s", n, text);
    EQ(coir_compile_text(&c, &memory, "count.coir", source, strlen(source)), 0, "%s: it can be read", name);
    EQ(c.diagnostics.errors, 0, "%s: it is right", name);
    if (c.diagnostics.errors)
        coir_diagnostics_print(&c.diagnostics, stdout);
    else if (EQ(coir_emit(&c.typed, COIR_EMIT_MAIN, &image, &length, &c.diagnostics), 0, "%s: it has an image", name))
        EQ(coir_vm_run(image, length, 0, NULL, &options, &report), 0, "%s: it ends well", name);
    EQ(report.lives, 0, "%s: nothing is left", name);
    free(image);
    coir_compilation_free(&c);
    return report;
}

/* What one turn costs: cells copied, and memory taken. `most`: allocations that may come with growing. */
static void costs_on(uint32_t shards, const char *name, const char *text, uint64_t copies, uint64_t allocations,
                     uint64_t most)
{
    const struct coir_vm_report once = run(name, text, TURNS, shards), twice = run(name, text, 2 * TURNS, shards);
    const uint64_t taken = twice.allocations - once.allocations;

    EQ(twice.copies - once.copies, copies * TURNS, "%s: %d copies a turn", name, (int)copies);
    if (COIR_TORTURED)                  /* there every call moves the stack */
        OK(taken >= allocations * TURNS, "%s: %d allocations a turn, and stacks", name, (int)allocations);
    else
        OK(taken >= allocations * TURNS && taken <= allocations * TURNS + most,
           "%s: %d allocations a turn: %d in %d turns", name, (int)allocations, (int)taken, TURNS);
}

static void costs(const char *name, const char *text, uint64_t copies, uint64_t allocations, uint64_t most)
{
    costs_on(1, name, text, copies, allocations, most);
}

/* ---- what nobody shares is changed where it stands ---- */

static void unshared(void)
{
    costs("appending to a list", "fn main() { var xs: List[Int] = []\n for i in 0..turns { xs.push(i) } }", 0, 0, 4);
    costs("appending by +=", "fn main() { var xs: List[Int] = []\n for i in 0..turns { xs += [i] } }", 0, 2, 4);
    costs("appending by +", "fn main() { var xs: List[Int] = []\n for i in 0..turns { xs = xs + [i] } }", 0, 2, 4);
    costs("appending to a text", "fn main() { var s = \"\"\n for i in 0..turns { s += \"x\" } }", 0, 0, 8);
    costs("appending to a text by +", "fn main() { var s = \"\"\n for i in 0..turns { s = s + \"x\" } }", 0, 0, 8);
    costs("elements", "fn main() { var xs = [1, 2, 3]\n for i in 0..turns { xs[i % 3] += 1 } }", 0, 0, 0);
    costs("fields of elements",
          "type P { x: Int, s: Text }\n"
          "fn main() { var ps = [P{ x: 1, s: \"a\" }, P{ x: 2, s: \"b\" }]\n"
          "for i in 0..turns { ps[i % 2].x += 1; ps[i % 2].s = \"c\" } }", 0, 0, 0);
    costs("a long path",
          "type In { xs: List[Int] }\ntype Out { m: Map[Int, In] }\n"
          "fn main() { var o = Out{ m: [7: In{ xs: [1] }] }\n for i in 0..turns { o.m[7].xs[0] += i } }", 0, 0, 0);
    costs("appending at the end of a path",
          "type In { xs: List[Int] }\nfn main() { var all = [In{ xs: [] }]\n for i in 0..turns { all[0].xs.push(i) } }",
          0, 0, 4);
    costs("a map's values", "fn main() { var m = [1: 0]\n for i in 0..turns { m[1] += 1; m[1] = i } }", 0, 0, 0);
    costs("mut arguments",
          "fn grow(mut xs: List[Int], i: Int) { xs.push(i) }\n"
          "fn main() { var xs: List[Int] = []\n for i in 0..turns { grow(mut xs, i) } }", 0, 0, 4);
    costs("mut arguments within",
          "type P { xs: List[Int] }\nfn grow(mut xs: List[Int], i: Int) { xs.push(i) }\n"
          "fn main() { var ps = [P{ xs: [] }]\n for i in 0..turns { grow(mut ps[0].xs, i) } }", 0, 0, 4);
    costs("methods on themselves",
          "type P { n: Int, xs: List[Int], fn add(mut self, i: Int) { self.n += i; self.xs.push(i) } }\n"
          "fn main() { var p = P{ n: 0, xs: [] }\n for i in 0..turns { p.add(i) } }", 0, 0, 4);
}

/* ---- what is only looked at is not copied, nor what is handed on for the last time ---- */

static void lent(void)
{
    costs("arguments",
          "fn sum(xs: List[Int]) -> Int { return xs[0] + xs.len() }\n"
          "fn main() { let xs = [1, 2, 3]\n var n = 0\n for i in 0..turns { n += sum(xs) } }", 0, 0, 0);
    costs("loops over lists", "fn main() { let xs = [\"a\", \"b\"]\n var n = 0\n"
          "for i in 0..turns { for x in xs { n += x.len() } } }", 0, 0, 0);
    costs("matches",
          "type S = A(t: Text) | B(xs: List[Int]) | C\n"
          "fn size(s: S) -> Int { return match s { A(t) => t.len(), B(xs) => xs.len(), C => 0 } }\n"
          "fn main() { let all = [A(\"abc\"), B([1]), C]\n var n = 0\n for i in 0..turns { n += size(all[i % 3]) } }",
          0, 0, 0);
    costs("closures that are called", "fn main() { let k = [1, 2]\n let f = fn(x: Int) -> Int { return x + k[1] }\n"
          "var n = 0\n for i in 0..turns { n += f(i) } }", 0, 0, 0);
    costs("results", "fn make(n: Int) -> List[Int] { var xs = [n]\n xs.push(n)\n return xs }\n"
          "fn main() { for i in 0..turns { let xs = make(i) } }", 0, 3, 0);
    costs("optionals", "fn main() { let m = [\"a\": \"x\"]\n var n = 0\n"
          "for i in 0..turns { if let t = m.get(\"a\") { n += t.len() } } }", 0, 0, 0);
}

/* ---- what is shared is copied by who changes it, once, and nothing around it ---- */

static void shared(void)
{
    costs("the first change of a copy",
          "fn main() { let old = [1, 2, 3]\n for i in 0..turns { var xs = old\n xs[0] = i; xs[1] = i; xs.push(i) } }",
          1, 3, 0);
    costs("a path of which the end is shared",
          "type P { xs: List[Int], name: Text }\n"
          "fn main() { let old = [1, 2]\n var p = P{ xs: old, name: \"n\" }\n"
          "for i in 0..turns { p.xs = old; p.xs[0] = i; p.xs[1] = i } }", 1, 2, 0);
    costs("a record of which another is a copy",
          "type P { a: Int, b: List[Int] }\n"
          "fn main() { let old = P{ a: 1, b: [1] }\n for i in 0..turns { var p = old\n p.a = i; p.a += 1 } }", 1, 1, 0);
    costs("what is run over while it changes",
          "fn main() { var xs = [1, 2]\n for i in 0..turns { for x in xs { xs[0] = x } } }", 1, 2, 0);
}

/* ---- what goes to another shard takes what a visit needs, and is not copied when nobody shares it ---- */

static void far(void)
{
    static const char actor[] = "actor A { n: Int = 0, kept: List[Int] = []\n"
                                "on add(k: Int) -> Int { n += k; return n }\n"
                                "on keep(xs: List[Int]) { kept = xs }\n"
                                "on take() -> List[Int] { return kept } }\n";
    char text[1024];

    snprintf(text, sizeof text, "%sfn main() { let a = spawn A{}\n for i in 0..turns { a.add(i) } }", actor);
    costs("calls of an actor: the message", text, 0, 1, 0);
    snprintf(text, sizeof text, "%sfn main() { let a = spawn A{}\n let b = spawn A{}\n"
             "for i in 0..turns { a.add(i); b.add(i) } }", actor);
    costs_on(2, "calls of an actor here and of one there: a message each, and the visit", text, 0, 3, 0);
    snprintf(text, sizeof text, "%sfn main() { let a = spawn A{}\n let b = spawn A{}\n"
             "for i in 0..turns { a.keep([i]); b.keep([i]) } }", actor);
    costs_on(2, "lists for both: two each, and what the pack has seen", text, 0, 8, 0);
    costs_on(2, "items for a fiber here and for one there: the visit",
             "fn take(c: Chan[Int]) -> Int { var n = 0\n for x in c { n += x }\n return n }\n"
             "fn main() { let c = chan[Int](8)\n let d = chan[Int](8)\n"
             "let t = spawn on any take(c)\n let u = spawn on any take(d)\n"
             "for i in 0..turns { c.send(i); d.send(i) }\n c.close(); d.close(); t.join(); u.join() }", 0, 1, 0);
}

int main(void)
{
    unshared();
    lent();
    shared();
    far();
    return DONE();
}
