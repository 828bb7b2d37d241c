package images

import (
	"os"
	"testing"

	"whylet.dev/whylet/node/cri/critest"
)

func TestMain(m *testing.M) { os.Exit(critest.Main(m)) }
