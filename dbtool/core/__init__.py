"""What both packages need: errors, files, the shard contract and release folders."""
