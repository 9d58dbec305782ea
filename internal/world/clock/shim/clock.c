/*
 * A library for LD_PRELOAD that moves the wall clock of one process. The offset is a signed number of
 * nanoseconds in an 8-byte file, which the process maps. CLOCK_MONOTONIC is not changed, as in a real clock jump.
 *
 * The functions neither allocate nor look up symbols, since an allocator may read the clock during its start.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static const long long *offset; /* NULL, that is 0, until the file is mapped */

__attribute__((constructor)) static void map_offset(void) {
	const char *path = getenv("LOCKBENCH_CLOCK");
	if (path == NULL)
		return;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	void *page = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (page != MAP_FAILED)
		offset = page;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
	int failed = (int)syscall(SYS_clock_gettime, clock, t);
	if (failed || offset == NULL || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return failed;
	long long now = t->tv_sec * SECOND + t->tv_nsec + __atomic_load_n(offset, __ATOMIC_RELAXED);
	t->tv_sec = now / SECOND;
	t->tv_nsec = now % SECOND;
	return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	(void)zone; /* obsolete */
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t) {
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	if (t != NULL)
		*t = now.tv_sec;
	return now.tv_sec;
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 30)
/* The deadline is a time of the moved clock, and the kernel compares it with the machine's clock. */
int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict deadline) {
	long long at = deadline->tv_sec * SECOND + deadline->tv_nsec;
	if (offset != NULL)
		at -= __atomic_load_n(offset, __ATOMIC_RELAXED);
	struct timespec t = {.tv_sec = at / SECOND, .tv_nsec = at % SECOND};
	return sem_clockwait(sem, CLOCK_REALTIME, &t);
}
#endif
