"""Ready robots and worlds, one file each: `annelid run NAME`."""
