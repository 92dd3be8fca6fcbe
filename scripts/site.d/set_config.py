"""Sets keys of a JSON file, and leaves it alone when they are set: `set_config.py FILE key=JSON ...`.

`bench set-config` sets one key and takes a second for it.
"""

import json
import os
import sys
from pathlib import Path


def main(path: str, *assignments: str) -> None:
    file = Path(path)
    before = json.loads(file.read_text()) if file.exists() else {}
    after = dict(before)
    for assignment in assignments:
        key, _, value = assignment.partition("=")
        after[key] = json.loads(value)
    if after != before:
        # Workers that run may be reading it.
        written = file.with_suffix(".new")
        written.write_text(json.dumps(after, indent=1, sort_keys=True) + "\n")
        os.replace(written, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
