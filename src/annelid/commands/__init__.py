"""The commands of `annelid`, one file each, with a function `command(arguments) -> exit code`."""
