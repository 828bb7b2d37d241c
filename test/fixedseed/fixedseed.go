// Package fixedseed lets the random tests of a package try the same cases every
// time it is imported for this by one of its test files:
//
//	import _ "whylet.dev/whylet/test/fixedseed"
//
// So a run says something about the change at hand, and not about luck. Other
// cases are tried on purpose: with -rapid.seed=N, with -rapid.seed=0 for a seed
// of rapid's own choice, or by `make test-laws-long`.
package fixedseed

import (
	"flag"

	_ "pgregory.net/rapid" // defines the flag
)

// seed is what rapid starts from; any number but zero would do.
const seed = "20300101"

func init() {
	if err := flag.Set("rapid.seed", seed); err != nil {
		panic(err)
	}
}
