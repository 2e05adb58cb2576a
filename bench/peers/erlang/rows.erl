%% SPDX-License-Identifier: MIT
%%
%% The rows for Erlang. Usage: erl -noshell +S K -pa DIR -s rows main ROW N; `echo PORT` serves until it
%% is killed. Heap options are the defaults. Rows across two cores use the undocumented {scheduler, I}
%% option, which binds a process to one scheduler.
-module(rows).
-export([main/1, yielder/2, parked/0, echo_back/2, pass/2, counter/1, work/4]).

-define(SEED, 42).
-define(IDLE_MS, 5).
-define(CLIENTS, 100).
-define(WORKERS, 8).
-define(PART, 250000).
-define(BUSY_PARTS, 75).        % of each worker, in the row as it is measured
-define(BUSY_SUM, 19689716).    % and what all then come to

main([Row, N]) ->
    %% A fresh process, so that the shell's heap is not measured.
    {Pid, Ref} = spawn_monitor(fun() -> row(Row, list_to_integer(atom_to_list(N))) end),
    receive {'DOWN', Ref, process, Pid, Why} -> halt(case Why of normal -> 0; _ -> 1 end) end.

report(Row, Value, Unit) -> io:format("~s ~.3f ~s~n", [Row, Value * 1.0, Unit]).

now_ns() -> erlang:monotonic_time(nanosecond).

cpu_us() -> {Ms, _} = erlang:statistics(runtime), Ms * 1000.

rss_bytes() ->
    {ok, Statm} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = binary:split(Statm, <<" ">>, [global]),
    binary_to_integer(Pages) * 4096.

row(switch, N) ->
    T0 = now_ns(),
    [spawn(?MODULE, yielder, [self(), N]) || _ <- [1, 2]],
    collect(done, 2),
    report("switch", (now_ns() - T0) / N, "ns");
row(spawn, N) ->
    T0 = now_ns(),
    spawn_batches(N div 1000),
    report("spawn", (now_ns() - T0) / N, "ns");
row(channel, N) ->
    Peer = spawn(?MODULE, echo_back, [self(), N]),
    T0 = now_ns(),
    round_trips(Peer, N),
    report("channel", (now_ns() - T0) / N, "ns");
row(memory, N) ->
    Before = rss_bytes(),
    times(N, fun() -> spawn(?MODULE, parked, []) end),
    timer:sleep(300),
    report("memory", (rss_bytes() - Before) / N, "B");
row(ring, N) ->
    T0 = now_ns(),
    Last = spawn(?MODULE, pass, [none, self()]),
    First = lists:foldl(fun(_, Next) -> spawn(?MODULE, pass, [Next, self()]) end, Last, lists:seq(1, 999)),
    Last ! {next, First},
    First ! N,
    collect(done, 1),
    report("ring", (now_ns() - T0) / N, "ns");
row(actor, N) ->
    Counter = spawn(?MODULE, counter, [0]),
    T0 = now_ns(),
    at_once(fun() -> calls(Counter, N div ?CLIENTS, 0) end),
    report("actor", (now_ns() - T0) / N, "ns"),
    N = call(Counter, 0);
row(send, N) ->
    Counter = spawn(?MODULE, counter, [0]),
    T0 = now_ns(),
    at_once(fun() -> times(N div ?CLIENTS, fun() -> Counter ! {add, 1} end) end),
    N = call(Counter, 0),
    report("send", (now_ns() - T0) / N, "ns");
row('ping-pong', N) ->
    Peer = spawn(?MODULE, echo_back, [self(), N]),
    T0 = now_ns(),
    round_trips(Peer, N),
    report("ping-pong", (now_ns() - T0) / N, "ns");
row(busy, N) ->
    Parts = N div ?WORKERS div ?PART,
    T0 = now_ns(),
    [spawn(?MODULE, work, [self(), K, 1, Parts]) || K <- lists:seq(0, ?WORKERS - 1)],
    Sum = sum_results(?WORKERS * Parts, 0),
    report("busy", (now_ns() - T0) / 1.0e6, "ms"),
    true = Parts =/= ?BUSY_PARTS orelse Sum =:= ?BUSY_SUM;
row(cross, N) ->
    on_scheduler(1, fun() ->
        Peer = answerer(N),
        T0 = now_ns(),
        round_trips(Peer, N),
        report("cross", (now_ns() - T0) / N / 1000, "us")
    end);
row('cross-idle', N) ->
    on_scheduler(1, fun() ->
        Peer = answerer(N),
        Cpu = cpu_us(),
        Samples = [idle_round_trip(Peer, I) || I <- lists:seq(1, N)],
        report("cross-idle-cpu", (cpu_us() - Cpu) / N, "us"),
        report("cross-idle", lists:nth(N div 2 + 1, lists:sort(Samples)) / 1000, "us")
    end);
row(stream, N) ->
    on_scheduler(1, fun() ->
        Consumer = self(),
        T0 = now_ns(),
        spawn_opt(fun() -> produce(Consumer, 1000, N) end, [{scheduler, 2}]),
        consume(N),
        report("stream", (now_ns() - T0) / N, "ns")
    end);
row(timers, N) ->
    {T0, Cpu, Me} = {now_ns(), cpu_us(), self()},
    Collector = spawn(fun() -> collect(slept, N), Me ! done end),
    spawn_sleepers(N, ?SEED, Collector),
    collect(done, 1),
    report("timers", (cpu_us() - Cpu) / N, "us"),
    report("timers-wall", (now_ns() - T0) / 1.0e6, "ms");
row(echo, Port) ->
    {ok, Listener} = gen_tcp:listen(Port, [binary, {packet, raw}, {active, false}, {reuseaddr, true},
                                           {backlog, 256}, {nodelay, true}, {ip, {127, 0, 0, 1}}]),
    serve(Listener).

times(0, _) -> ok;
times(N, Do) -> Do(), times(N - 1, Do).

collect(_, 0) -> ok;
collect(Message, N) -> receive Message -> collect(Message, N - 1) end.

yielder(Parent, 0) -> Parent ! done;
yielder(Parent, N) -> erlang:yield(), yielder(Parent, N - 1).

pass(Next, Main) ->
    receive
        {next, First} -> pass(First, Main);
        0 -> Main ! done;
        V -> Next ! V - 1, pass(Next, Main)
    end.

spawn_batches(0) -> ok;
spawn_batches(K) ->
    Me = self(),
    times(1000, fun() -> spawn(fun() -> Me ! done end) end),
    collect(done, 1000),
    spawn_batches(K - 1).

parked() -> receive never -> ok end.

echo_back(_, 0) -> ok;
echo_back(Peer, N) -> receive X -> Peer ! X, echo_back(Peer, N - 1) end.

round_trips(_, 0) -> ok;
round_trips(Peer, N) -> Peer ! N, receive N -> round_trips(Peer, N - 1) end.

%% What gen_server does, without its modules. The reference is made for the call, so the receive looks at no message that
%% came before it.
counter(Total) ->
    receive
        {From, Ref, add, N} -> From ! {Ref, Total + N}, counter(Total + N);
        {add, N} -> counter(Total + N)
    end.

call(Counter, N) ->
    Ref = make_ref(),
    Counter ! {self(), Ref, add, N},
    receive {Ref, Total} -> Total end.

calls(_, 0, _) -> ok;
calls(Counter, N, Last) ->
    Total = call(Counter, 1),
    true = Total > Last,
    calls(Counter, N - 1, Total).

%% Each client does it, and all are waited for; one that fails takes this process along.
at_once(Do) ->
    Me = self(),
    times(?CLIENTS, fun() -> spawn_link(fun() -> Do(), Me ! done end) end),
    collect(done, ?CLIENTS).

work(_, _, I, Parts) when I > Parts -> ok;
work(To, K, I, Parts) ->
    To ! turns(K, I, 1),
    work(To, K, I + 1, Parts).

turns(S, _, J) when J > ?PART -> S;
turns(S, I, J) -> turns((S * 31 + I + J) rem 65536, I, J + 1).

sum_results(0, Sum) -> Sum;
sum_results(N, Sum) -> receive S -> sum_results(N - 1, Sum + S) end.

on_scheduler(I, Do) ->
    {Pid, Ref} = spawn_opt(Do, [monitor, {scheduler, I}]),
    receive {'DOWN', Ref, process, Pid, normal} -> ok end.

answerer(N) ->
    Peer = spawn_opt(?MODULE, echo_back, [self(), N], [{scheduler, 2}]),
    timer:sleep(50),
    Peer.

idle_round_trip(Peer, I) ->
    receive after ?IDLE_MS -> ok end,
    T0 = now_ns(),
    Peer ! I,
    receive I -> now_ns() - T0 end.

%% Mailboxes have no bound: an acknowledgement every 1,000 messages is the back-pressure.
produce(_, _, 0) -> ok;
produce(Consumer, 0, N) ->
    Consumer ! {acknowledge, self()},
    receive acknowledged -> produce(Consumer, 1000, N) end;
produce(Consumer, Left, N) -> Consumer ! N, produce(Consumer, Left - 1, N - 1).

consume(0) -> ok;
consume(N) ->
    receive
        {acknowledge, Producer} -> Producer ! acknowledged, consume(N);
        _ -> consume(N - 1)
    end.

%% Whole milliseconds, which is what `receive after` takes, from a generator of small integers: the other
%% peers' xorshift would compute with bignums here, and be most of the figure.
spawn_sleepers(0, _, _) -> ok;
spawn_sleepers(N, Random, Collector) ->
    Next = (Random * 16807) rem 2147483647,
    Ms = Next rem 1000,
    spawn(fun() -> receive after Ms -> Collector ! slept end end),
    spawn_sleepers(N - 1, Next, Collector).

serve(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Pid = spawn(fun() -> receive start -> inet:setopts(Socket, [{active, 100}]), connection(Socket) end end),
    gen_tcp:controlling_process(Socket, Pid),
    Pid ! start,
    serve(Listener).

connection(Socket) ->
    receive
        {tcp, Socket, Data} -> gen_tcp:send(Socket, Data), connection(Socket);
        {tcp_passive, Socket} -> inet:setopts(Socket, [{active, 100}]), connection(Socket);
        {tcp_closed, Socket} -> ok
    end.
