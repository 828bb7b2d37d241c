// Package web shows what happened to a pod, a workload or a node as a page: the answer
// of package why, and below it a timeline of the facts that it rests on.
//
// The page is one HTML file with everything in it, data included: it can be kept, sent
// and opened without a network. The program that it runs is in app/, bundled into
// dist/ by bundle/ (make web); dist/ is in the repository, so that building Whylet
// needs none of that.
//
//	gather.go   a journal and a question become a document (package timeline)
//	page.go     a document becomes a page
//	overview.go what is not well becomes a page that leads to the others
//	trace.go    a history becomes a trace for Perfetto
//	serve.go    the page on this machine, which follows what happens
//	shown.go    what of others' words a page shows
//
//	timeline/   the document: pure
//	perfetto/   the document as a trace for ui.perfetto.dev
//	app/        the page's program and style, and the libraries that it is bundled with
//	bundle/     the program that bundles it
//	dist/       what it made
//	browser/    tests in a real Chromium
package web
