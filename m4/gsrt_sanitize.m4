# GSRT_SANITIZE
# --enable-sanitize=LIST (address,undefined or thread): build everything with these sanitizers; every finding is fatal.
AC_DEFUN([GSRT_SANITIZE], [
  AC_ARG_ENABLE([sanitize],
    [AS_HELP_STRING([--enable-sanitize=LIST], [address,undefined or thread: build with sanitizers])],
    [], [enable_sanitize=no])
  AS_CASE([$enable_sanitize],
    [no], [SANITIZE_CFLAGS=],
    [yes], [enable_sanitize=address,undefined],
    [])
  AS_VAR_IF([enable_sanitize], [no], [], [
    SANITIZE_CFLAGS="-fsanitize=$enable_sanitize -fno-sanitize-recover=all -fno-omit-frame-pointer"
    AC_MSG_CHECKING([whether $CC accepts -fsanitize=$enable_sanitize])
    gsrt_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $SANITIZE_CFLAGS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       AC_MSG_ERROR([the compiler cannot build with -fsanitize=$enable_sanitize])])
    CFLAGS=$gsrt_save_CFLAGS
  ])
  AC_SUBST([SANITIZE_CFLAGS])
  AM_CONDITIONAL([SANITIZE], [test "x$enable_sanitize" != xno])
])
