"""Being written."""


def tick():
    pass


def housekeeping():
    pass
