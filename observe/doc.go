// Package observe watches pods beside a kubelet that somebody else runs, remembers
// what it saw, and changes nothing.
//
// Sources send facts to one loop. It stamps and numbers them, leaves out what another
// source told before, has package shadow say what kubelet must have decided, and
// writes both into the journal, from which questions are answered.
//
//	agent.go      Agent: opens the sources and runs them
//	loop.go       the loop: one fact after the other
//	duplicate.go  what was told before, by a quicker source
//	restore.go    what an earlier agent knew
//	runs.go       which run of a container a moment belongs to
//	trouble.go    which pods are in trouble, and when their events are looked at
//	maker.go      whether controllers say that they deleted a pod, and why
//	told.go       facts of kubelet's events
//	words.go      which kubelet there is, and facts of its log
//	ranked.go     the order in which kubelet evicts, with what each pod used
//	attempts.go   facts of kubelet's own probe attempts, by the tap; attempt.go, what became of one
//	counts.go     facts of kubelet's counters of its probes
//	execs.go      how commands of probes ended
//	configs.go    changes of ConfigMaps and Secrets, by kubelet's files
//	logs.go       the ends of containers' logs
//	kernel.go     what this machine's kernel tells, and looks into containers
//	cgroups.go    the cgroups of pods, by their processes
//	quiet.go      what the agent does not to be noticed
//	lean.go       what it read of its own program and gives back
//	shed.go       what is left out when memory is short
//	doctor.go     what can be seen on a machine
//	clean.go      what agents left on a machine, and its end
//	clock.go      the clocks that stamp facts
package observe
