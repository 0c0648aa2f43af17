"""The database from Python: results as Polars and pandas frames, Arrow tables or plain rows.

    import dbtool

    with dbtool.open() as db:
        db.workloads()                                   # a Polars frame, as of all below
        db.steps_to_result("mnist/fc_64_64_64/sgd")
        db.measurements(workload="mnist/fc_*").filter(...).collect()   # a lazy one
        db.sql("SELECT … WHERE goal < $goal", goal=0.1).pandas()

`dbtool.open` returns a `Database`; `Database.sql` returns a `Result`. What is wrong with a name or
a query is said by a `DbtoolError`.
"""

from dbtool.api.database import Database
from dbtool.api.opening import open_database
from dbtool.api.result import Result

__all__ = ["Database", "Result", "open_database"]
