#include "bench/measure.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_once_t allowed_once = PTHREAD_ONCE_INIT;
static cpu_set_t allowed; /* what the process had before any of its threads was bound */

static void read_allowed(void)
{
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        CPU_ZERO(&allowed);
}

uint64_t gsrt_measure_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

unsigned gsrt_measure_cpu_count(void)
{
    pthread_once(&allowed_once, read_allowed);
    return (unsigned)CPU_COUNT(&allowed);
}

bool gsrt_measure_bind(unsigned index)
{
    unsigned count = gsrt_measure_cpu_count();
    if (count == 0)
        return false;
    index %= count;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || index-- > 0)
            continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
    }
    return false;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double gsrt_measure_median(double *values, size_t count)
{
    if (count == 0)
        return (double)NAN;
    qsort(values, count, sizeof *values, compare);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void print_text(const char *key, const char *text)
{
    printf(", \"%s\": \"", key);
    for (; text != NULL && *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

void gsrt_record_print(const gsrt_record *record)
{
    printf("{\"value\": %.6g", record->value);
    if (record->against != NULL)
        printf(", \"reference\": %.6g, \"ratio\": %.4g", record->reference, record->value / record->reference);
    print_text("group", record->group);
    print_text("name", record->name);
    print_text("unit", record->unit);
    print_text("against", record->against);
    print_text("wanted", record->wanted);
    print_text("note", record->note);
    puts("}");
    fflush(stdout);
}
