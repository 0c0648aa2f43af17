"""Sources of measurements: each yields studies for the one shard writer."""
