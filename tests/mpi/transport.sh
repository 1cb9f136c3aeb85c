#!/bin/bash
# The contract of a transport, between two processes of mpirun: over shared memory, over TCP, and as UCX likes it.
set -u
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
program=${GSRT_BUILDDIR:-.}/tests/mpi/transport_ucx
mpirun=${GSRT_MPIRUN:-mpirun}
for transport in shm tcp ''; do
    GSRT_TRANSPORT=$transport timeout 300 "$mpirun" -n 2 "$program" 1000 || {
        echo "transport '$transport': exit code $?"
        exit 1
    }
done
