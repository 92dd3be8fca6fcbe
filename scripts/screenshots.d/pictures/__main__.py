"""Take those that are named, or all: those of stills.TAKERS, and the story."""

from __future__ import annotations

import sys

from pictures import browsing, stills, story


def main() -> None:
    wanted = set(sys.argv[1:])
    unknown = wanted - {*stills.TAKERS, "story"}
    if unknown:
        sys.exit(
            f"There is no picture {', '.join(sorted(unknown))}. There are: {', '.join((*stills.TAKERS, 'story'))}."
        )
    with browsing.desk("Administrator", stills.password()) as page:
        stills.take(page, wanted or set(stills.TAKERS))
        if not wanted or "story" in wanted:
            story.take(page)


if __name__ == "__main__":
    main()
