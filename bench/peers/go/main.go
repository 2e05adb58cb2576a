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
		<-back
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
		"cross-idle": crossIdleRow, "stream": streamRow, "timers": timersRow, "ring": ringRow, "echo": serve,
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
