"""The options of gcexp.

Where gcexp is installed they are the package ``gcexp.conf``: another program of Hydra's finds them by
``hydra.searchpath: [pkg://gcexp.conf]``.
"""
