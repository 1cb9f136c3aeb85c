# GSRT_WARNINGS
# The warnings every source must be free of, on GCC and clang; --enable-werror makes them errors.
AC_DEFUN([GSRT_WARNINGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])], [], [enable_werror=no])
  WARN_CFLAGS="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla"
  WARN_CFLAGS="$WARN_CFLAGS -Wundef -Wformat=2 -Wswitch-enum -Wimplicit-fallthrough"
  AS_VAR_IF([enable_werror], [yes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
  AC_SUBST([WARN_CFLAGS])
])
