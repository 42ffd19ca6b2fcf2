"""Published experiments, one file each: `annelid study NAME`."""
