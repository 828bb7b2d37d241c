package why

import (
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/words"
)

// moreShared gives a container more shared memory than the runtime does.
const moreShared = "mount an emptyDir with medium: Memory at /dev/shm (what is in it counts to the container's memory limit)"

// ofMachines are meanings of what is said of the node, its kernel and its devices.
var ofMachines = []meaning{
	{
		words.NoFamily,
		"the node has no IPv6 (or no IPv4), and it wants an address of that kind",
		changing("have it listen on 0.0.0.0 instead of [::] (nginx: without the line listen [::]:80)"),
	},
	{
		words.NotMyAddress,
		"it wants to use an address that is none of the pod's; or, where it connects to others, all its local ports are taken",
		changing("have it listen on 0.0.0.0, or on the pod's own address (env from status.podIP); where it connects, have it keep its connections and use them again"),
	},
	{
		words.SmallShm,
		"its shared memory is full: /dev/shm has 64 MiB in a container where nothing else is said",
		changing(moreShared),
	},
	{
		words.StaticTLS,
		"a library is loaded too late for what it keeps for each thread; memory is not short",
		changing("load that library first: its path in LD_PRELOAD in the container's env, or its import before all others"),
	},
	{
		words.MountGone,
		"the file system of a volume is gone below it: its server was restarted, or the process that serves it has ended",
		func(h *inquiry, _, _ string) answer.Fix {
			return answer.Fix{Text: "see that the volume's server is well, then have the pod made anew: only that mounts the volume again", Command: h.kubectl("delete pod %s", h.Pod.Name), Risk: answer.Restarts}
		},
	},
	{
		words.DiskFails,
		"a disk, or the file system on it, does not work",
		showing("see what the node's kernel says of its disks", "dmesg -T | grep -iE 'i/o error|ext4|xfs|btrfs|nvme|sd[a-z]'   # on the node"),
	},
	{
		words.NoDevice,
		"the container does not have a device that it wants",
		changing("give it that device: from a device plugin, or as a hostPath volume of type CharDevice with privileged: true"),
	},
	{
		words.NoFirewall,
		"it may not change the pod's firewall, or the node's kernel has no such table",
		changing("add the capabilities NET_ADMIN and NET_RAW to its container (with runAsUser: 0); where a table does not exist, load its module on the node (modprobe iptable_nat), or use an image with the other kind of iptables (nft, legacy)"),
	},
	{
		words.ChromeSandbox,
		"Chromium cannot make the sandbox that it runs pages in: a container may not",
		changing("start it with --no-sandbox --disable-dev-shm-usage, and the container as a user that is not root"),
	},
	{
		words.NoDisplay,
		"it wants to show a window, and there is no screen",
		changing("have it run without one (an option such as --headless; Java: -Djava.awt.headless=true; Qt: QT_QPA_PLATFORM=offscreen), or start it by xvfb-run"),
	},
	{
		words.NoTerminal,
		"it asks somebody at a terminal, and nobody is there",
		changing("give it the answer beforehand: an option such as --yes or --non-interactive, or a setting"),
	},
	{
		words.InotifyFull,
		"the node gives its user no more inotify instances (fs.inotify.max_user_instances, counted over all containers of that user); the limit of open files is not meant",
		showing("see the node's limit, and raise it there", "sysctl fs.inotify.max_user_instances   # on the node"),
	},
	{
		words.OtherProcessor,
		"a program in the image is made for another kind of processor than the node has, or is no program",
		changing("use an image for the node's kind (kubectl get nodes -L kubernetes.io/arch shows that), as docker buildx build --platform linux/amd64,linux/arm64 makes for both"),
	},
	{
		words.WorkerKilled,
		"one of its workers was killed from outside: by the kernel for want of memory, mostly",
		changing("raise the container's memory limit, or let it have fewer workers (Celery: --concurrency and --max-memory-per-child; gunicorn: --workers)"),
	},
	{
		words.BlockedHost,
		"it turns away who asks it by a name that it was not told of, such as a probe, which asks by the pod's address",
		changing("let it take that name (Django: ALLOWED_HOSTS; Rails: config.hosts), or give the probe a Host header that it takes (httpGet.httpHeaders)"),
	},
	{
		words.ArgsTooLong,
		"its arguments and variables are too long for the kernel, all together; Kubernetes adds some variables for each Service of the namespace",
		changing("set enableServiceLinks: false in the pod's spec, and give it what is long as a file (a volume of a ConfigMap)"),
	},
	{
		words.NoGPU,
		"it sees no GPU",
		changing("ask for one in the container's resources (limits: nvidia.com/gpu: 1); kubectl describe node says under Allocatable whether its node has any to give"),
	},
	{
		words.GPUDriver,
		"the node's NVIDIA driver is older than the CUDA in the image needs",
		changing("use an image with an older CUDA, or upgrade the driver on the node (nvidia-smi there says up to which CUDA it goes)"),
	},
	{
		words.GPUKind,
		"the program is not built for the kind of GPU that the node has",
		changing("use an image whose libraries are built for it, or have the pod go to a node with another GPU (nodeSelector)"),
	},
	{
		words.GPUMemory,
		"the GPU's own memory is full, or too small for that (the container's memory limit does not count there)",
		changing("have it need less: a smaller batch, a shorter context (vLLM: --max-model-len, --gpu-memory-utilization), a smaller or quantised model; or use a larger GPU; and see that nobody else is on that one"),
	},
}
