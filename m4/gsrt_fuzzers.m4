# GSRT_FUZZERS
# --enable-fuzzers: tests/fuzz/*_fuzz are libFuzzer programs that look for new inputs, instead of programs that replay
# the corpus. Needs clang; combine with --enable-sanitize.
AC_DEFUN([GSRT_FUZZERS], [
  AC_ARG_ENABLE([fuzzers],
    [AS_HELP_STRING([--enable-fuzzers], [build the fuzz targets with clang's libFuzzer])], [], [enable_fuzzers=no])
  FUZZ_CFLAGS=
  FUZZ_LDFLAGS=
  AS_VAR_IF([enable_fuzzers], [yes], [
    FUZZ_CFLAGS="-fsanitize=fuzzer-no-link"
    FUZZ_LDFLAGS="-fsanitize=fuzzer"
    AC_MSG_CHECKING([whether $CC has libFuzzer])
    gsrt_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -fsanitize=fuzzer"
    AC_LINK_IFELSE([AC_LANG_SOURCE([[
#include <stddef.h>
#include <stdint.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return data && size ? 0 : 0; }]])],
      [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       AC_MSG_ERROR([--enable-fuzzers needs clang with libFuzzer: configure CC=clang])])
    CFLAGS=$gsrt_save_CFLAGS
  ])
  AC_SUBST([FUZZ_CFLAGS])
  AC_SUBST([FUZZ_LDFLAGS])
  AM_CONDITIONAL([FUZZERS], [test "x$enable_fuzzers" = xyes])
])
