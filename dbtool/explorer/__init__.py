"""The explorer: releases as one page for a browser, with its data as Parquet."""
