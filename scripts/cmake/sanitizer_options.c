/* Defaults of the sanitizer run-times; ASAN_OPTIONS and the like still win. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__tsan_default_options(void);
const char *__tsan_default_suppressions(void);

/* LeakSanitizer looks at exit, too. Nothing is suppressed: what nats.c and OpenSSL keep is still
 * pointed to. */
const char *__asan_default_options(void)
{
    return "abort_on_error=0:exitcode=86:detect_leaks=1:detect_stack_use_after_return=1";
}

const char *__ubsan_default_options(void)
{
    return "print_stacktrace=1:halt_on_error=1:exitcode=86";
}

const char *__tsan_default_options(void)
{
    return "halt_on_error=1:exitcode=86:second_deadlock_stack=1:history_size=4";
}

/* The libraries are not instrumented: what they do among themselves looks unsynchronised and is not
 * ours. */
const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:libnats.so\n"
           "called_from_lib:libmicrohttpd.so\n"
           "called_from_lib:libcrypto.so\n"
           "called_from_lib:libssl.so\n";
}
