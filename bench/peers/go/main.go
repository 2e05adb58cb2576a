// SPDX-License-Identifier: MIT

// The rows for Go. Usage: go-rows ROW N, or go-rows echo PORT, which serves until it is killed.
// GOMAXPROCS is set by bench/run: 1 for rows on one core, 2 for those across two, whose goroutines are
// locked to pinned threads, because otherwise the scheduler puts both on one thread and nothing crosses.
package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const seed = 88172645463325252
const idle = 5 * time.Millisecond

func report(row string, value float64, unit string) {
	fmt.Printf("%s %.3f %s\n", row, value, unit)
}

func perNs(d time.Duration, n int) float64 {
	return float64(d.Nanoseconds()) / float64(n)
}

func check(holds bool, what string) {
	if !holds {
		panic("wrong result: " + what)
	}
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(0, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func rssBytes() float64 {
	statm, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.ParseFloat(strings.Fields(string(statm))[1], 64)
	return pages * float64(os.Getpagesize())
}

// pin locks the goroutine to its thread and the thread to a CPU.
func pin(env string, fallback int) {
	cpu, err := strconv.Atoi(os.Getenv(env))
	if err != nil {
		cpu = fallback
	}
	runtime.LockOSThread()
	var set [16]uint64
	set[cpu/64] = 1 << uint(cpu%64)
	syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
}

// randomSleep is xorshift64, the same sequence as in the other peers.
func randomSleep(state *uint64) time.Duration {
	x := *state
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	*state = x
	return time.Duration(uint32(x>>32)%1000000) * time.Microsecond
}

func switchRow(n int) {
	var both sync.WaitGroup
	both.Add(2)
	t0 := time.Now()
	for k := 0; k < 2; k++ {
		go func() {
			for i := 0; i < n; i++ {
				runtime.Gosched()
			}
			both.Done()
		}()
	}
	both.Wait()
	report("switch", perNs(time.Since(t0), n), "ns")
}

func spawnRow(n int) {
	t0 := time.Now()
	for batch := 0; batch < n/1000; batch++ {
		var all sync.WaitGroup
		all.Add(1000)
		for i := 0; i < 1000; i++ {
			go func() { all.Done() }()
		}
		all.Wait()
	}
	report("spawn", perNs(time.Since(t0), n), "ns")
}

func echoBack(n int, in, out chan int) {
	for i := 0; i < n; i++ {
		out <- <-in
	}
}

func channelRow(n int) {
	there, back := make(chan int), make(chan int)
	go echoBack(n, there, back)
	t0 := time.Now()
	for i := 0; i < n; i++ {
		there <- i
		check(<-back == i, "channel")
	}
	report("channel", perNs(time.Since(t0), n), "ns")
}

func memoryRow(n int) {
	never := make(chan int)
	runtime.GC()
	before := rssBytes()
	for i := 0; i < n; i++ {
		go func() { <-never }()
		if i%1000 == 999 {
			runtime.Gosched()
		}
	}
	time.Sleep(100 * time.Millisecond)
	report("memory", (rssBytes()-before)/float64(n), "B")
}

func pass(from, to chan int, end chan struct{}) {
	for v := range from {
		if v == 0 {
			close(end)
			return
		}
		to <- v - 1
	}
}

func ringRow(n int) {
	end, first := make(chan struct{}), make(chan int)
	from := first
	t0 := time.Now()
	for i := 1; i < 1000; i++ {
		to := make(chan int)
		go pass(from, to, end)
		from = to
	}
	go pass(from, first, end)
	first <- n
	<-end
	report("ring", perNs(time.Since(t0), n), "ns")
}

type request struct {
	add   int
	reply chan int // nil: none is wanted
}

const clients = 100

// counter is the usual goroutine that owns a state. Its mailbox has the room that coir's have.
func counter() chan request {
	mailbox := make(chan request, 1024)
	go func() {
		total := 0
		for r := range mailbox {
			total += r.add
			if r.reply != nil {
				r.reply <- total
			}
		}
	}()
	return mailbox
}

// atOnce runs one function for each client and waits for all.
func atOnce(client func()) {
	var all sync.WaitGroup
	all.Add(clients)
	for i := 0; i < clients; i++ {
		go func() {
			client()
			all.Done()
		}()
	}
	all.Wait()
}

// actorRow: each client has one channel for its replies, with room, so that the counter never waits for a client.
func actorRow(n int) {
	c := counter()
	t0 := time.Now()
	atOnce(func() {
		reply, last := make(chan int, 1), 0
		for i := 0; i < n/clients; i++ {
			c <- request{1, reply}
			total := <-reply
			check(total > last, "actor")
			last = total
		}
	})
	report("actor", perNs(time.Since(t0), n), "ns")
	reply := make(chan int, 1)
	c <- request{0, reply}
	check(<-reply == n, "actor")
}

func sendRow(n int) {
	c := counter()
	t0 := time.Now()
	atOnce(func() {
		for i := 0; i < n/clients; i++ {
			c <- request{1, nil}
		}
	})
	reply := make(chan int, 1)
	c <- request{0, reply}
	check(<-reply == n, "send")
	report("send", perNs(time.Since(t0), n), "ns")
}

// pingPongRow leaves it to the scheduler where both ends run; crossRow does not.
func pingPongRow(n int) {
	there, back := make(chan int, 1), make(chan int, 1)
	go echoBack(n, there, back)
	t0 := time.Now()
	for i := 0; i < n; i++ {
		there <- i
		check(<-back == i, "ping-pong")
	}
	report("ping-pong", perNs(time.Since(t0), n), "ns")
}

const (
	workers   = 8
	part      = 250000
	busyParts = 75       // of each worker, in the row as it is measured
	busySum   = 19689716 // and what all then come to
)

// busyRow: n is the turns of all workers' loops.
func busyRow(n int) {
	parts := n / workers / part
	results := make(chan int, 16)
	t0 := time.Now()
	for k := 0; k < workers; k++ {
		go func(k int) {
			for i := 1; i <= parts; i++ {
				s := k
				for j := 1; j <= part; j++ {
					s = (s*31 + i + j) % 65536
				}
				results <- s
			}
		}(k)
	}
	sum := 0
	for i := 0; i < workers*parts; i++ {
		sum += <-results
	}
	report("busy", float64(time.Since(t0).Microseconds())/1e3, "ms")
	check(parts != busyParts || sum == busySum, "busy")
}

// answerer starts the far half of the round trips and pins both halves.
func answerer(n int) (there, back chan int) {
	there, back = make(chan int), make(chan int)
	go func() {
		pin("BENCH_CPU_B", 1)
		echoBack(n, there, back)
	}()
	pin("BENCH_CPU_A", 0)
	time.Sleep(50 * time.Millisecond)
	return
}

func crossRow(n int) {
	there, back := answerer(n)
	t0 := time.Now()
	for i := 0; i < n; i++ {
		there <- i
		check(<-back == i, "cross")
	}
	report("cross", perNs(time.Since(t0), n)/1e3, "us")
}

func crossIdleRow(n int) {
	there, back := answerer(n)
	samples := make([]float64, n)
	cpu := cpuTime()
	for i := range samples {
		time.Sleep(idle)
		t0 := time.Now()
		there <- i
		<-back
		samples[i] = perNs(time.Since(t0), 1) / 1e3
	}
	report("cross-idle-cpu", perNs(cpuTime()-cpu, n)/1e3, "us")
	sort.Float64s(samples)
	report("cross-idle", samples[n/2], "us")
}

func streamRow(n int) {
	c := make(chan int, 1024)
	go func() {
		pin("BENCH_CPU_B", 1)
		for i := 0; i < n; i++ {
			c <- i
		}
	}()
	pin("BENCH_CPU_A", 0)
	sum := <-c
	t0 := time.Now()
	for i := 1; i < n; i++ {
		sum += <-c
	}
	report("stream", perNs(time.Since(t0), n), "ns")
	check(sum == n*(n-1)/2, "stream")
}

func timersRow(n int) {
	random := uint64(seed)
	var all sync.WaitGroup
	t0, cpu := time.Now(), cpuTime()
	all.Add(n)
	for i := 0; i < n; i++ {
		d := randomSleep(&random)
		go func() {
			time.Sleep(d)
			all.Done()
		}()
	}
	all.Wait()
	report("timers", perNs(cpuTime()-cpu, n)/1e3, "us")
	report("timers-wall", float64(time.Since(t0).Microseconds())/1e3, "ms")
}

func connection(c net.Conn) {
	defer c.Close()
	buffer := make([]byte, 4096)
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		if _, err = c.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func serve(port int) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		panic(err)
	}
	for {
		if c, err := listener.Accept(); err == nil {
			go connection(c) // Go sets TCP_NODELAY itself
		}
	}
}

func main() {
	rows := map[string]func(int){
		"switch": switchRow, "spawn": spawnRow, "channel": channelRow, "memory": memoryRow, "cross": crossRow,
		"cross-idle": crossIdleRow, "stream": streamRow, "timers": timersRow, "ring": ringRow, "actor": actorRow,
		"send": sendRow, "ping-pong": pingPongRow, "busy": busyRow, "echo": serve,
	}
	if len(os.Args) == 3 {
		if row := rows[os.Args[1]]; row != nil {
			n, _ := strconv.Atoi(os.Args[2])
			row(n)
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: go-rows ROW N | echo PORT")
	os.Exit(2)
}
