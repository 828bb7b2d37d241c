package why

import "whylet.dev/whylet/why/answer"

// The rules, by what they are about: why a run ended that the node did not end, why a
// probe fails, why a container cannot be started, why there is no image for it, and who
// wanted a pod gone. What each needs to see, and what speaks against it, stands with its
// stories in testdata/rules.
var (
	exitRules    = rulebook[ending]{limit: unlessOrdered}
	probeRules   = rulebook[*probing]{limit: unlessHalfSeen}
	startRules   rulebook[notStarted]
	imageRules   rulebook[notStarted]
	deletedRules rulebook[*inquiry]
)

// fromSeen is a rule that concludes from what was seen.
func fromSeen[C any](name string, judge func(C) *finding, yields ...string) rule[C] {
	return rule[C]{name: name, judge: judge, yields: yields}
}

// fromSilence is a rule that concludes from what was not seen as well: that nobody ordered an
// end, or that no attempt succeeded.
func fromSilence[C any](name string, judge func(C) *finding, yields ...string) rule[C] {
	return rule[C]{name: name, judge: judge, yields: yields, silence: true}
}

// stalling are the rules that say what keeps an application from answering in time, so
// that late answers are an effect of that.
var stalling = []string{"probe-throttled", "probe-memory-high", "probe-node-cpu", "probe-child-oom", "probe-process-stopped"}

func init() { // the rules ask for others' findings by this list
	exitRules.rules = []rule[ending]{
		fromSilence("config-changed-then-exit", configThenExit, "disk-full-said", "process-limit-hit"),
		fromSeen("cpu-time-limit", cpuTimeLimit),
		fromSilence("dependency-said", dependencySaid),
		fromSeen("crash-signal", crashSignal, "heap-said"),
		fromSeen("command-not-runnable", commandNotRunnable),
		fromSilence("own-exit", ownExit),
		fromSilence("own-success", ownSuccess, "port-taken-said", "permission-said", "oom-child-then-exit"),
		fromSilence("files-said", filesSaid),
		fromSeen("child-crash-handed-on", childCrashHandedOn),
		fromSeen("child-kill-handed-on", childKillHandedOn),
		fromSilence("heap-said", heapSaid),
		fromSilence("killed-from-outside", killedFromOutside),
		fromSeen("vanished", vanished),
		fromSeen("oom-main", oomMain),
		fromSeen("oom-child-then-exit", oomChildThenExit),
		fromSilence("oom-by-status", oomByStatus),
		fromSeen("oom-not-this", oomNotThis),
		fromSilence("disk-full-said", diskFullSaid),
		fromSilence("process-limit-hit", processLimitHit),
		fromSeen("exec-said", execSaid),
		fromSilence("read-only-said", readOnlySaid),
		fromSilence("permission-said", permissionSaid),
		fromSilence("port-taken-said", portTakenSaid),
		fromSeen("sender-seen", senderSeen),
	}
	probeRules.rules = []rule[*probing]{
		fromSeen("config-changed-then-no", configThenNo),
		fromSilence("probe-waits-for-dependency", probeWaits),
		fromSeen("probe-asks-another", probeAsksAnother, append([]string{"probe-command-variable"}, stalling...)...),
		fromSeen("probe-files-limit", probeFilesLimit),
		fromSilence("probe-not-rewritten", probeNotRewritten),
		fromSeen("probe-no-sidecar", probeNoSidecar),
		fromSeen("probe-sidecar-said", probeSidecarSaid),
		fromSeen("probe-sidecar-answered", probeSidecarAnswered),
		fromSeen("probe-answers-after-timeout", probeAnswersAfterTimeout, stalling...),
		fromSeen("probe-never-answers", probeNeverAnswers, append([]string{"probe-awaits-another", "probe-blocked", "probe-workers-end", "probe-limit-said", "probe-speaks-otherwise"}, stalling...)...),
		fromSeen("probe-impossible", probeImpossible),
		fromSilence("probe-command-lacks", probeCommandLacks),
		fromSilence("probe-command-fails", probeCommandFails, "probe-command-lacks"),
		fromSilence("probe-command-variable", probeCommandVariable, "probe-command-lacks", "probe-command-fails"),
		fromSeen("probe-command-late", probeCommandLate, "probe-hang"),
		fromSilence("probe-path", probePath, "probe-not-deployed"),
		fromSilence("probe-wants-login", probeWantsLogin),
		fromSilence("probe-unknown-service", probeUnknownService),
		fromSilence("probe-protocol", probeWrongProtocol, "probe-speaks-otherwise"),
		fromSeen("probe-awaits-another", probeAwaits, "probe-child-oom", "probe-process-stopped", "probe-limit-said", "probe-takes-no-more", "probe-speaks-otherwise"),
		fromSeen("probe-child-oom", probeChildOOM),
		fromSeen("probe-process-stopped", probeProcessStopped),
		fromSeen("probe-died-answering", probeDiedAnswering),
		fromSeen("probe-worker-died", probeWorkerDied, "probe-worker-late"),
		fromSeen("probe-workers-end", probeWorkersEnd, stalling...),
		fromSilence("probe-command-no-login", probeCommandNoLogin, "probe-command-variable"),
		fromSilence("probe-command-itself", probeCommandItself),
		fromSeen("probe-throttled", probeThrottled),
		fromSeen("probe-node-cpu", probeNodeCPU),
		fromSilence("probe-command-filter", probeCommandFilter),
		fromSeen("probe-limit-said", probeLimitSaid, "probe-child-oom"),
		fromSeen("probe-takes-no-more", probeTakesNoMore, "probe-limit-said", "probe-files-limit"),
		fromSeen("probe-worker-late", probeWorkerLate, "probe-awaits-another", "probe-child-oom"),
		fromSeen("probe-hang", probeHang, "probe-memory-high", "probe-awaits-another", "probe-child-oom", "probe-limit-said", "probe-takes-no-more", "probe-worker-late", "probe-speaks-otherwise", "probe-slow-start"),
		fromSilence("probe-other-host", probeOtherHost),
		fromSeen("probe-listener-gone", probeListenerGone, "probe-served-by-sibling", "probe-program-given-up"),
		fromSeen("probe-served-by-sibling", probeServedBySibling),
		fromSilence("probe-never-listened", probeNeverListened, "probe-waits-for-dependency", "probe-program-given-up"),
		fromSilence("probe-listens-elsewhere", probeListensElsewhere, "probe-program-given-up"),
		fromSilence("probe-says-where", probeSaysWhere),
		fromSeen("probe-overloaded", probeOverloaded, "probe-memory-high", "probe-child-oom", "probe-workers-end"),
		fromSeen("probe-answers-late", probeAnswersLate, stalling...),
		fromSeen("probe-finishes-late", probeFinishesLate, "probe-memory-high"),
		fromSilence("probe-not-deployed", probeNotDeployed),
		fromSeen("probe-program-given-up", probeProgramGivenUp, "probe-waits-for-dependency"),
		fromSeen("probe-program-down", probeProgramDown),
		fromSilence("probe-protocol-said", probeProtocolSaid, "probe-speaks-otherwise"),
		fromSeen("probe-sibling-elsewhere", probeSiblingElsewhere),
		fromSeen("probe-dependency-said", probeDependencySaid),
		fromSeen("probe-memory-high", probeMemoryHigh),
		fromSeen("probe-blocked", probeBlocked),
		fromSeen("probe-table-full", probeTableFull),
		fromSilence("probe-command-elsewhere", probeCommandElsewhere, "probe-program-given-up"),
		fromSilence("probe-redirected-to-https", probeRedirected),
		fromSeen("probe-said-no", probeSaidNo, "probe-command-lacks", "probe-command-fails", "probe-command-itself", "probe-command-no-login", "probe-dependency-said", "probe-not-deployed", "probe-limit-said", "probe-sibling-elsewhere", "probe-command-elsewhere"),
		fromSeen("probe-died-meanwhile", probeBrokeOff, "probe-died-answering", "probe-files-limit", "probe-limit-said", "probe-protocol-said", "probe-speaks-otherwise"),
		fromSilence("probe-speaks-otherwise", probeSpeaksOtherwise),
		fromSilence("probe-slow-start", probeSlowStart, "probe-child-oom"),
		fromSeen("probe-dependency", probeDependency),
		fromSeen("probe-disk-full", probeDiskFull),
		fromSeen("probe-process-limit", probeProcessLimit),
	}
	room := []rule[notStarted]{
		fromSeen("start-disk-full", startDiskFull),
		fromSeen("start-process-limit", startProcessLimit),
	}
	startRules.rules = append([]rule[notStarted]{
		fromSeen("config-missing", startConfig),
		fromSeen("security-refused", startSecurity),
		fromSeen("prepared-and-stopped", startStopped),
		fromSeen("command-not-found", startCommand),
		fromSeen("working-directory", startDirectory),
		fromSeen("volume-mount", startMount),
		fromSeen("sub-path", startSubPath),
		fromSeen("hook-before-start", startHook),
		fromSeen("start-oom", startOOM),
		fromSeen("runtime-away", startRuntime),
	}, room...)
	imageRules.rules = append([]rule[notStarted]{
		fromSeen("image-policy-never", imageNever),
		fromSeen("image-not-found", imageNotFound),
		fromSeen("image-unauthorized", imageUnauthorized),
		fromSeen("image-registry-unreachable", imageUnreachable),
	}, room...)
	deletedRules.rules = []rule[*inquiry]{
		fromSeen("deployment-scaled", deploymentScaled, "replaced-by-revision"),
		fromSeen("deletion", deletion),
		fromSeen("replaced-by-revision", replacedByRevision),
		fromSeen("not-replaced", notReplaced, "replaced-by-revision", "deployment-scaled"),
	}
}

// oomCauses are those that an OOM kill can have: whose limit it was.
var oomCauses = []answer.Cause{answer.MemoryLimit, answer.MemoryLimitChild, answer.PodMemoryLimit, answer.MemoryBackedVolume, answer.NodeOutOfMemory, answer.NodeOvercommitted}
