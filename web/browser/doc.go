// Package browser has no code of its own: its tests open pages of package web in a real
// Chromium, read them, use them by keyboard and pointer, and look at them.
//
//	browser_test.go    starts Chromium; a machine without one skips
//	page_test.go       what a page says and does
//	lanes_test.go      a history in which everything happens: each lane, table and mark
//	workload_test.go   several pods above each other
//	overview_test.go   what is not well in a cluster, and from there to a pod
//	pointer_test.go    mouse and fingers
//	looks_test.go      dark, light, narrow, screenshots, and axe-core
//	live_test.go       the page that is served follows
//	large_test.go      a history of a hundred thousand facts
//	testdata/axe       axe-core 4.14.1, which finds what people with disabilities trip over
package browser
