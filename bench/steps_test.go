//go:build linux && amd64 && !race

package main

import (
	"fmt"
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

// repetitions of each call in the child. The least count of them is taken: now and then the runtime gets in
// between with work of its own.
const repetitions = 15

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
		atomics, instructions := counted.atomics-bare.atomics, counted.instructions-bare.instructions
		t.Logf("%-32s %d atomic read-modify-writes, %3d instructions", c.name, atomics, instructions)
		if atomics > c.atomics {
			t.Errorf("%s takes %d atomic read-modify-writes, at most %d are allowed; they are in %s",
				c.name, atomics, c.atomics, counted.places(bare))
		}
		if instructions > c.instructions {
			t.Errorf("%s takes %d instructions, at most %d are allowed", c.name, instructions, c.instructions)
		}
	}
}

// TestStepsAreCounted fails when the count itself is broken and would let anything pass.
func TestStepsAreCounted(t *testing.T) {
	child := startTraced(t)
	bare := child.count()
	standard := child.count() // sync.Mutex: a compare-and-swap and an add
	if got := standard.atomics - bare.atomics; got != 2 {
		t.Errorf("counted %d atomic read-modify-writes in a pair of sync.Mutex, want 2", got)
	}
	if got := standard.instructions - bare.instructions; got < 6 {
		t.Errorf("counted %d instructions in a pair of sync.Mutex, which has more", got)
	}
}

type steps struct {
	instructions, atomics int
	at                    []uintptr // where the atomics were
}

// places names the functions in which the atomic read-modify-writes were, the bare call's left out: the child
// is the same binary.
func (s steps) places(bare steps) string {
	var names []string
	for _, pc := range s.at {
		if !slices.Contains(bare.at, pc) {
			names = append(names, runtime.FuncForPC(pc).Name())
		}
	}
	return strings.Join(names, ", ")
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
		if s := c.stepUntilMark(); i == 0 || s.instructions < least.instructions {
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
	var s steps
	for {
		if pc, ok := c.atAtomic(); ok {
			s.atomics++
			s.at = append(s.at, pc)
		}
		s.instructions++
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

// atAtomic reports whether the next instruction is an atomic read-modify-write: one with a lock prefix, or an
// exchange with memory, which locks without one.
func (c *traced) atAtomic() (pc uintptr, ok bool) {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(c.pid, &regs); err != nil {
		c.t.Fatalf("ptrace registers: %v", err)
	}
	pc = uintptr(regs.Rip)
	code := make([]byte, 16)
	n, err := syscall.PtracePeekText(c.pid, pc, code)
	if err != nil && n == 0 {
		c.t.Fatalf("ptrace read at %#x: %v", regs.Rip, err)
	}
	inst, err := x86asm.Decode(code[:n], 64)
	if err != nil {
		return pc, false // an instruction newer than the decoder; none of those locks
	}
	for _, p := range inst.Prefix {
		if p&0xFF == 0xF0 {
			return pc, true
		}
	}
	_, memory := inst.Args[0].(x86asm.Mem)
	return pc, inst.Op == x86asm.XCHG && memory
}
