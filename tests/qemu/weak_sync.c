/* Preloaded into berthd and the agents by the control "normal" of the power-cut test: sets synchronous=NORMAL, so that
 * SQLite syncs at checkpoints only and a cut loses acknowledged commits. The test must detect that. */
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
