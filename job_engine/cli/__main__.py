"""`python -m job_engine.cli`, where the script is not on the path."""

from job_engine.cli import main

if __name__ == "__main__":
    main()
