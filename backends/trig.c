#include "backends/trig.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ln 2 and pi / 2 as sums of binary64 values, the first of each with trailing zeros so that n * first is exact. */
static const double LN2_HIGH = 0x1.62e42fefp-1;
static const double LN2_LOW = 0x1.473de6af278edp-34;
static const double HALF_PI_1 = 0x1.921fb544p+0;
static const double HALF_PI_2 = 0x1.0b4611a6p-34;
static const double HALF_PI_3 = 0x1.3198a2e037073p-69;

static double power_of_two(int32_t n)
{
    uint64_t bits = (uint64_t)(n + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Taylor's series after reduction to |r| <= ln(2) / 2: r^14 / 14! is below 5e-18. */
double gsrt_exp64(double x)
{
    if (x != x)
        return x;
    if (x > 709.0)
        return INFINITY;
    if (x < -708.0)
        return 0.0;
    double shifted = fma(x, 0x1.71547652b82fep+0, 0x1.8p+52);
    double n = shifted - 0x1.8p+52;
    double r = fma(n, -LN2_HIGH, x);
    r = fma(n, -LN2_LOW, r);
    double p = 1.0;
    for (int k = 13; k >= 1; k--)
        p = fma(p, r / k, 1.0);
    int32_t power = (int32_t)n;
    int32_t half = power / 2; /* in two steps: 2^1023 * 2 would overflow */
    return p * power_of_two(half) * power_of_two(power - half);
}

/* ln(m * 2^e) = e ln 2 + 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.172: s^25 / 25 is below 3e-21. */
double gsrt_log64(double x)
{
    if (!(x >= 0x1p-1022) || x == INFINITY)
        return NAN;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int32_t e = (int32_t)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        e += 1;
    }
    double s = (m - 1.0) / (m + 1.0);
    double square = s * s;
    double p = 1.0 / 23.0;
    for (int k = 21; k >= 3; k -= 2)
        p = fma(p, square, 1.0 / k);
    double series = 2.0 * s * square * p;
    double head = fma((double)e, LN2_LOW, series);
    return fma((double)e, LN2_HIGH, 2.0 * s + head);
}

/* Reduction to |r| <= pi / 4 in three parts, then Taylor's series: r^18 / 18! is below 2e-18. */
void gsrt_sincos64(double x, double *out_sin, double *out_cos)
{
    if (!(fabs(x) < 0x1p+30)) {
        *out_sin = NAN;
        *out_cos = NAN;
        return;
    }
    double shifted = fma(x, 0x1.45f306dc9c883p-1, 0x1.8p+52);
    double n = shifted - 0x1.8p+52;
    double r = fma(n, -HALF_PI_1, x);
    r = fma(n, -HALF_PI_2, r);
    r = fma(n, -HALF_PI_3, r);
    double square = r * r;
    double s = 1.0, c = 1.0;
    for (int k = 17; k >= 3; k -= 2)
        s = fma(-s, square / (double)(k * (k - 1)), 1.0);
    for (int k = 18; k >= 2; k -= 2)
        c = fma(-c, square / (double)(k * (k - 1)), 1.0);
    s *= r;
    switch ((unsigned)(int64_t)n & 3u) {
    case 0: *out_sin = s, *out_cos = c; break;
    case 1: *out_sin = c, *out_cos = -s; break;
    case 2: *out_sin = -s, *out_cos = -c; break;
    default: *out_sin = -c, *out_cos = s; break;
    }
}
