package words

// What is said of the node, its kernel and its devices, beside what troubles.go has.
var (
	NoFamily = fits("strerror(3), EAFNOSUPPORT; Node 24 gives the name", `(?i)\baddress family not supported by protocol\b|\beafnosupport\b`,
		"nginx: [emerg] socket() [::]:80 failed (97: Address family not supported by protocol)", "Error: listen EAFNOSUPPORT: address family not supported :::3000")
	NotMyAddress = fits("strerror(3), EADDRNOTAVAIL; Node 24 gives the name", `(?i)\b(cannot|can't) assign requested address\b|\beaddrnotavail\b`,
		"listen tcp 192.168.1.7:8080: bind: cannot assign requested address", "Error: listen EADDRNOTAVAIL: address not available 192.168.1.7:8080")
	// SmallShm is said of shared memory, of which a container has 64 MiB where nothing is said.
	SmallShm = fits("PostgreSQL 17, dsm_impl.c; PyTorch 2, DataLoader; shm_open(3)",
		`(?i)\bcould not resize shared memory segment\b|\binsufficient shared memory\b|/dev/shm\b.{0,60}no space left|\bdataloader worker .{0,40}bus error\b|\bunable to (write to|open|allocate) shared memory\b`,
		`ERROR:  could not resize shared memory segment "/PostgreSQL.1804289383" to 8388608 bytes: No space left on device`, "RuntimeError: DataLoader worker (pid 17) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.", "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).", "unable to open shared memory object </torch_7_1>")
	// StaticTLS is said by a loader of thread-local data: no memory is missing.
	StaticTLS = fits("glibc 2.42, elf/dl-tls.c", `(?i)cannot allocate memory in static tls block`, "/usr/lib/libgomp.so.1: cannot allocate memory in static TLS block")
	// MountGone is said of a file system whose server, or process, is gone.
	MountGone = fits("strerror(3), ESTALE and ENOTCONN of FUSE", `(?i)\bstale (nfs )?file handle\b|\bestale\b|: transport endpoint is not connected\b`,
		"open /data/x: stale NFS file handle", "ls: cannot access '/data': Transport endpoint is not connected")
	DiskFails = fits("strerror(3), EIO and EUCLEAN; Node 24 gives the name", `(?i): input/output error\b|\beio: i/o error\b|\bstructure needs cleaning\b|\berrno 5\] input/output`,
		`ERROR:  could not read block 3 in file "base/5/16390": Input/output error`, "Error: EIO: i/o error, read", "mkdir: cannot create directory '/data/x': Structure needs cleaning", "OSError: [Errno 5] Input/output error: '/data/x'")
	NoDevice = fits("OpenVPN 2.6, WireGuard; fuse 3; QEMU 10", `(?i)\bcannot open tun/tap dev\b|/dev/net/tun\b.{0,20}no such (file|device)|\bfuse: device not found\b|/dev/fuse: (no such|operation not permitted|permission denied)|\bcould not access kvm kernel module\b|/dev/kvm: (no such|permission denied)`,
		"ERROR: Cannot open TUN/TAP dev /dev/net/tun: No such file or directory (errno=2)", "fuse: device not found, try 'modprobe fuse' first", "fuse: failed to open /dev/fuse: Operation not permitted", "Could not access KVM kernel module: No such file or directory", "open /dev/net/tun: no such file or directory", "open /dev/kvm: permission denied")
	NoFirewall = fits("iptables 1.8", `(?i)can't initialize (ip6?tables|ebtables) table|\bip6?tables(-restore)?\b.{0,80}(permission denied|must be root|table does not exist)`,
		"iptables v1.8.9 (legacy): can't initialize iptables table `nat': Permission denied (you must be root)", "iptables v1.8.9 (nf_tables): Could not fetch rule set generation id: Permission denied (you must be root)")
	ChromeSandbox = fits("Chromium 142", `(?i)\brunning as root without --no-sandbox\b|\bno usable sandbox\b|\bfailed to move to new namespace\b`,
		"[1:1:1123/100000.1:ERROR:zygote_host_impl_linux.cc(100)] Running as root without --no-sandbox is not supported.", "FATAL:zygote_host_impl_linux.cc(127)] No usable sandbox!", "Failed to move to new namespace: PID namespaces supported, Network namespace supported, but failed: errno = Operation not permitted")
	NoDisplay = fits("GTK 4, Qt 6, OpenJDK 25, Chromium 142", `(?i)\b(cannot|can't|could not|unable to) (open|connect to) (x )?display\b|\bmissing x server or \$display\b|\bcould not load the qt platform plugin\b|\bno x11 display variable\b|\bheadlessexception\b`,
		"Gtk-WARNING **: cannot open display:", "Missing X server or $DISPLAY", `qt.qpa.plugin: Could not load the Qt platform plugin "xcb" in "" even though it was found.`, "java.awt.HeadlessException: No X11 DISPLAY variable was set", "qt.qpa.xcb: could not connect to display")
	NoTerminal = fits("CPython 3.14, OpenSSH 10, sudo 1.9, docker 29; Inquirer 12", `(?i)\bthe input device is not a tty\b|\bstdin is not a (tty|terminal)\b|\beoferror: eof when reading a line\b|\bprompt couldn't be rendered\b|\ba terminal is required to\b`,
		"the input device is not a TTY", "EOFError: EOF when reading a line", "stdin is not a terminal", "Error: Prompt couldn't be rendered in the current environment", "sudo: a terminal is required to read the password")
	InotifyFull = fits("inotify_init(2); .NET 10, FileSystemWatcher.Linux.cs; systemd 257", `(?i)\binotify_init1?: too many open files|\bnumber of inotify instances has been reached|\bfailed to (create|allocate|initiali[sz]e) (an? )?(inotify|fsnotify)\b`,
		"Failed to start container manager: inotify_init: too many open files", "System.IO.IOException: The configured user limit (128) on the number of inotify instances has been reached, or the per-process limit on the number of open file descriptors has been reached.", "Failed to allocate inotify fd: Too many open files")
	OtherProcessor = fits("strerror(3), ENOEXEC, of a program", `(?i)\bexec format error\b`, "/entrypoint.sh: line 9: /usr/local/bin/shop-server: cannot execute binary file: Exec format error")
	// WorkerKilled is said by a server of a worker of its own that it did not end.
	WorkerKilled = fits("Celery 5 (billiard), gunicorn 23, concurrent.futures of CPython 3.14, Puma 7", `(?i)\bworker exited prematurely: signal 9\b|\bwas sent sigkill! perhaps out of memory\b|\bbrokenprocesspool\b|\bexited with 'signal 9\b`,
		"billiard.exceptions.WorkerLostError: Worker exited prematurely: signal 9 (SIGKILL) Job: 0.", "[ERROR] Worker (pid:7) was sent SIGKILL! Perhaps out of memory?", "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly while the future was running or pending.", "Process 'ForkPoolWorker-1' pid:17 exited with 'signal 9 (SIGKILL)'")
	// BlockedHost is said by a server that is asked by a name, or an address, that it does not take.
	BlockedHost = fits("Django 5, Rails 8, webpack-dev-server 5", `(?i)\binvalid http_host header\b|\bblocked hosts?: \S|\bdisallowedhost\b|\binvalid host header\b`,
		"django.core.exceptions.DisallowedHost: Invalid HTTP_HOST header: '10.42.3.17:8000'.", "[ActionDispatch::HostAuthorization::DefaultResponseApp] Blocked hosts: 10.42.0.8:3000", "Invalid Host header")
	ArgsTooLong = fits("strerror(3), E2BIG; Node 24 gives the name", `(?i)\bargument list too long\b|\be2big\b`, "exec /usr/bin/env: argument list too long", "Error: spawn E2BIG")

	NoGPU = fits("CUDA 13, PyTorch 2, TensorFlow 2, NVML", `(?i)\bno cuda-capable device is detected\b|\bfound no nvidia driver\b|\bno cuda gpus are available\b|\blibcuda\.so\.1: cannot open\b|\bcould not (load|find) (dynamic library '?)?(libcuda|cuda drivers)|\bfailed to initialize nvml\b|\btorch not compiled with cuda enabled\b`,
		"CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", "RuntimeError: Found no NVIDIA driver on your system.", "RuntimeError: No CUDA GPUs are available", "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory", "Could not find cuda drivers on your machine, GPU will not be used.", "Failed to initialize NVML: Unknown Error", "AssertionError: Torch not compiled with CUDA enabled", "Could not load dynamic library 'libcuda.so.1'")
	GPUDriver = fits("CUDA 13, PyTorch 2, NVIDIA's container toolkit", `(?i)\bcuda driver version is insufficient\b|\bthe nvidia driver on your system is too old\b|\bunsatisfied condition: cuda>=|\bunsupported toolchain\b`,
		"RuntimeError: CUDA driver version is insufficient for CUDA runtime version", "The NVIDIA driver on your system is too old (found version 11040).", "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4", "the provided PTX was compiled with an unsupported toolchain.")
	GPUKind = fits("CUDA 13, PyTorch 2", `(?i)\bno kernel image is available for execution\b|\bis not compatible with the current pytorch installation\b`,
		"RuntimeError: CUDA error: no kernel image is available for execution on the device", "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.")
	// GPUMemory is said of the memory of a GPU.
	GPUMemory = fits("CUDA 13, PyTorch 2, vLLM 0.11, ROCm 7", `(?i)\b(cuda|hip)(_error)?[ _]out[ _]of[ _]memory\b|\bcuda error: out of memory\b|\bno available memory for the cache blocks\b|\bcan be stored in kv cache\b|\bto serve at least one request with the model's max seq len\b`,
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB.", "CUDA_ERROR_OUT_OF_MEMORY: out of memory", "CUDA error: out of memory", "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`", "The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (58496).",
		"To serve at least one request with the model's max seq len (131072), 16.00 GiB KV cache is needed", "HIP out of memory. Tried to allocate 2.00 GiB")
)
