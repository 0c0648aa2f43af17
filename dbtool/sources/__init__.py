"""Where measurements come from: each source yields studies for the one shard writer."""
