/*
 * pause holds a pod's namespaces open. It waits for signals, reaps what is
 * re-parented to it when the pod shares one process namespace, and ends at
 * SIGTERM or SIGINT. In C and static, because one runs for each pod: it costs
 * a few pages, where a Go program would cost a megabyte.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return 1;
	for (;;) {
		if (sigwait(&set, &sig) != 0)
			return 2;
		if (sig != SIGCHLD)
			return 0;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}
