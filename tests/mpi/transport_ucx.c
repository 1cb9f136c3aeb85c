/* The UCX transport fulfils the contract of a transport, between two ranks of mpirun. Usage: transport_ucx [COUNT]. */
#include "mailbox/ucx.h"

#include "tests/mailbox/transport_suite.h"

#include <mpi.h>

enum { PAIR_COUNT = 4 };

static void exchange(gsrt_transport *transport, const gsrt_secret *secret, int rank, gsrt_diag *diag)
{
    static uint8_t all[2][GSRT_CARD_BYTES_MAX];
    uint8_t mine[GSRT_CARD_BYTES_MAX] = {0};
    uint32_t len[2], my_len;
    gsrt_span card = gsrt_ucx_card(transport);
    my_len = (uint32_t)card.len;
    memcpy(mine, card.data, card.len);
    MPI_Allgather(&my_len, 1, MPI_UINT32_T, len, 1, MPI_UINT32_T, MPI_COMM_WORLD);
    MPI_Allgather(mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    gsrt_span cards[2] = {gsrt_span_of(all[0], len[0]), gsrt_span_of(all[1], len[1])};
    gsrt_status status = gsrt_ucx_connect(transport, cards, secret, 30000, diag);
    SUITE_CHECK(status == GSRT_OK, "rank %d: %s", rank, diag->text);
}

int main(int argc, char **argv)
{
    int rank, rank_count;
    gsrt_diag diag = {0};
    gsrt_secret secret = {{0}};
    gsrt_transport *transports[PAIR_COUNT];
    (void)setenv("OMPI_MCA_pml", "ob1", 0);
    (void)setenv("OMPI_MCA_btl", "self,tcp", 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
    SUITE_CHECK(rank_count == 2, "needs exactly 2 ranks, not %d", rank_count);
    if (rank == 0)
        SUITE_CHECK(gsrt_secret_draw(&secret, sizeof secret) == GSRT_OK, "secret");
    MPI_Bcast(&secret, sizeof secret, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < PAIR_COUNT; i++) {
        gsrt_ucx_options options = {.rank = (uint32_t)rank, .rank_count = 2};
        gsrt_status status = gsrt_ucx_create(&options, &transports[i], &diag);
        SUITE_CHECK(status == GSRT_OK, "%s", diag.text);
        exchange(transports[i], &secret, rank, &diag);
    }
    MPI_Finalize();
    suite_side side = {.rank = (uint32_t)rank};
    suite_listen(&side.control, transports[0], side.rank);
    suite_listen(&side.data, transports[1], side.rank);
    suite_listen(&side.cut, transports[2], side.rank);
    suite_listen(&side.down, transports[3], side.rank);
    char lane[GSRT_UCX_LANE_BYTES_MAX];
    SUITE_CHECK(gsrt_ucx_read_lane(transports[1], 1 - side.rank, lane) == GSRT_OK, "lane");
    suite_run(&side, argc > 1 ? (uint32_t)atoi(argv[1]) : 2000);
    suite_fini(&side);
    if (rank == 0)
        printf("contract fulfilled over %s\n", lane);
    return 0;
}
