package main

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// kernelView is what decides how a part of the kernel that is missing can be had.
type kernelView struct {
	release string // as uname -r
	// modules: there are files of modules for this kernel.
	modules bool
	// container says by what this is known to be one; empty: by nothing.
	container string
}

func lookAtKernel() kernelView {
	v := kernelView{container: container()}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		v.release = unix.ByteSliceToString(name.Release[:])
	}
	files, _ := os.ReadDir(filepath.Join("/lib/modules", v.release))
	v.modules = v.release != "" && len(files) > 0
	return v
}

// load is what brings modules into this kernel.
func (v kernelView) load(modules ...string) string {
	command := "modprobe -a " + strings.Join(modules, " ")
	switch {
	case v.container != "":
		return command + " on the machine itself, outside of the container"
	case v.modules:
		return command + "; for every boot: printf '%s\\n' " + strings.Join(modules, " ") + " >/etc/modules-load.d/whylet.conf"
	case strings.Contains(strings.ToLower(v.release), "microsoft"):
		return "wsl --update in Windows: this kernel (" + v.release + ") has neither that nor modules; or set another one with kernel= in .wslconfig"
	}
	return "use a kernel that has " + strings.Join(modules, ", ") + ": for this one (" + v.release + ") there are no modules in /lib/modules"
}
