// Package tap sees kubelet's own probe attempts: a program on kubelet's cgroup copies
// the first bytes of packets to and from the addresses that it probes. Each attempt is
// seen with its times and its answer, and nobody is asked twice.
//
// The program never drops a packet, runs beside others on the same cgroup, and is gone
// when this process ends. A kernel that does not take it is no error of the agent's:
// attempts are then told by kubelet's words only.
//
//	program.go  the program, in the kernel's instructions
//	tap.go      Tap: puts it there, and reads what it copies
//	packet.go   what stands in the headers of a packet
//	flow.go     Flows: from packets to attempts
//	answer.go   what stands at the beginning of an answer
package tap
