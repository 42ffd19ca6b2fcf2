"""From snapshots to pictures, videos, files and the browser. Knows no physics."""
