# GSRT_OPTIONAL
# Libraries that add a capability. Each has a conditional of automake.
AC_DEFUN([GSRT_OPTIONAL], [
  AC_ARG_WITH([papi],
    [AS_HELP_STRING([--without-papi], [leave out the hardware counters])], [], [with_papi=check])
  gsrt_have_papi=no
  AS_VAR_IF([with_papi], [no], [], [PKG_CHECK_MODULES([PAPI], [papi], [gsrt_have_papi=yes],
    [AS_VAR_IF([with_papi], [yes], [AC_MSG_ERROR([--with-papi: papi.pc was not found])])])])
  AC_ARG_WITH([glpk],
    [AS_HELP_STRING([--without-glpk], [leave out the exact baseline of the planner's search])], [], [with_glpk=check])
  gsrt_have_glpk=no
  GLPK_LIBS=
  AS_VAR_IF([with_glpk], [no], [], [AC_CHECK_HEADER([glpk.h],
    [AC_CHECK_LIB([glpk], [glp_intopt], [gsrt_have_glpk=yes; GLPK_LIBS=-lglpk])])
    AS_IF([test "x$with_glpk$gsrt_have_glpk" = xyesno], [AC_MSG_ERROR([--with-glpk: glpk.h or libglpk was not found])])])
  AC_SUBST([GLPK_LIBS])
  AM_CONDITIONAL([GLPK], [test "x$gsrt_have_glpk" = xyes])
  AC_CHECK_HEADER([simde/x86/avx512.h], [gsrt_have_simde=yes], [gsrt_have_simde=no])
  AM_CONDITIONAL([PAPI], [test "x$gsrt_have_papi" = xyes])
  AM_CONDITIONAL([SIMDE], [test "x$gsrt_have_simde" = xyes])
])
