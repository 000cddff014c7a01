"""Users to profiles: first and last name are concatenated, and the event has the origin of each column.

Run it: python examples/fields/concatenate.py users.csv profiles.csv
The input has the columns UID, FirstName, LastName, DOB, Zip.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from headwater import lineage
from headwater.fields import Destination, FieldOperation, ProgramRecorder, Source
from headwater.fields.shapes import drop

USER_COLUMNS = ["UID", "FirstName", "LastName", "DOB", "Zip"]
PROFILE_COLUMNS = ["UID", "Name", "DOB", "Zip"]


def normalize(users: Path, profiles: Path) -> None:
    with users.open(encoding="utf-8", newline="") as source, profiles.open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, PROFILE_COLUMNS)
        writer.writeheader()
        for user in csv.DictReader(source):
            name = f"{user['FirstName']} {user['LastName']}"
            writer.writerow({"UID": user["UID"], "Name": name, "DOB": user["DOB"], "Zip": user["Zip"]})


def main(users: Path, profiles: Path) -> None:
    source = Source.of("file", str(users), schema=USER_COLUMNS)
    with lineage.run("examples", "normalize_users") as run:
        normalize(users, profiles)
        ProgramRecorder(run, implicit_identity=True).record(
            Destination.of("file", str(profiles), schema=PROFILE_COLUMNS),
            [
                FieldOperation(
                    "Concat",
                    [source["FirstName"], source["LastName"]],
                    ["Name"],
                    description="Concatenating the FirstName and LastName fields to create the Name field.",
                ),
                *drop(source["FirstName"], source["LastName"]),
            ],
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute())
