#!/usr/bin/env bash
# A Slurm cluster of one node, without systemd, everything in one folder: node.sh start FOLDER, node.sh stop FOLDER.
# Needs Debian's packages slurm-wlm and munge. After `start`, `export SLURM_CONF=FOLDER/slurm.conf PATH=FOLDER/bin:$PATH`
# and use sbatch. (FOLDER/bin has an srun that knows where the configuration is: Snakemake's job steps are started without
# the variables of Slurm, which a cluster with its configuration in /etc does not need.)
set -euo pipefail
action=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
host=$(hostname -s)
export SLURM_CONF=$folder/slurm.conf

configure() {
    mkdir -p "$folder/state" "$folder/spool" "$folder/munge" "$folder/bin"
    printf '#!/bin/sh\nSLURM_CONF=%s exec %s "$@"\n' "$SLURM_CONF" "$(command -v srun)" > "$folder/bin/srun"
    chmod 755 "$folder/bin/srun"
    chmod 700 "$folder/munge"
    head -c 1024 /dev/urandom > "$folder/munge/key"
    chmod 600 "$folder/munge/key"
    cat > "$SLURM_CONF" << CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
SlurmctldPort=26817
SlurmdPort=26818
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=1,sched_interval=1
KillWait=2
OverTimeLimit=0
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$(free -m | awk '/^Mem/ { print int($2 * 0.9) }') State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
}

start() {
    configure
    munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
        --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" > /dev/null 2>&1
    slurmctld -f "$SLURM_CONF" -c
    slurmd -f "$SLURM_CONF" -c
    for _ in $(seq 60); do
        if sinfo -h -o %T 2> /dev/null | grep -q idle; then exit 0; fi
        sleep 0.5
    done
    echo "the node does not become idle; see $folder/slurmctld.log and $folder/slurmd.log" >&2
    exit 1
}

stop() {
    scancel --state=RUNNING --user="$(id -un)" 2> /dev/null || true
    for file in slurmd.pid slurmctld.pid munge/pid; do
        if [ -f "$folder/$file" ]; then kill "$(cat "$folder/$file")" 2> /dev/null || true; fi
    done
}

"$action"
