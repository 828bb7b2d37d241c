package front_test

import (
	"os"
	"testing"

	"whylet.dev/whylet/test/kube"
)

func TestMain(m *testing.M) { os.Exit(kube.Main(m)) }
