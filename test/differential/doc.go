// Package differential lets the same pods live on the real stack and on Whylet,
// side by side and with real containers, and compares what the two say of them.
//
// A scenario is a pod, what is done to it meanwhile, and the milestone at which
// it is over; the tables are in the files named after what they are about. How
// histories are made comparable is package record's subject. A difference fails
// the test unless the scenario's table, or [everywhere], expects it with both
// sides' values and the section of docs/differences.md that gives the reason; an
// expected difference that is not found fails the test as well.
//
//	make peer test-differential                  all scenarios
//	go test ./test/differential -short           those that matter most, two minutes
//	go test ./test/differential -run /probe      those whose name has "probe"
//	go test ./test/differential -v               what each side said of each pod
package differential
