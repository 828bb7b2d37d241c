package main

import (
	"os"

	"whylet.dev/whylet/test/bench/compare"
)

// show prints both sides beside each other.
func show(markdown bool, real, ours compare.Results) {
	if markdown {
		compare.Markdown(os.Stdout, real, ours)
		return
	}
	compare.Table(os.Stdout, real, ours)
}
