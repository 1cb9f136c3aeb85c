/* mpi_allreduce BYTES ROUNDS: what MPI's own sum over all ranks takes; the baseline of `links allreduce`.
 * ROUNDS in each of 9 batches after one to warm up; prints {"us": median of the batches}. Under mpirun. */
#include "bench/measure.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BATCHES = 9 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, rank_count;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
    if (rank_count <= (int)sysconf(_SC_NPROCESSORS_ONLN))
        (void)gsrt_measure_bind((unsigned)rank);
    long bytes = argc == 3 ? strtol(argv[1], NULL, 10) : 0, rounds = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    int count = (int)(bytes / (long)sizeof(float));
    float *mine = count > 0 ? malloc((size_t)bytes) : NULL, *sum = count > 0 ? malloc((size_t)bytes) : NULL;
    if (mine == NULL || sum == NULL || rounds < 1) {
        fputs("usage: mpi_allreduce BYTES ROUNDS (under mpirun)\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
    for (int i = 0; i < count; i++)
        mine[i] = (float)((i * 7 + rank * 13) % 101);
    double batch_us[BATCHES];
    for (int batch = -1; batch < BATCHES; batch++) {
        MPI_Barrier(MPI_COMM_WORLD);
        uint64_t begin_ns = gsrt_measure_now_ns();
        for (long i = 0; i < rounds; i++)
            MPI_Allreduce(mine, sum, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (batch >= 0)
            batch_us[batch] = (double)(gsrt_measure_now_ns() - begin_ns) * 1e-3 / (double)rounds;
    }
    if (rank == 0)
        printf("{\"us\": %.3f, \"bytes\": %ld, \"ranks\": %d}\n", gsrt_measure_median(batch_us, BATCHES), bytes,
               rank_count);
    free(mine);
    free(sum);
    MPI_Finalize();
    return 0;
}
