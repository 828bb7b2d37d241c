package differential

// The headings in docs/differences.md.
const (
	attribution      = "Who ended a container"
	oomReason        = "OOMKilled"
	killedAgain      = "A container that a probe ended starts again"
	notObserved      = "What was not observed stays empty"
	failedConditions = "The conditions of a pod that failed early"
	killSaid         = "A probe's kill that ends the pod"
	interrupted      = "Probes that a deletion interrupts"
	wording          = "Wording that races"
	hidden           = "Events for what kubelet hides"
)

// everywhere are the differences that any scenario may show.
var everywhere = []expected{
	{key: `container \w+ #\d+ message`, ours: ".+", why: attribution},
	{key: "event Warning Unhealthy .* probe errored and resulted in unknown state: .*(context canceled|not found|in CONTAINER_EXITED state|ttrpc: closed)", real: "(said)?", ours: "(said)?", why: interrupted},
	{key: "event Warning (OOMKilling|ContainerDied|ProbeAnswered) .*", ours: "(said)?", why: hidden},
	{key: "event Warning Unhealthy .* malformed HTTP response .*", real: "(said)?", ours: "(said)?", why: wording},
}
