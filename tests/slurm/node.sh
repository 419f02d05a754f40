#!/usr/bin/env bash
# A Slurm cluster on this machine, without systemd, everything in one folder:
#   node.sh start FOLDER [NODES]   one node with all cores, or several that share them
#       WITHOUT=PATH               hides a folder from the last node, as if it were not on its file system (root only)
#   node.sh stop FOLDER
#       PORT=26817                 of the controller, and the next ones of the nodes: another one for a second cluster
#   node.sh pause FOLDER           the controller dies; `node.sh resume FOLDER` starts it again
#   node.sh lose FOLDER            the same, and the controller has written nothing of its jobs
# Needs Debian's packages slurm-wlm and munge. After `start`, `export SLURM_CONF=FOLDER/slurm.conf PATH=FOLDER/bin:$PATH`
# and use sbatch. (FOLDER/bin has an srun that knows where the configuration is: Snakemake's job steps are started without
# the variables of Slurm, which a cluster with its configuration in /etc does not need.)
set -euo pipefail
action=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
nodes=${3:-1}
port=${PORT:-26817}
host=$(hostname -s)
export SLURM_CONF=$folder/slurm.conf

# The real srun: a shell may already have one of ours on its path.
real_srun() {
    local place
    for place in $(type -ap srun) /usr/bin/srun; do
        if ! grep -qs SLURM_CONF= "$place"; then echo "$place" && return; fi
    done
}

configure() {
    mkdir -p "$folder/state" "$folder/spool" "$folder/munge" "$folder/bin"
    srun=$(real_srun)
    printf '#!/bin/sh\nSLURM_CONF=%s exec %s "$@"\n' "$SLURM_CONF" "$srun" > "$folder/bin/srun"
    chmod 755 "$folder/bin/srun"
    chmod 700 "$folder/munge"
    head -c 1024 /dev/urandom > "$folder/munge/key"
    chmod 600 "$folder/munge/key"
    # nproc without --all obeys OMP_NUM_THREADS. Each of several nodes has one core: they stand for machines of their own.
    cores=$(nproc --all)
    memory=$(free -m | awk '/^Mem/ { print int($2 * 0.9) }')
    if [ "$nodes" -gt 1 ]; then cores=1 memory=$((memory / nodes)); fi
    {
        cat << CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
SlurmctldPort=$port
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=1,sched_interval=1
KillWait=2
OverTimeLimit=0
ReturnToService=2
CONF
        for ((i = 1; i <= nodes; i++)); do
            echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + i)) CPUs=$cores RealMemory=$memory State=UNKNOWN"
        done
        echo "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
        echo "PartitionName=short Nodes=ALL MaxTime=30 State=UP"
    } > "$SLURM_CONF"
}

start() {
    configure
    munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
        --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" > /dev/null 2>&1
    slurmctld -f "$SLURM_CONF" -c
    for ((i = 1; i <= nodes; i++)); do
        mkdir -p "$folder/spool/n$i"
        if [ "$i" = "$nodes" ] && [ -n "${WITHOUT:-}" ]; then
            unshare -m sh -c 'mount -t tmpfs none "$1" && exec slurmd -f "$2" -c -N "$3"' sh "$WITHOUT" "$SLURM_CONF" "n$i"
        else
            slurmd -f "$SLURM_CONF" -c -N "n$i"
        fi
    done
    for _ in $(seq 60); do
        if [ "$(sinfo -h -N -p all -o %T 2> /dev/null | grep -c idle)" = "$nodes" ]; then exit 0; fi
        sleep 0.5
    done
    echo "a node does not become idle; see $folder/slurmctld.log and $folder/slurmd.n1.log" >&2
    exit 1
}

stop() {
    scancel --state=RUNNING --user="$(id -un)" 2> /dev/null || true
    for file in "$folder"/slurmd.*.pid "$folder/slurmctld.pid" "$folder/munge/pid"; do
        if [ -f "$file" ]; then kill "$(cat "$file")" 2> /dev/null || true; fi
    done
}

pause() {
    sleep 6 # Slurm writes its jobs to disk within five seconds; a job that it has not written is lost for good
    kill -9 "$(cat "$folder/slurmctld.pid")"
}

lose() {
    kill -9 "$(cat "$folder/slurmctld.pid")"
    rm -rf "$folder"/state/job_state* "$folder"/state/hash.*
}

resume() {
    slurmctld -f "$SLURM_CONF"
}

"$action"
