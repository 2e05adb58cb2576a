/* SPDX-License-Identifier: MIT */
/*
 * A host's builtins: values in and out, of every kind; waiting, slices, traps; functions that they ask for; resources.
 * Each program is compiled and run to its end by a machine of its own, which leaves nothing.
 */
#include "embed.h"

#define USE "use host\n"

static void values(void)
{
    says("an Int", USE "pub fn run() -> Int { return host.same_int(-5) }", 0, "-5");
    says("a function in Coir", USE "pub fn run() -> Int { return host.doubled(21) }", 0, "42");
    says("a list", USE "pub fn run() -> Text { return \"${host.same_list([\"a\", \"b\"])}\" }", 0, "[\"a\", \"b\"]");
    says("nil", USE "pub fn run() -> Bool { return host.same_option(nil) == nil }", 0, "true");
    says("an optional", USE "fn put(x: Int?) -> Int?" "? { return x }\n"
         "pub fn run() -> Text { return \"${host.same_option(put(3)) == put(3)} "
         "${host.same_option(put(nil)) == put(nil)} "
         "${host.same_option(put(nil)) == nil}\" }", 0, "true true false");
    says("a pair", USE "pub fn run() -> Text { let (a, b) = host.same_pair((\"x\", 1.5))\n return \"$a ${a} ${b}\" }",
         0, "$a x 1.5");
    says("what is owned", USE "pub fn run() -> Text { return \"${host.same_own([1: [\"x\"], 2: []])}\" }", 0,
         "[1: [\"x\"], 2: []]");
    says("records, maps, lists", USE "pub fn run() -> Text { let (m, l) = host.people(3)\n"
         "return \"${m[\"p2\"].age} ${l.len()} ${l[0].title == nil} ${l[1].title} ${m[\"p1\"] == l[1]}\" }", 0,
         "2 3 true x true");
    says("sums", USE "fn t(s: host.Shape) -> Text { return \"${host.turned(s)}\" }\n"
         "pub fn run() -> Text { return t(host.Rect(1.0, 2.0)) + t(host.Circle(1.0)) + t(host.Empty) }", 0,
         "Rect(2.0, 1.0)Circle(1.0)Empty");
    says("a type of the same name", USE "type Person { x: Int }\npub fn run() -> Text { let p = Person{ x: 1 }\n"
         "let (_m, l) = host.people(1)\n return \"${p} ${l}\" }", 0,
         "Person{ x: 1 } [Person{ name: \"p0\", age: 0, title: nil }]");
}

static void waiting(void)
{
    says("a builtin that waits", USE "pub fn run() -> Int { host.nap(1ms)\n return 7 }", 0, "7");
    says("under a time", USE "pub fn run() -> Text { try { within 5ms { host.nap(60s) } } catch e { return e.code }\n"
         "return \"no\" }", 0, "Timeout");
    ended = 0;
    says("slices under a time", USE
         "pub fn run() -> Text { try { within 5ms { host.spin() } } catch e { return e.code }\n"
         "return \"no\" }", 0, "Timeout");
    EQ(ended, 1, "its scratch was given back");
    says("cancelled from C", USE "pub fn run() -> Int { host.nap(60s)\n return 7 }", 5000000, "status -110");
    says("in slices", USE "pub fn run() { host.spin() }", 5000000, "status -110");
    says("a trap", USE "pub fn run() { host.fail(\"way\") }", 0, "trap Key: no way");
    says("an errno", USE "pub fn run() { host.fail(\"\") }", 0, "trap Io: No such file or directory: here");
}

static void asking(void)
{
    ended = 0;
    says("a function", USE "pub fn run() -> Int { let k = 10\n return host.sum([1, 2, 3], x => x * k) }", 0, "60");
    EQ(ended, 1, "its end was called");
    says("one by its name", USE "pub fn twice(n: Int) -> Int { return n * 2 }\n"
         "pub fn run() -> Int { return host.by_name(\"twice\", 4) }", 0, "8");
    says("one that is not there", USE "pub fn run() -> Int { return host.by_name(\"twice\", 4) }", 0,
         "trap Explicit: the program has no function twice");
    says("one that wants something else", USE "pub fn twice(t: Text) -> Text { return t + t }\n"
         "pub fn run() -> Int { return host.by_name(\"twice\", 4) }", 0,
         "trap Explicit: the function twice wants other arguments");
    says("closures that call builtins that call closures",
         USE "fn down(n: Int) -> Int { if n == 0 { return 1 }\n return host.sum([1, 1], x => x * down(n - 1)) }\n"
         "pub fn run() -> Int { return down(8) }", 0, "256");
    says("what parks inside", USE "pub fn run() -> Int { return host.sum([1, 2], x => { host.nap(1ms)\n x }) }", 0,
         "3");
    ended = 0;
    says("a trap inside", USE "pub fn run() -> Text { try { host.sum([1, 0], x => 1 / x) } catch e { return e.code }\n"
         "return \"no\" }", 0, "DivZero");
    EQ(ended, 1, "leaves through the builtin");
    says("a time inside", USE "pub fn run() -> Int { return host.sum([1, 2], x => { host.nap(60s)\n x }) }", 5000000,
         "status -110");
    EQ(ended, 2, "leaves, too");
    says("deep", USE "fn down(n: Int) -> Int { if n == 0 { return 1 }\n return host.sum([n], x => down(x - 1)) }\n"
         "pub fn run() -> Int { return down(3000) }", 0, "1");
}

static void tables(void)
{
    opened = dropped = 0;
    says("a resource", USE "pub fn run() -> Text { let t = host.open(3)\n"
         "let a = \"${t.get(2)} ${t.get(3)} ${t.with(u => u.get(1) ?" "? 9)}\"\n t.close()\n return a }", 0, "4 nil 1");
    EQ(dropped, 1, "is dropped when it was closed");
    says("one that is left", USE "pub fn run() -> Int { let t = host.open(3)\n return t.get(1) ?" "? 8 }", 0, "1");
    EQ(dropped, 2, "is dropped at the end of its scope");
    says("one in a trap", USE "pub fn run() -> Int { let t = host.open(3)\n"
         "return t.with(u => 1 / (u.get(0) ?" "? 1)) }", 0, "trap DivZero: division by zero");
    EQ(dropped, 3, "is dropped on the way out");
    EQ(opened, 3, "as many as were opened");
}

static void constants(void)
{
    says("a constant", "let k = 6 * 7\npub fn run() -> Int { return k }", 0, "42");
    says("main", "fn main() -> Int { return 3 }\npub fn run() -> Int { return main() + 1 }", 0, "4");
}

int main(void)
{
    values();
    waiting();
    asking();
    tables();
    constants();
    return DONE();
}
