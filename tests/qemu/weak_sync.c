/* Preloaded into berthd and the agents by the power-cut harness's control "normal": SQLite then syncs at checkpoints only,
 * as with synchronous=NORMAL, and acknowledged commits must be lost. A harness that does not see it is blind. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

typedef struct sqlite3 sqlite3;
typedef int (*exec_function)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);

int sqlite3_exec(sqlite3 *database, const char *text, int (*row)(void *, int, char **, char **), void *argument,
                 char **error) {
  static exec_function real;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "sqlite3_exec");
  const int done = real(database, text, row, argument, error);
  if (strstr(text, "synchronous") != NULL) real(database, "pragma synchronous=normal", NULL, NULL, NULL);
  return done;
}
