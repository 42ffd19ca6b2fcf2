"""Ready tasks, one file each; `registration` has their names."""
