// Package browser has no code of its own: its tests open pages of package web in a real
// Chromium, read them, use them by keyboard and pointer, and look at them.
//
//	browser_test.go    starts Chromium; a machine without one skips
//	page_test.go       what a page says and does
//	looks_test.go      dark, light, narrow, screenshots, and axe-core
//	live_test.go       the page that is served follows
//	large_test.go      a history of a hundred thousand facts
//	testdata/axe       axe-core 4.14.1, which finds what people with disabilities trip over
package browser
