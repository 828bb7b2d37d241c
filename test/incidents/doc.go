// Package incidents asks about incidents that are written by hand: what the API server shows
// of a namespace at a moment, as a few objects and log lines, and what a good engineer says of it.
// Nobody on a node remembers anything there. It is the quickest way to turn a report into a test:
//
//	go test ./test/incidents -rewrite
//
// incident.go makes a case of a file in testdata, which is a txtar archive. Before its files stand what it is about
// and what must be true of the answer, a line each:
//
//	ask: pod/web
//	symptom: Degraded
//	cause: dependency-down      several that are right are separated by spaces
//	leads: shop/postgres        the pod to which the chain leads
//	says: refused               a regular expression that the text matches, its white space as single spaces
//	never: delete pod           one that it does not match
//	open: shop/elasticsearch    one that it should match, and does not yet
//
// objects.yaml has the objects. What a pod leaves out is filled in: namespace shop, node n1, and
// that it runs and is Ready since ten minutes. POD/CONTAINER.now.log and .previous.log are logs,
// each line with how long before the question it was written: "30s text", or "2m-0s/5s text" for
// every five seconds of the last two minutes. The file answer is the text of the answer, written
// by -rewrite, to be read.
package incidents
