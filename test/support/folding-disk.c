/*
 * A file system that takes names for one that differ in case, or in how an accent is composed, as those of macOS and Windows do: below the
 * folder FOLDING, a path is led to the name that is there. Preloaded (LD_PRELOAD) into a program that calls the C library.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static void fold(const char *name, char *out) {
  while (*name) {
    unsigned char c = *name;
    if (c == 0xc3 && ((unsigned char)name[1] == 0x89 || (unsigned char)name[1] == 0xa9)) {
      strcpy(out, "e\xcc\x81");
      out += 3;
      name += 2;
      continue;
    }
    *out++ = c >= 'A' && c <= 'Z' ? c + 32 : c;
    name++;
  }
  *out = 0;
}

static int isThere(const char *path) {
  struct stat st;
  return syscall(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The path under which something is there, or would be made. */
static const char *lead(const char *path, char *out) {
  static const char *root;
  if (!root && !(root = getenv("FOLDING"))) return path;
  size_t length = strlen(root);
  if (!path || strncmp(path, root, length) || path[length] != '/' || strlen(path) > PATH_MAX - 2) return path;
  strcpy(out, root);
  const char *rest = path + length;
  while (*rest) {
    while (*rest == '/') rest++;
    size_t size = strcspn(rest, "/");
    if (!size) break;
    if (size > NAME_MAX) return path;
    char name[NAME_MAX + 1], folded[3 * NAME_MAX + 1], other[3 * NAME_MAX + 1];
    memcpy(name, rest, size);
    name[size] = 0;
    rest += size;
    char *end = out + strlen(out);
    *end = '/';
    strcpy(end + 1, name);
    if (isThere(out)) continue;
    *end = 0;
    fold(name, folded);
    DIR *directory = opendir(out);
    struct dirent *entry;
    *end = '/';
    while (directory && (entry = readdir(directory))) {
      fold(entry->d_name, other);
      if (!strcmp(folded, other)) {
        strcpy(end + 1, entry->d_name);
        break;
      }
    }
    if (directory) closedir(directory);
  }
  return out;
}

#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, name)
#define LEAD(path) char out_##path[PATH_MAX * 2]; path = lead(path, out_##path)

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    REAL(int, #name, const char *, int, ...); \
    va_list list; va_start(list, flags); mode_t mode = va_arg(list, mode_t); va_end(list); \
    LEAD(path); return real(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define ONE(type, name) type name(const char *path) { REAL(type, #name, const char *); LEAD(path); return real(path); }
ONE(int, unlink)
ONE(int, rmdir)
ONE(DIR *, opendir)

#define MODE(name) int name(const char *path, mode_t mode) { REAL(int, #name, const char *, mode_t); LEAD(path); return real(path, mode); }
MODE(mkdir)
MODE(chmod)

int access(const char *path, int mode) { REAL(int, "access", const char *, int); LEAD(path); return real(path, mode); }

#define TWO(name) \
  int name(const char *path, const char *to) { REAL(int, #name, const char *, const char *); LEAD(path); LEAD(to); return real(path, to); }
TWO(rename)
TWO(link)

int symlink(const char *target, const char *path) { REAL(int, "symlink", const char *, const char *); LEAD(path); return real(target, path); }

ssize_t readlink(const char *path, char *buffer, size_t size) {
  REAL(ssize_t, "readlink", const char *, char *, size_t);
  LEAD(path);
  return real(path, buffer, size);
}

#define SCAN(name, entry) \
  int name(const char *path, struct entry ***list, int (*choose)(const struct entry *), int (*compare)(const struct entry **, const struct entry **)) { \
    REAL(int, #name, const char *, struct entry ***, int (*)(const struct entry *), int (*)(const struct entry **, const struct entry **)); \
    LEAD(path); return real(path, list, choose, compare); \
  }
SCAN(scandir, dirent)
SCAN(scandir64, dirent64)

int utimensat(int at, const char *path, const struct timespec times[2], int flags) {
  REAL(int, "utimensat", int, const char *, const struct timespec *, int);
  LEAD(path);
  return real(at, path, times, flags);
}

int statx(int at, const char *path, int flags, unsigned int mask, struct statx *out) {
  REAL(int, "statx", int, const char *, int, unsigned int, struct statx *);
  LEAD(path);
  return real(at, path, flags, mask, out);
}

/* Node.js asks the system itself for the properties of files. */
long syscall(long number, ...) {
  REAL(long, "syscall", long, ...);
  long a[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
  va_end(list);
  char out[PATH_MAX * 2];
  if (number == SYS_statx) a[1] = (long)lead((const char *)a[1], out);
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
