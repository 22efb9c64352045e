"""PostgreSQL: minters in the tables of a database server, which replicates them.

    engine       stores are opened, created, restored, set aside and removed
    engine_file  the file in the folder of a store that names its minter and its server
    store        where a minter is read and written, and when work is run again
    reader       read transactions
    writer       write transactions, and the token that settles a lost commit
    connection   pools of connections, limits of time, and what errors mean; nothing else knows psycopg
    sql          statements
"""

from .engine import create_store, ensure_readable, exists, open_store, remove_store, restore_store, set_aside

__all__ = ["create_store", "ensure_readable", "exists", "open_store", "remove_store", "restore_store", "set_aside"]
