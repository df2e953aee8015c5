/* stdin, stdout and stderr of a process that was started without one of them. */
#ifndef AX_BASE_STANDARD_STREAMS_H
#define AX_BASE_STANDARD_STREAMS_H

/* Opens /dev/null in their place: otherwise the next socket would be one of them, and lines of the
 * log would be written into it. First thing in main. */
void standard_streams_open(void);

#endif
