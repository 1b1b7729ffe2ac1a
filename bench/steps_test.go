//go:build linux && amd64 && !race

package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// tracedEnv makes a child of this test binary run the calls for its parent.
const tracedEnv = "DRAWBRIDGE_TRACED_CALLS"

// repetitions of each call in the child. The least count of them is taken.
const repetitions = 6

func init() {
	if os.Getenv(tracedEnv) != "" {
		runtime.LockOSThread() // the parent follows the first thread only
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(tracedEnv) == "" {
		os.Exit(m.Run())
	}
	debug.SetGCPercent(-1)
	trace(func() {}) // what the marks and the call cost without a lock
	for _, c := range calls {
		trace(c.make())
	}
	os.Exit(0)
}

func trace(call func()) {
	for range 10 {
		call()
	}
	for range repetitions {
		runtime.Gosched() // begin with a full time slice
		mark()
		call()
		mark()
	}
}

// mark stops the child and hands it to its parent.
//
//go:noinline
func mark() {
	pid, _, _ := syscall.RawSyscall(syscall.SYS_GETPID, 0, 0, 0)
	syscall.RawSyscall(syscall.SYS_TGKILL, pid, pid, uintptr(syscall.SIGUSR1))
}

func TestUncontendedCallsTakeFewSteps(t *testing.T) {
	child := startTraced(t)
	bare := child.count()
	for _, c := range calls {
		counted := child.count()
		atomics, instructions := counted.atomics.above(bare.atomics), counted.instructions.above(bare.instructions)
		t.Logf("%-32s %2d atomic read-modify-writes, %3d instructions", c.name, atomics.total(), instructions.total())
		if n := atomics.total(); n > c.atomics {
			t.Errorf("%s takes %d atomic read-modify-writes, at most %d are allowed: %v", c.name, n, c.atomics, atomics)
		}
		if n := instructions.total(); n > c.instructions {
			t.Errorf("%s takes %d instructions, at most %d are allowed: %v", c.name, n, c.instructions, instructions)
		}
	}
}

// TestStepsAreCounted fails when the count itself is broken and would let anything pass.
func TestStepsAreCounted(t *testing.T) {
	child := startTraced(t)
	bare := child.count()
	standard := child.count() // sync.Mutex: a compare-and-swap and an add
	if got := standard.atomics.above(bare.atomics).total(); got != 2 {
		t.Errorf("counted %d atomic read-modify-writes in a pair of sync.Mutex, want 2", got)
	}
	if got := standard.instructions.above(bare.instructions).total(); got < 6 {
		t.Errorf("counted %d instructions in a pair of sync.Mutex, which has more", got)
	}
}

// steps are the instructions of one call and, of those, the atomic read-modify-writes, by function.
type steps struct{ instructions, atomics counts }

type counts map[string]int

func (c counts) total() int {
	n := 0
	for _, count := range c {
		n += count
	}
	return n
}

// above leaves out what another count has too.
func (c counts) above(bare counts) counts {
	rest := counts{}
	for function, count := range c {
		if count > bare[function] {
			rest[function] = count - bare[function]
		}
	}
	return rest
}

func (c counts) String() string {
	functions := slices.SortedFunc(maps.Keys(c), func(a, b string) int {
		return cmp.Or(cmp.Compare(c[b], c[a]), strings.Compare(a, b))
	})
	for i, f := range functions {
		functions[i] = fmt.Sprintf("%d in %s", c[f], f)
	}
	return strings.Join(functions, ", ")
}

// A traced is a child of this test binary under ptrace. All calls must come from the goroutine that started it.
type traced struct {
	t   *testing.T
	pid int
}

func startTraced(t *testing.T) *traced {
	runtime.LockOSThread() // the kernel takes ptrace requests from one thread only
	t.Cleanup(runtime.UnlockOSThread)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), tracedEnv+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		t.Fatalf("cannot trace a child process, which counting needs: %v", err)
	}
	child := &traced{t: t, pid: cmd.Process.Pid}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if stop := child.wait(); stop != syscall.SIGTRAP {
		t.Fatalf("the traced child stopped with %v at its start, want a trap", stop)
	}
	return child
}

// count follows the repetitions of one call.
func (c *traced) count() steps {
	var least steps
	for i := range repetitions {
		c.untilMark()
		if s := c.stepUntilMark(); i == 0 || s.instructions.total() < least.instructions.total() {
			least = s
		}
	}
	return least
}

func (c *traced) untilMark() {
	for {
		if err := syscall.PtraceCont(c.pid, 0); err != nil {
			c.t.Fatalf("ptrace continue: %v", err)
		}
		if c.wait() == syscall.SIGUSR1 {
			return
		}
	}
}

func (c *traced) stepUntilMark() steps {
	s := steps{counts{}, counts{}}
	for {
		pc := c.counter()
		if f := function(pc); f != "" {
			s.instructions[f]++
			if c.isAtomic(pc) {
				s.atomics[f]++
			}
		}
		if err := syscall.PtraceSingleStep(c.pid); err != nil {
			c.t.Fatalf("ptrace single step: %v", err)
		}
		if c.wait() == syscall.SIGUSR1 {
			return s
		}
	}
}

// wait returns the signal that stopped the child. Signals are not passed on: the runtime's own only ask the
// goroutine to make way.
func (c *traced) wait() syscall.Signal {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(c.pid, &status, 0, nil); err != nil {
		c.t.Fatalf("waiting for the traced child: %v", err)
	}
	if !status.Stopped() {
		c.t.Fatalf("the traced child ended (%s) before all calls were counted", describe(status))
	}
	return status.StopSignal()
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}

// counter returns the address of the next instruction.
func (c *traced) counter() uintptr {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(c.pid, &regs); err != nil {
		c.t.Fatalf("ptrace registers: %v", err)
	}
	return uintptr(regs.Rip)
}

// function names the function that an instruction is in, or is empty for one of the runtime, whose assembly
// has no package name at all. Those are not counted: a call that is led step by step takes so long that the
// scheduler may well interrupt it, and what the runtime does in an allocation depends on what was allocated
// before. Allocations are counted on their own.
func function(pc uintptr) string {
	f := runtime.FuncForPC(pc) // the child is the same binary
	if f == nil {
		return ""
	}
	name := f.Name()
	if !strings.Contains(name, ".") || strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/") {
		return ""
	}
	return name
}

// isAtomic reports whether an instruction is an atomic read-modify-write: one with a lock prefix, or an
// exchange with memory, which locks without one. An atomic store is such an exchange.
func (c *traced) isAtomic(pc uintptr) bool {
	code := make([]byte, 16)
	n, err := syscall.PtracePeekText(c.pid, pc, code)
	if err != nil && n == 0 {
		c.t.Fatalf("ptrace read at %#x: %v", pc, err)
	}
	inst, err := x86asm.Decode(code[:n], 64)
	if err != nil {
		return false // an instruction newer than the decoder; none of those locks
	}
	for _, p := range inst.Prefix {
		if p&0xFF == 0xF0 {
			return true
		}
	}
	_, memory := inst.Args[0].(x86asm.Mem)
	return inst.Op == x86asm.XCHG && memory
}
