/*
 * nft starts the nft that came along: one with its libraries and its own loader in nft.d
 * beside this program, so that it needs nothing of the machine. Static, for the same
 * reason; a program finds its loader by an absolute path, which nobody knows before.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST 64

int main(int argc, char **argv) {
	static char dir[PATH_MAX], loader[PATH_MAX], program[PATH_MAX];
	char *args[MOST + 5];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	int i;

	if (n < 0 || argc > MOST) {
		fprintf(stderr, "nft: /proc is not mounted, or too many arguments\n");
		return 1;
	}
	dir[n] = 0;
	if (snprintf(loader, sizeof(loader), "%s.d/ld.so", dir) >= (int)sizeof(loader) ||
	    snprintf(program, sizeof(program), "%s.d/nft", dir) >= (int)sizeof(program))
		return 1;
	strcat(dir, ".d"); /* shorter than the two above */
	args[0] = loader;
	args[1] = "--library-path";
	args[2] = dir;
	args[3] = program;
	for (i = 1; i < argc; i++)
		args[i + 3] = argv[i];
	args[argc + 3] = NULL;
	execv(loader, args);
	perror(loader);
	return 1;
}
