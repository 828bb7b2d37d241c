// Package scenarios asks why about real containers that are in real trouble. Each
// file is one scenario, a txtar archive that begins with what misleads and where the trouble
// was reported:
//
//	manifest.yaml  makes the trouble, mostly to a pod named subject
//	trigger.sh     what is done to it then, if anything; run by bash beside the node after
//	               the functions of lib.sh, with $NS, $KUBECONFIG, $DATA (the node's data
//	               directory), $MANIFEST and the built programs in $PATH
//	recover.sh     how the trouble is mended, if it can be
//	answer.yaml    what must be said of it ([Expected])
//
// They are kept by what they are about:
//
//	own              what Kubernetes and the node do, one trouble each
//	servers          real servers as people deploy them, a folder a server; chains are of
//	                 several pods, of which one brings others down
//	meshes           sidecars of other meshes, beside a real kubelet
//
// The test runs each once, many side by side on one node, and asks until the answer
// is the expected one. `make bench-why` runs all of them again and again, asks in
// every [Situation], and grades every answer from the first symptom on ([Sample]);
// both use [Suite], on any [Cluster]:
//
//	scenario.go  what a scenario is, and how an answer is judged; script.go runs its scripts
//	suite.go     plays scenarios; sample.go grades what is said all the while
//	signs.go     from when on the API shows that something is amiss
//	cluster.go   what they are played on: node.go a node of ours, kubelet.go the real
//	             one with the agent beside it, of which faults.go kills parts, trio.go three
//	             nodes behind a front
//
//	WHYLET_SCENARIOS=a,b       only these, todo or not
//	WHYLET_SCENARIOS_ALL=1     all of them, in every situation
//	WHYLET_SCENARIOS_PARALLEL  how many side by side (default: 6 for each CPU)
//	WHYLET_SCENARIOS_PATIENCE  how long to wait for the right answer (default: 5m)
//	WHYLET_E2E_BIN             where the built programs are
package scenarios
