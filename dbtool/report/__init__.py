"""What `dbtool scaling` and `Database.scaling` answer: statements, rows and a figure."""
