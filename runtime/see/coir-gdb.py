# SPDX-License-Identifier: MIT
"""gdb commands for programs on libcoir, live or from a core file; libcoir needs its debug information (-g).

    coir tasks            every task of every shard: where it stands, whom it awaits, what the leaf waits for
    coir bt ADDRESS       one chain of awaits, from the outermost task to the leaf, with the frames' own members

An address is one that `coir tasks` printed, or any struct coir_task *. Nothing is called in the program and nothing
is written: all is read from memory, as coir_dump does it from inside.
"""
import collections

import gdb

DEEPEST, WIDEST = 100, 1000000      # of a program whose memory is damaged
CROWD, FEW = 20, 3                  # as in runtime/see/crowd.h: in larger crowds, of one kind, that are all shown


class Missing(gdb.GdbError):
    pass


def type_of(name):
    try:
        return gdb.lookup_type("struct " + name)
    except gdb.error:
        raise Missing("no debug information for struct %s: build libcoir and the program with -g" % name) from None


def pointer_to(name):
    return type_of(name).pointer()


def offset_of(outer, member):
    return next(f for f in type_of(outer).fields() if f.name == member).bitpos // 8


def container(value, outer, member):
    """The object that `value`, a pointer, is a member of."""
    return (value.cast(gdb.lookup_type("char").pointer()) - offset_of(outer, member)).cast(pointer_to(outer))


def function_at(pointer):
    """The name of a function, or an empty string."""
    address = int(pointer)
    if not address:
        return ""
    text = gdb.execute("info symbol %#x" % address, to_string=True)
    return "" if text.startswith("No symbol") else text.split()[0].split("+")[0]


def task_name(task):
    """What the task is: NAME of NAME_resume."""
    name = function_at(task["body"])
    return name[:-len("_resume")] if name.endswith("_resume") else name or "?"


def text(pointer):
    return pointer.string(errors="replace") if int(pointer) else "?"


def place(site):
    return "%s:%d" % (text(site["file"]), int(site["line"])) if int(site) else "-"


def constant(name):
    return int(gdb.parse_and_eval(name))


def is_set(task, flag):
    return bool(int(task["flags"]) & constant(flag))


def as_frame(task, name):
    """The frame that begins with a task, or with the task at a pointer."""
    at = task if task.type.code == gdb.TYPE_CODE_PTR else task.address
    return at.cast(pointer_to(name))


# ---- what leaves wait for

def seconds(ns):
    return "%.3f s" % (int(ns) / 1e9)


def members(struct, names):
    return ", ".join("%s %s" % (n, struct[n]) for n in names if n in [f.name for f in struct.type.fields()])


def wait_of(task):
    """In words, what a leaf waits for."""
    name = task_name(task)
    if function_at(task["abort"]) == "coir_io_abort":
        io = task["waits_for"].cast(pointer_to("coir_io"))
        return "waits in %s on fd %d" % (text(io["kind"]["name"]), int(io["fd"]))
    if name in ("coir_sleep", "coir_sleep_until"):
        return "sleeps until %s of its clock" % seconds(as_frame(task, "coir_sleep")["alarm"]["timer"]["at"])
    if name == "coir_group_wait":
        return "waits for a group of %d" % int(as_frame(task, name)["group"]["live"])
    if name == "coir_group_spawn":
        return "waits for a place in a group of %d" % int(as_frame(task, name)["group"]["limit"])
    if int(task["state"]) == 0:
        return "is ready to begin"
    if not int(task["abort"]) and not name.startswith("coir_"):
        return "runs, or is ready to"
    return "waits in %s" % name


def is_leaf_of_another(child):
    """A child without a place of its own: a leaf, printed behind its awaiter."""
    return not int(child["awaiting"]) and not int(child["site"]) and task_name(child) != "coir_combine"


# ---- tasks

def scope_words(task, outer):
    scope = task["scope"]
    if not int(scope) or int(scope) == int(outer):
        return ""
    words = ""
    if int(scope["cancelled"]):
        words += ", cancelled"
    elif int(scope["alarm"]["timer"]["next"]) and int(scope["kind"]) == constant("COIR_SCOPE_AWAIT_"):
        words += ", deadline at %s" % seconds(scope["alarm"]["timer"]["at"])
    context, end = scope["context"], int(outer["context"]) if int(outer) else 0
    while int(context) and int(context) != end:
        if int(context["key"]["name"]):
            words += ", %s" % text(context["key"]["name"])
        context = context["outer"]
    return words


def show_chain(task, scope, indent):
    for _ in range(DEEPEST):
        child = task["awaiting"]
        leaf = not int(child) or is_leaf_of_another(child.dereference())
        line = "%s%s at %s%s%s" % (" " * indent, task_name(task), place(task["site"]),
                                   " in coir_finally" if is_set(task, "COIR_TASK_FINALLY_") else "",
                                   scope_words(task, scope))
        if leaf:
            line += ": " + wait_of(child.dereference() if int(child) else task)
        print("%s  (%#x)" % (line, int(task.address)))
        if int(task["scope"]) and int(task["scope"]) != int(scope):
            show_groups(task["scope"], indent + 4)
        scope = task["scope"]
        if leaf:
            return
        task = child.dereference()
        indent += 2
        if task_name(task) == "coir_combine":
            show_kids(as_frame(child, "coir_combine"), indent)
            return


def show_kids(combine, indent):
    kids = [combine["kids"][i] for i in range(min(int(combine["n"]), WIDEST))]
    begun = [kid.dereference() for kid in kids
             if int(kid) and not is_set(kid, "COIR_TASK_LAZY_") and int(kid["state"]) != constant("COIR_LEFT_")]
    for task, _, more in crowd((task, None) for task in begun):
        show_chain(task, combine["scope"].address, indent)
        show_more(more, indent)


def kind_of(task, birth):
    """What tasks of one kind have in common: where they were spawned, where they stand, in which operation."""
    while int(task["awaiting"]) and int(task["awaiting"]["site"]):
        task = task["awaiting"].dereference()
    child = task["awaiting"]
    return (int(birth["site"]) if birth is not None else 0, int(task["site"]), int(child["body"]) if int(child) else 0)


def crowd(members):
    """Of (task, birth): those that are to be shown, each with what is to be said of the others of its kind."""
    members = [(task, birth, kind_of(task, birth)) for task, birth in members]
    kinds = collections.Counter(kind for _, _, kind in members)
    shown = set()
    for task, birth, kind in members:
        if len(members) <= CROWD or kinds[kind] <= FEW:
            yield task, birth, ""
        elif kind not in shown:
            shown.add(kind)
            site = pointer_to("coir_site")
            places = [gdb.Value(address).cast(site) for address in kind[:2]]
            yield task, birth, "... and %d more%s, standing at %s" % (
                kinds[kind] - 1, ", spawned at " + place(places[0]) if kind[0] else "", place(places[1]))


def show_more(more, indent):
    if more:
        print(" " * indent + more)


def show_groups(scope, indent):
    group = scope["groups"]
    for _ in range(WIDEST):
        if not int(group):
            return
        show_group(group, indent)
        group = group["next"]


def members_of(group):
    birth = group["first"]
    for _ in range(WIDEST):
        if not int(birth):
            return
        yield (birth + 1).cast(pointer_to("coir_task")).dereference(), birth
        birth = birth["next"]


def show_group(group, indent):
    opener = group["opener"]
    if int(opener):
        print("%sgroup of %d, opened by %s%s:" % (" " * indent, int(group["live"]), task_name(opener),
                                                 ", cancelled" if int(group["scope"]["cancelled"]) else ""))
        indent += 2
    for task, birth, more in crowd(members_of(group)):
        print("%s%s, spawned at %s" % (" " * indent, text(birth["site"]["task"]), place(birth["site"])))
        show_chain(task, group["scope"].address, indent + 2)
        show_more(more, indent)
    show_groups(group["scope"].address, indent + 2)


def the_run():
    symbol = gdb.lookup_static_symbol("coir_run_current")
    if symbol is None:
        raise Missing("no debug information for libcoir: build it with -g, or install that")
    run = symbol.value()
    if not int(run):
        raise gdb.GdbError("no coir_main or coir_run goes on in this program")
    return run


class Coir(gdb.Command):
    """Tasks of a program on libcoir: `coir tasks`, `coir bt ADDRESS`."""

    def __init__(self):
        super().__init__("coir", gdb.COMMAND_STACK, prefix=True)


class Tasks(gdb.Command):
    """Prints every task of every shard: where it stands, whom it awaits, what the leaf waits for."""

    def __init__(self):
        super().__init__("coir tasks", gdb.COMMAND_STACK)

    def invoke(self, argument, _):
        if argument:
            raise gdb.GdbError("coir tasks takes no argument")
        run = the_run()
        for i in range(int(run["n"])):
            shard = run["shard"][i]
            if not int(shard):
                continue
            print("shard %d (%s): %d tasks in the root group, %d timers, %d operations in flight"
                  % (int(shard["id"]), text(shard["plane"]["kind"]["name"]), int(shard["root"]["live"]),
                     int(shard["wheel"]["count"]), int(shard["plane"]["in_flight"])))
            show_group(shard["root"].address, 2)
            guest = shard["guests"]
            while int(guest):
                print("  awaited by shard %d" % int(guest["home"]))
                show_chain(guest["task"].dereference(), guest["task"]["scope"], 4)
                guest = guest["next"]


class Backtrace(gdb.Command):
    """Prints the chain of awaits that a task is in, from the outermost to the leaf, with each frame's members."""

    def __init__(self):
        super().__init__("coir bt", gdb.COMMAND_STACK, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, _):
        if not argument:
            raise gdb.GdbError("coir bt ADDRESS: of a task, as coir tasks prints it")
        task = gdb.parse_and_eval(argument).cast(pointer_to("coir_task"))
        for _ in range(DEEPEST):
            if not int(task["awaiter"]):
                break
            task = task["awaiter"]
        number = 0
        while int(task) and number < DEEPEST:
            self.show(number, task)
            task, number = task["awaiting"], number + 1

    @staticmethod
    def show(number, task):
        name = task_name(task)
        print("#%d  %s at %s  (%#x)" % (number, name, place(task["site"]), int(task)))
        if not int(task["awaiting"]):
            print("      %s" % wait_of(task.dereference()))
        if name.startswith("coir_"):
            return
        try:
            frame = as_frame(task, name).dereference()
        except Missing:
            print("      (no debug information for its frame)")
            return
        for field in flat_fields(frame):
            print("      " + field)


def flat_fields(frame):
    """`name = value` of a frame's plain members: the header, slots and scopes of coir's are left out."""
    for field in frame.type.fields():
        if field.name in ("task", "coir_args_") or (field.name and field.type.sizeof == 0):
            continue
        kind = field.type.strip_typedefs()
        if field.name is None:
            yield from flat_fields(frame[field])
        elif kind.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            yield "%s = %s" % (field.name, frame[field].format_string(max_elements=60, repeat_threshold=4))


Coir()
Tasks()
Backtrace()
