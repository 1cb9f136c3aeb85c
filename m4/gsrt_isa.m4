# GSRT_ISA
# Which vector kernels this compiler can build. They are compiled with their own flags and chosen at run time, so the
# build machine's CPU does not matter. Defines AVX2_CFLAGS, AVX512_CFLAGS, conditionals AVX2 and AVX512, and the macros
# GSRT_HAVE_AVX2 and GSRT_HAVE_AVX512 (0 or 1).
AC_DEFUN([GSRT__ISA_TRY], [
  AC_MSG_CHECKING([whether $CC builds $1 kernels])
  gsrt_save_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS $2"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <immintrin.h>]], [[$3]])],
    [AC_MSG_RESULT([yes]); $4=yes], [AC_MSG_RESULT([no]); $4=no])
  CFLAGS=$gsrt_save_CFLAGS
])
AC_DEFUN([GSRT_ISA], [
  AC_REQUIRE([AC_CANONICAL_HOST])
  AVX2_CFLAGS="-mavx2 -mfma -mf16c"
  AVX512_CFLAGS="-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mfma -mf16c"
  gsrt_have_avx2=no
  gsrt_have_avx512=no
  AS_CASE([$host_cpu], [x86_64], [
    GSRT__ISA_TRY([AVX2], [$AVX2_CFLAGS],
      [__m256 x = _mm256_setzero_ps(); x = _mm256_fmadd_ps(x, x, x); (void)x;], [gsrt_have_avx2])
    GSRT__ISA_TRY([AVX-512], [$AVX512_CFLAGS],
      [__m512i x = _mm512_setzero_si512(); x = _mm512_dpbusd_epi32(x, x, x); (void)x;], [gsrt_have_avx512])
  ])
  gsrt_isa_names=
  GSRT_HAVE_AVX2=0
  GSRT_HAVE_AVX512=0
  AS_VAR_IF([gsrt_have_avx2], [yes], [GSRT_HAVE_AVX2=1; gsrt_isa_names="$gsrt_isa_names avx2"])
  AS_VAR_IF([gsrt_have_avx512], [yes], [GSRT_HAVE_AVX512=1; gsrt_isa_names="$gsrt_isa_names avx512"])
  AC_SUBST([AVX2_CFLAGS])
  AC_SUBST([AVX512_CFLAGS])
  AC_SUBST([GSRT_HAVE_AVX2])
  AC_SUBST([GSRT_HAVE_AVX512])
  AM_CONDITIONAL([AVX2], [test "x$gsrt_have_avx2" = xyes])
  AM_CONDITIONAL([AVX512], [test "x$gsrt_have_avx512" = xyes])
])
