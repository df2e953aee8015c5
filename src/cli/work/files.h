/* Open files of a process that is about to become another one. */
#ifndef AX_CLI_WORK_FILES_H
#define AX_CLI_WORK_FILES_H

/* Closes every file from this number on. May be called between fork and exec. */
void files_close_from(int first);

#endif
