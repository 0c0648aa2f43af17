"""The command `dbtool produce`: its options, and what it shows while it trains."""
