"""The gallery: a picture, a moving preview, a page to open, the command and the source of all that has a name."""
