#!/bin/sh
# Says what became of a job. Snakemake gives its number, and reads one of the words running, success, failed.
# squeue knows a job for some minutes after its end. When it has forgotten the job, the accounting is asked, where there
# is one. For a job that neither of them knows the word is success: Snakemake then looks for the files that the job
# should have made, and counts it as failed if they are missing.
if ! state=$(squeue --jobs="$1" --states=all --noheader --format=%T 2>&1); then
    case "$state" in
        *"Invalid job id"*) state= ;;
        *) state=RUNNING ;; # the scheduler does not answer now
    esac
fi
if [ -z "$state" ]; then
    state=$(sacct --jobs="$1" --allocations --noheader --parsable2 --format=State 2> /dev/null)
fi
case "$state" in
    PENDING* | CONFIGURING* | RUNNING* | COMPLETING* | SUSPENDED* | REQUEUED* | RESIZING* | STAGE_OUT*) echo running ;;
    COMPLETED* | "") echo success ;;
    *) echo failed ;; # TIMEOUT, CANCELLED, OUT_OF_MEMORY, NODE_FAIL, PREEMPTED, ...
esac
