package differential

import "time"

// Hooks around a container's start and end.
var hookScenarios = []scenario{
	{name: "hook-post-start", spec: pod("Always", idles, `lifecycle: {postStart: {exec: {command: [touch, /hooked]}}}`), until: ready},
	{name: "hook-post-start-slow", spec: pod("Always", idles, `lifecycle: {postStart: {exec: {command: [sleep, "2"]}}}`), until: ready},
	{
		name: "hook-post-start-http-fails", spec: pod("Always", ignores, `lifecycle: {postStart: {httpGet: {port: 81}}}`), until: backsOff("c"), exact: true,
		differs: []expected{{key: `container c #\d`, real: `ran, ended Error\((2|137)\)`, ours: `ran, ended Error\((2|137)\)`, why: wording, sometimes: true}},
	},
	{name: "hook-post-start-sleep", spec: pod("Always", idles, `lifecycle: {postStart: {sleep: {seconds: 1}}}`), until: ready},
	{name: "hook-pre-stop", spec: pod("Always", idles, `lifecycle: {preStop: {exec: {command: [touch, /hooked]}}}`, "terminationGracePeriodSeconds: 5\n"), steps: []step{{ready, pause(time.Second)}, {ready, remove}}, until: gone},
	{name: "hook-pre-stop-sleep", spec: pod("Always", idles, `lifecycle: {preStop: {sleep: {seconds: 1}}}`, "terminationGracePeriodSeconds: 5\n"), steps: []step{{ready, pause(time.Second)}, {ready, remove}}, until: gone},
	{name: "hook-pre-stop-fails", spec: pod("Always", idles, `lifecycle: {preStop: {exec: {command: [sh, -c, "echo oh; exit 7"]}}}`, "terminationGracePeriodSeconds: 5\n"), steps: []step{{ready, pause(time.Second)}, {ready, remove}}, until: gone},
	{name: "hook-pre-stop-too-long", spec: pod("Always", idles, `lifecycle: {preStop: {exec: {command: [sleep, "100"]}}}`, "terminationGracePeriodSeconds: 2\n"), steps: []step{{ready, pause(time.Second)}, {ready, remove}}, until: gone},
	killedOnce("hook-pre-stop-at-liveness", "busybox:1", idles, "lifecycle: {preStop: {exec: {command: [sleep, \"1\"]}}}\nlivenessProbe: "+failsOnce, "terminationGracePeriodSeconds: 5\n"),
}
