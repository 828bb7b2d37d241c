package why

import "whylet.dev/whylet/why/answer"

// The rules, by what they are about: why a run ended that the node did not end, why a
// probe fails, why a container cannot be started, why there is no image for it, and who
// wanted a pod gone. What each needs to see, and what speaks against it, stands with its
// stories in testdata/rules. One name is one rule, whatever the case.
var (
	exitRules    rulebook[ending]
	probeRules   rulebook[*probing]
	startRules   rulebook[notStarted]
	imageRules   rulebook[notStarted]
	deletedRules rulebook[*inquiry]
)

// stalling are the rules that say what keeps an application from answering in time, so
// that late answers are an effect of that.
var stalling = []string{"probe-throttled", "probe-memory-high", "probe-node-cpu", "child-oom", "process-stopped"}

func init() { // the rules ask for others' findings by this list
	is, fails := exitRules.add, probeRules.add
	is("config-changed", ifUnordered(configThenExit), "disk-full", "process-limit")
	is("cpu-time-limit", cpuTimeLimit)
	is("dependency-said", ifUnordered(dependencySaid))
	is("crash-signal", crashSignal, "heap-said")
	is("command-not-runnable", either(commandNotRunnable, execSaid))
	is("own-exit", ifUnordered(ownExit))
	is("own-success", ifUnordered(ownSuccess), "port-taken-said", "security-refused", "child-oom", "oom-by-status")
	is("files-limit", ifUnordered(filesSaid))
	is("child-handed-on", either(childCrashHandedOn, childKillHandedOn))
	is("heap-said", ifUnordered(heapSaid))
	is("killed-from-outside", either(senderSeen, ifUnordered(killedFromOutside)))
	is("vanished", vanished)
	is("oom", either(oomMain, oomNotThis))
	is("oom-by-status", ifUnordered(either(oomByStatus, killedByLog)))
	is("child-oom", oomChildThenExit)
	is("disk-full", ifUnordered(diskFullSaid))
	is("process-limit", ifUnordered(processLimitHit))
	is("security-refused", ifUnordered(either(readOnlySaid, permissionSaid)))
	is("port-taken-said", ifUnordered(portTakenSaid))

	fails("config-changed", inMode(configThenNo, answered, exitCode, notServing))
	fails("waits-for-dependency", either(allSeen(probeWaits), probeWaitsByLog, probeAwaits), "child-oom", "process-stopped", "takes-no-more", "probe-protocol")
	fails("asks-another", probeAsksAnother, append([]string{"probe-command"}, stalling...)...)
	fails("dependency-said", probeDependencySaid)
	fails("dependency-of-many", probeDependency)
	fails("files-limit", probeFilesLimit)
	fails("mesh-sidecar", either(probeSidecarSaid, inMode(probeSidecarAnswered, answered), inMode(probeNoSidecar, noSidecar), allSeen(probeNotRewritten)))
	fails("answers-late", either(probeAnswersAfterTimeout, inMode(probeAnswersLate, silent, commandLate), probeFinishesLate, probeLogsLate), stalling...)
	fails("hang", either(probeNeverAnswers, probeHang), append([]string{"waits-for-dependency", "network-blocked", "child-ended", "takes-no-more", "probe-protocol", "probe-worker-late", "probe-slow-start"}, stalling...)...)
	fails("probe-command", either(
		inMode(probeImpossible, impossible), inMode(probeCommandOutlives, commandLate, exitCode), inMode(probeCommandLate, commandLate),
		inMode(allSeen(either(neverWell(either(probeCommandLacks, probeCommandFails, probeCommandVariable)), probeCommandNoLogin, neverWell(either(probeCommandItself, probeCommandFilter)))), exitCode)), "hang")
	fails("probe-path", allSeen(either(probePath, probeWantsLogin, inMode(probeUnknownService, notServing))), "probe-not-deployed")
	fails("probe-protocol", either(probeWrongScheme, probeTLSSaid, probeProtocolSaid, allSeen(either(probeSpeaksOtherwise, probeWrongProtocol, probeRedirected)), probeMaySpeakOtherwise))
	fails("child-oom", either(probeChildOOM, probeWorkersKilled))
	fails("process-stopped", probeProcessStopped)
	fails("broke-off", either(probeDiedAnswering, inMode(probeBrokeOff, broken)), "files-limit", "takes-no-more", "probe-protocol")
	fails("child-ended", either(probeProgramGivenUp, probeProgramDown, probeWorkersEnd, probeWorkerDied, probeWorkersCrashed, probeServerFailed), append([]string{"waits-for-dependency", "probe-worker-late"}, stalling...)...)
	fails("probe-throttled", probeThrottled)
	fails("probe-node-cpu", probeNodeCPU)
	fails("takes-no-more", either(probeLimitSaid, probeTakesNoMore), "child-oom", "files-limit")
	fails("probe-worker-late", probeWorkerLate, "waits-for-dependency", "child-oom")
	fails("probe-other-host", allSeen(probeOtherHost))
	fails("listener-gone", either(probeServedBySibling, probeListenerGone), "child-ended")
	fails("probe-never-listened", allSeen(probeNeverListened), "waits-for-dependency", "child-ended")
	fails("listens-elsewhere", allSeen(either(probeListensElsewhere, inMode(probeCommandElsewhere, exitCode))), "child-ended")
	fails("probe-overloaded", probeOverloaded, "probe-memory-high", "child-oom", "child-ended")
	fails("probe-says-where", either(probeSaysLoopback, allSeen(probeSaysWhere)))
	fails("probe-not-deployed", allSeen(probeNotDeployed))
	fails("probe-sibling-elsewhere", probeSiblingElsewhere)
	fails("probe-memory-high", probeMemoryHigh)
	fails("network-blocked", either(inMode(probeTableFull, unreachable), inMode(probeBlocked, unreachable, refused)))
	fails("probe-said-no", probeSaidNo, "probe-command", "dependency-said", "probe-not-deployed", "takes-no-more", "probe-sibling-elsewhere", "listens-elsewhere")
	fails("probe-slow-start", allSeen(probeSlowStart), "child-oom")
	fails("disk-full", probeDiskFull)
	fails("process-limit", probeProcessLimit)

	startRules.add("config-missing", startConfig)
	startRules.add("security-refused", either(startSecurity, startStopped))
	startRules.add("command-not-runnable", either(startDirectory, startCommand))
	startRules.add("volume-mount", either(startSubPath, startMount))
	startRules.add("hook-failed", startHook)
	startRules.add("oom", startOOM)
	startRules.add("runtime-away", startRuntime)
	imageRules.add("image-not-pulled", imageNotPulled)
	for _, book := range []*rulebook[notStarted]{&startRules, &imageRules} {
		book.add("disk-full", startDiskFull)
		book.add("process-limit", startProcessLimit)
	}
	deletedRules.add("deletion", deletion)
	deletedRules.add("replaced-or-scaled", either(replacedByRevision, deploymentScaled, notReplaced))
}

// oomCauses are those that an OOM kill can have: whose limit it was.
var oomCauses = []answer.Cause{answer.MemoryLimit, answer.MemoryLimitChild, answer.PodMemoryLimit, answer.MemoryBackedVolume, answer.NodeOutOfMemory, answer.NodeOvercommitted}
