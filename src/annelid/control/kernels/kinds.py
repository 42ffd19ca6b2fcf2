"""The kinds of programs that controllers become."""

WAVES, TABLE, MLP, DISTRIBUTED, HOST, FUNCTION = range(1, 7)
