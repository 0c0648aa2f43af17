"""The explorer: releases as one page for a browser, with what it computes from as Parquet."""
