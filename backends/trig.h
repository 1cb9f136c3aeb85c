/* exp, log, sin and cos in binary64, ours: the same bits with every libm. For tables and sampling, not for hot loops.
 * Relative error of exp64 and log64 below 4e-16 (exp64: beyond |x| * 2^-53 of its argument), absolute error of sin64
 * and cos64 below 4e-16 for |x| < 2^20; measured in tests/backends/numerics_test.c.
 */
#ifndef GSRT_BACKENDS_TRIG_H
#define GSRT_BACKENDS_TRIG_H

/* exp(x); 0 below -708, +inf above 709; NaN stays NaN. */
double gsrt_exp64(double x);
/* ln(x) of a normal x > 0; NaN otherwise. */
double gsrt_log64(double x);
/* sin and cos of x; NaN for |x| >= 2^30. */
void gsrt_sincos64(double x, double *out_sin, double *out_cos);

#endif
