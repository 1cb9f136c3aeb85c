#!/bin/bash
# The contract of a transport, between two processes of mpirun: over shared memory, over TCP, and as UCX likes it.
set -u
program=${GSRT_BUILDDIR:-.}/tests/mpi/transport_ucx
mpirun=${GSRT_MPIRUN:-mpirun}
for transport in shm tcp ''; do
    GSRT_TRANSPORT=$transport timeout 120 "$mpirun" -n 2 "$program" 1000 || {
        echo "transport '$transport': exit code $?"
        exit 1
    }
done
