"""Being written."""


def before_migrate():
    pass
