package kernel

import "syscall"

// yield lets a thread that waits for the processor of the calling thread run.
func yield() { syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
