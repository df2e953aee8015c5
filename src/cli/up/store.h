/* The directory in which `ax up` keeps the server's streams. */
#ifndef AX_CLI_UP_STORE_H
#define AX_CLI_UP_STORE_H

/* Makes the directory where it does not exist, and takes it for this process. given: its path;
 * NULL: $XDG_DATA_HOME/ax or ~/.local/share/ax. *path: its real path, the caller frees it.
 * *lock_fd: a child that inherits it holds the store, too, and so it stays taken while a server of
 * ours lives. Returns CLI_OK, or the exit code after saying what is wrong. */
int store_open(const char *given, char **path, int *lock_fd);

#endif
