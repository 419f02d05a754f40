"""Write stepfun-hbd.csv from the original: `python derive.py fault_trace.json`. It needs nothing but Python."""

import csv
import hashlib
import json
import sys
from pathlib import Path

ORIGINAL = "5871b881b341c9526223c025eda3a9bd2f0f875cf8d53441688ccd953e11b80d"  # sha256 of fault_trace.json
DAY = 86400

FOLDER = Path(__file__).resolve().parent


def main(path):
    content = Path(path).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != ORIGINAL:
        sys.exit(f"{path} is not the original: its sha256 is {found}")
    number_of = {}  # of each server, in the order of their first faults
    open_faults = {}  # faults of a server that have begun and not ended
    rows = []
    for event in json.loads(content):
        server = number_of.setdefault(event["node_id"], len(number_of))
        time = f"{event['event_time'] * DAY:.2f}"
        before = open_faults.get(server, 0)
        if event["event_type"] == "fault_start":
            open_faults[server] = before + 1
            if before == 0:
                rows.append((time, server, "down"))
        else:
            open_faults[server] = before - 1
            if before == 1:
                rows.append((time, server, "up"))
    with open(FOLDER / "stepfun-hbd.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("time", "worker", "event"))
        writer.writerows(rows)


main(*sys.argv[1:])
